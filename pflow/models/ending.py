"""The end of a model's answer: the provider's reason, its refusal, and the tokens it counted."""

from collections.abc import Mapping
from typing import Any

COMPLETE, UNSAID, CUT, LIMIT = "complete", "unsaid", "cut", "limit"
FILTERED, BROKEN, CALL = "filtered", "broken", "call"

_LIMITS = "length max_tokens max_output_tokens model_context_window_exceeded model_length"
_FILTERS = (
    "content_filter refusal safety recitation prohibited_content blocklist language other spii image_safety "
    "image_prohibited_content image_other image_recitation jailbreak model_armor blocked_reason_unspecified error_toxic"
)
_FAILURES = (
    "error failed cancelled malformed_response missing_thought_signature no_image pause_turn "
    "insufficient_system_resource"
)
_CALLS = "tool_calls tool_call function_call tool_use malformed_function_call unexpected_tool_call too_many_tool_calls"

_BY_REASON = {
    **dict.fromkeys(_LIMITS.split(), LIMIT),
    **dict.fromkeys(_FILTERS.split(), FILTERED),
    **dict.fromkeys(_FAILURES.split(), BROKEN),
    **dict.fromkeys(_CALLS.split(), CALL),
}

_REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks")
"""Members of a message for thoughts, by servers; no client knows them."""


_REASONS = ("finish_reason", "stop_reason", "finishReason", "done_reason", "blockReason")
_EXPLAIN = ("explanation", "finishMessage", "blockReasonMessage")
_SHAPES = ("chat.completion", "text_completion", "message")

_TELL = ("llm_anthropic", "llm_gemini", "llm_ollama")
"""The plugins that keep the reason of every answer that is whole."""

_LOCAL = ("echo", "gguf", "gpt4all", "llama_cpp", "markov", "mlc", "mlx", "smollm2", "transformers")
"""The plugins, without `llm_`, of models in this process, which nothing cuts."""


class Ending:
    """The end of an answer: `reason` in the provider's word, `refusal` and `words` if it gave any.

    `tool` is the tool that it wants to call. `has_reasoned`: thoughts came beside the text.
    `sent` are the members of the request, `refused` the one that an error refuses by name (pflow.models.forms).

    An answer without a reason was cut if it should have one: through a client of pflow.models.client, by one of _TELL,
    or in a known shape. What another plugin streams without a reason may be whole or not. `headers` are the answer's,
    and `error` is the refusal that its status is, if pflow.models.transport heard them; `most` are the seconds for it.
    """

    def __init__(self, model: Any = None, most: float | None = None) -> None:
        self.reason: str | None = None
        self.refusal = self.refused = ""
        self.words = self.tool = ""
        self.has_reasoned = False
        self.usage: dict[str, Any] = {}
        plugin = type(model).__module__.partition(".")[0]
        self.watched = plugin in _TELL
        self.is_stream = bool(getattr(model, "can_stream", False)) and plugin.removeprefix("llm_") not in _LOCAL
        self.headers: Mapping[str, str] = {}
        self.error: Any = None
        self.sent: list[str] = []
        self.most = most

    @property
    def kind(self) -> str:
        if self.reason is None:
            return CUT if self.watched else UNSAID if self.is_stream else COMPLETE
        return _BY_REASON.get(str(self.reason).lower(), COMPLETE)

    def look_at(self, answer: Any) -> None:
        """Read the end from llm's `response_json` if the watch could not see it."""
        if self.reason is not None or not isinstance(answer, dict):
            return
        first: Any = next((answer[key][0] for key in ("choices", "candidates") if answer.get(key)), {})
        for said in (answer, first, answer.get("promptFeedback"), answer.get("stop_details")):
            if isinstance(said, dict):
                self.reason = next((said[key] for key in _REASONS if isinstance(said.get(key), str)), self.reason)
                self.words = next((said[key] for key in _EXPLAIN if isinstance(said.get(key), str)), self.words)
        self.reason = self.reason or ("stop" if answer.get("done") is True else None)  # an older Ollama
        self.words = self.words or (str(self.reason) if self.kind in (FILTERED, BROKEN) else "")
        self.watched = self.watched or str(answer.get("object") or answer.get("type")).startswith(_SHAPES)
        self.usage = answer["usage"] if isinstance(answer.get("usage"), dict) else self.usage

    def note(self, said: Any) -> None:
        """Note the ending in an answer, a chunk of a stream or an event of OpenAI's newer protocol."""
        kind = getattr(said, "type", None)
        if kind == "error":
            self.reason = "error"
        elif kind == "response.refusal.delta":
            self.refusal += said.delta
        for choice in (getattr(said, "choices", None) or [])[:1]:
            message = getattr(choice, "delta", None) or getattr(choice, "message", None)
            self.reason = getattr(choice, "finish_reason", None) or self.reason
            self.refusal += getattr(message, "refusal", None) or ""
            self.tool = self.tool or _tool_of(message)
            more = getattr(message, "model_extra", None) or {}
            self.has_reasoned = self.has_reasoned or any(more.get(name) for name in _REASONING)
        response = getattr(said, "response", said)
        status = getattr(response, "status", None)
        if status == "incomplete":
            self.reason = getattr(response.incomplete_details, "reason", None) or "max_output_tokens"
        elif status in ("completed", "failed", "cancelled"):
            self.reason = status
        usage: Any = getattr(response, "usage", None)
        if hasattr(usage, "model_dump"):
            try:
                self.usage = usage.model_dump(warnings="error")
            except ValueError:  # a number of tokens that is none, of which pydantic would warn the user
                self.usage, response.usage = usage.model_dump(warnings=False), None
        elif usage:  # llm takes for an object what the provider sent instead
            response.usage = None


def _tool_of(message: Any) -> str:
    """Return the tool that a message, or a chunk of one, calls."""
    calls = getattr(message, "tool_calls", None)
    found: list[Any] = [getattr(message, "function_call", None)]
    found += [getattr(calls[0], name, None) for name in ("function", "custom")] if calls else []
    names = [each.get("name") if isinstance(each, dict) else each.name for each in found if each is not None]
    return next(filter(None, names), "")
