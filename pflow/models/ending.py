"""The end of a model's answer: the provider's reason, its refusal, and the tokens it counted."""

from typing import Any

COMPLETE, CUT, LIMIT, FILTERED, BROKEN = "complete", "cut", "limit", "filtered", "broken"

_BY_REASON = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"), LIMIT),
    **dict.fromkeys(("content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocklist"), FILTERED),
    **dict.fromkeys(("error", "failed", "cancelled"), BROKEN),
}


class Ending:
    """The end of an answer: `reason` in the provider's word, `refusal` and `words` if it gave any.

    `refused` is the member of the request that a provider's error refuses by name (pflow.models.forms).

    Through a client of pflow.models.client, or in a shape of OpenAI's, an answer without a reason was cut. Most other
    plugins say nothing when all is well, so their silence means nothing.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self.refusal = self.refused = ""
        self.words = ""
        self.usage: dict[str, Any] = {}
        self.watched = False

    @property
    def kind(self) -> str:
        if self.reason is None:
            return CUT if self.watched else COMPLETE
        return _BY_REASON.get(str(self.reason).lower(), COMPLETE)

    def look_at(self, answer: Any) -> None:
        """Read the end from llm's `response_json` if the watch could not see it."""
        if self.watched or not isinstance(answer, dict):
            return
        first: Any = next((answer[key][0] for key in ("choices", "candidates") if answer.get(key)), {})
        for said in (answer, first if isinstance(first, dict) else {}):
            reasons = [said.get(key) for key in ("finish_reason", "stop_reason", "finishReason")]
            self.reason = next((each for each in reasons if isinstance(each, str)), self.reason)
        self.watched = str(answer.get("object")).startswith(("chat.completion", "text_completion"))
        self.usage = answer["usage"] if isinstance(answer.get("usage"), dict) else self.usage

    def note(self, said: Any) -> None:
        """Note the ending in an answer, a chunk of a stream or an event of OpenAI's newer protocol."""
        kind = getattr(said, "type", None)
        if kind == "error":
            self.reason, self.words = "error", str(getattr(said, "message", ""))
        elif kind == "response.refusal.delta":
            self.refusal += said.delta
        for choice in (getattr(said, "choices", None) or [])[:1]:
            message = getattr(choice, "delta", None) or getattr(choice, "message", None)
            self.reason = getattr(choice, "finish_reason", None) or self.reason
            self.refusal += getattr(message, "refusal", None) or ""
        response = getattr(said, "response", said)
        status = getattr(response, "status", None)
        if status == "incomplete":
            self.reason = getattr(response.incomplete_details, "reason", None) or "max_output_tokens"
        elif status in ("completed", "failed", "cancelled"):
            self.reason = status
            self.words = getattr(getattr(response, "error", None), "message", None) or ""
        usage: Any = getattr(response, "usage", None)
        if hasattr(usage, "model_dump"):
            try:
                self.usage = usage.model_dump(warnings="error")
            except ValueError:  # a number of tokens that is none, of which pydantic would warn the user
                self.usage, response.usage = usage.model_dump(warnings=False), None
        elif usage:  # llm takes for an object what the provider sent instead
            response.usage = None
