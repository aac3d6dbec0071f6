"""The end of a model's answer: the reason for it, in the provider's word, and the kind of end that this is."""

import re
from collections.abc import Iterable, Mapping
from math import exp, log
from typing import Any

COMPLETE, UNSAID, CUT, LIMIT = "complete", "unsaid", "cut", "limit"
FILTERED, BROKEN, CALL = "filtered", "broken", "call"

_REASONS = {
    LIMIT: "length max_tokens max_output_tokens model_context_window_exceeded model_length",
    FILTERED: "content_filter refusal safety recitation prohibited_content blocklist language other spii jailbreak "
    "image_safety image_prohibited_content image_other image_recitation model_armor blocked_reason_unspecified "
    "error_toxic",
    BROKEN: "error failed cancelled malformed_response missing_thought_signature no_image pause_turn "
    "insufficient_system_resource",
    CALL: "tool_calls tool_call function_call tool_use malformed_function_call unexpected_tool_call "
    "too_many_tool_calls",
}
_KINDS = {reason: kind for kind, reasons in _REASONS.items() for reason in reasons.split()}
"""The kind of end by its reason in small letters; with any other reason the answer is complete."""

_IN_JSON = ("finish_reason", "stop_reason", "finishReason", "done_reason", "blockReason")
"""The members for the reason: OpenAI's, llm-anthropic's, llm-gemini's, llm-ollama's; of a question Gemini refuses."""

_EXPLAIN = ("explanation", "finishMessage", "blockReasonMessage")
"""The members for the provider's words about it."""

_SHAPES = ("chat.completion", "text_completion", "message")
"""The beginnings of the `object` or `type` of answers that have a reason if they are whole."""

_SAY_END = ("llm_anthropic", "llm_gemini", "llm_ollama")
"""The plugins that keep the reason of every answer that is whole."""

_LOCAL = ("echo", "gguf", "gpt4all", "llama_cpp", "markov", "mlc", "mlx", "smollm2", "transformers")
"""The plugins, without `llm_`, of models in this process, which nothing cuts."""

_REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks")
"""Members of a message for thoughts, by servers; no client knows them."""


_SURE = log(0.05)
"""The likeliness of a token that is less is that of one to which a grammar has led."""


class Ending:
    """The end of an answer: its `reason`, the `refusal` in its place and the provider's `words`, if it gave any.

    `note` sees what comes through a client of pflow.models.client, `read` what any other plugin keeps of the answer.
    An answer without a reason was cut if it `says_end` when it is whole; else it is not known if it `is_stream`.

    `tool` is the tool that it wants to call. `has_reasoned`: thoughts came beside the text.
    `sent` are the members of the request, `refused` the one that an error refuses by name (pflow.models.request_form).
    From pflow.models.transport come the answer's `headers`, and the `error` that its status is; a request may take
    `most` seconds. `tokens` are the answer's, each with the logarithm of its likeliness, if these were asked for,
    and `begins` what it might have begun with, each with its likeliness.
    """

    def __init__(self, model: Any = None, most: float | None = None) -> None:
        self.reason: str | None = None
        self.refusal = self.words = self.tool = self.refused = ""
        self.has_reasoned = False
        self.usage: dict[str, Any] = {}
        plugin = type(model).__module__.partition(".")[0]
        self.says_end = plugin in _SAY_END
        self.is_stream = bool(getattr(model, "can_stream", False)) and plugin.removeprefix("llm_") not in _LOCAL
        self.headers: Mapping[str, str] = {}
        self.error: Any = None
        self.sent: list[str] = []
        self.tokens: list[tuple[str, float]] = []
        self.begins: dict[str, float] = {}
        self.most = most

    @property
    def kind(self) -> str:
        if self.reason is None:
            return CUT if self.says_end else UNSAID if self.is_stream else COMPLETE
        return _KINDS.get(str(self.reason).lower(), COMPLETE)

    @property
    def guess(self) -> str:
        """The word of the answer with the unlikeliest token, of which the model was not sure; else empty."""
        text, at, least = "", 0, _SURE
        for token, likeliness in self.tokens:
            if likeliness < least:
                at, least = len(text) + len(token), likeliness
            text += token
        return next((word[0] for word in re.finditer(r"\S+", text) if at and word.end() >= at), "")

    def _take(self, tokens: Iterable[tuple[str, float, Iterable[Any]]]) -> None:
        for token, likeliness, others in tokens:
            if not self.tokens:
                self.begins = {each["token"]: exp(each["logprob"]) for each in others}
            self.tokens.append((token, likeliness))

    def read(self, answer: Any) -> None:
        """Take the end from llm's `response_json` if none was noted."""
        if self.reason is not None or not isinstance(answer, dict):
            return
        self._take([(each["token"], each["logprob"], each["top_logprobs"]) for each in answer.get("tokens", [])])
        first: Any = next((answer[key][0] for key in ("choices", "candidates") if answer.get(key)), {})
        for said in (answer, first, answer.get("promptFeedback"), answer.get("stop_details")):
            if isinstance(said, dict):
                self.reason = _text_in(said, _IN_JSON) or self.reason
                self.words = _text_in(said, _EXPLAIN) or self.words
        self.reason = self.reason or ("stop" if answer.get("done") is True else None)  # an older Ollama
        self.words = self.words or (str(self.reason) if self.kind in (FILTERED, BROKEN) else "")
        self.says_end = self.says_end or str(answer.get("object") or answer.get("type")).startswith(_SHAPES)
        self.usage = answer["usage"] if isinstance(answer.get("usage"), dict) else self.usage

    def note(self, said: Any) -> None:
        """Note the ending in an answer, a chunk of a stream or an event of OpenAI's newer protocol."""
        event = getattr(said, "type", None)
        if event == "error":
            self.reason = "error"
        elif event == "response.refusal.delta":
            self.refusal += said.delta
        for choice in (getattr(said, "choices", None) or [])[:1]:
            message = getattr(choice, "delta", None) or getattr(choice, "message", None)
            self.reason = getattr(choice, "finish_reason", None) or self.reason
            self.refusal += getattr(message, "refusal", None) or ""
            self.tool = self.tool or _tool_of(message)
            more = getattr(message, "model_extra", None) or {}
            likely = getattr(getattr(choice, "logprobs", None), "content", None) or []
            self._take([(each.token, each.logprob, map(dict, each.top_logprobs or [])) for each in likely])
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
            except ValueError:  # of tokens that are not a number, pydantic would warn the user
                self.usage, response.usage = usage.model_dump(warnings=False), None
        elif usage:  # llm takes for an object what the provider sent instead
            response.usage = None


def _text_in(said: dict[str, Any], members: tuple[str, ...]) -> str:
    return next((said[name] for name in members if isinstance(said.get(name), str)), "")


def _tool_of(message: Any) -> str:
    """Return the tool that a message, or a chunk of one, calls."""
    calls = getattr(message, "tool_calls", None)
    found: list[Any] = [getattr(message, "function_call", None)]
    found += [getattr(calls[0], name, None) for name in ("function", "custom")] if calls else []
    names = [each.get("name") if isinstance(each, dict) else each.name for each in found if each is not None]
    return next(filter(None, names), "")
