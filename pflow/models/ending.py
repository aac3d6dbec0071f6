"""How an answer ended: what its provider said last, noted where llm itself lets it go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from operator import attrgetter
from typing import Any

COMPLETE, CUT, LIMIT, FILTERED, BROKEN = "complete", "cut", "limit", "filtered", "broken"

_BY_REASON = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"), LIMIT),
    **dict.fromkeys(("content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocklist"), FILTERED),
    **dict.fromkeys(("error", "failed", "cancelled"), BROKEN),
}


class Ending:
    """What was said when an answer ended: `reason` in the provider's word, `refusal` or `words` where it gave any.

    An answer that came through a client which `watch` sees, or in a shape of OpenAI's, was cut when no reason came.
    Most other plugins say nothing when all is well, so with them silence is no sign.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self.refusal = ""
        self.words = ""
        self.usage: dict[str, Any] = {}
        self.watched = False

    @property
    def kind(self) -> str:
        if self.reason is None:
            return CUT if self.watched else COMPLETE
        return _BY_REASON.get(self.reason.lower(), COMPLETE)

    def look_at(self, answer: Any) -> None:
        """Take from llm's `response_json` what the watch could not see."""
        if self.watched or not isinstance(answer, dict):
            return
        first: Any = next((answer[key][0] for key in ("choices", "candidates") if answer.get(key)), {})
        for said in (answer, first if isinstance(first, dict) else {}):
            for key in ("finish_reason", "stop_reason", "finishReason"):
                if isinstance(said.get(key), str):
                    self.reason = said[key]
        self.watched = str(answer.get("object")).startswith(("chat.completion", "text_completion"))
        if isinstance(answer.get("usage"), dict):
            self.usage = answer["usage"]


def watch(model: Any) -> tuple[Any, Ending]:
    """A copy of `model` that sends each request once, where it uses the openai client, and notes how the answer ends.

    llm drops the finish reason of a streamed completion, and of a response of OpenAI's newer protocol everything but
    the happy end.
    """
    ending = Ending()
    if not hasattr(model, "get_client"):
        return model, ending
    model = copy(model)
    get_client = model.get_client

    def get_watched_client(*args: Any, **kwargs: Any) -> Any:
        client = get_client(*args, **kwargs)
        client.max_retries = 0  # a person's --retries decides
        for endpoint in _endpoints(model, client):
            endpoint.create = _noting(endpoint.create, ending)
        return client

    model.get_client = get_watched_client
    return model, ending


def _endpoints(model: Any, client: Any) -> list[Any]:
    """The parts of the client that this model may use; each costs an import."""
    names = {kind.__name__ for kind in type(model).__mro__}
    paths = ["responses"] if "Responses" in names else ["chat.completions", "completions"]
    return [attrgetter(path)(client) for path in paths]


def _noting(create: Callable[..., Any], ending: Ending) -> Callable[..., Any]:
    def create_and_note(*args: Any, **kwargs: Any) -> Any:
        ending.watched = True
        answer = create(*args, **kwargs)
        if kwargs.get("stream"):
            return _noted(answer, ending)
        _note(answer, ending)
        return answer

    return create_and_note


def _noted(stream: Any, ending: Ending) -> Iterator[Any]:
    try:
        for chunk in stream:
            _note(chunk, ending)
            yield chunk
    finally:
        stream.close()


def _note(said: Any, ending: Ending) -> None:
    """Note what one answer, chunk of a stream or event of OpenAI's newer protocol says about the end."""
    kind = getattr(said, "type", None)
    if kind == "error":
        ending.reason, ending.words = "error", str(getattr(said, "message", ""))
    elif kind == "response.refusal.delta":
        ending.refusal += said.delta
    elif getattr(said, "choices", None):
        _note_choice(said.choices[0], ending)
    response = getattr(said, "response", said)
    _note_status(response, ending)
    if usage := getattr(response, "usage", None):
        ending.usage = usage.model_dump()


def _note_choice(choice: Any, ending: Ending) -> None:
    ending.reason = getattr(choice, "finish_reason", None) or ending.reason
    message = getattr(choice, "delta", None) or getattr(choice, "message", None)
    ending.refusal += getattr(message, "refusal", None) or ""


def _note_status(response: Any, ending: Ending) -> None:
    status = getattr(response, "status", None)
    if status == "incomplete":
        ending.reason = getattr(response.incomplete_details, "reason", None) or "max_output_tokens"
    elif status in ("completed", "failed", "cancelled"):
        ending.reason = status
        ending.words = getattr(getattr(response, "error", None), "message", None) or ""
