"""Talking with a model: a conversation of several turns, whose answers are read up to a bound."""

from __future__ import annotations

import time
from typing import Any

import llm
from llm import Message, Model, Response

from pflow.errors import TIMED_OUT, TRY_AGAIN, PflowError
from pflow.models.ask import check_ending, parts_of
from pflow.models.choose import has_key
from pflow.models.errors import LIMIT, explain, no_key, watch

LONGEST = 1 << 20
"""Characters of an answer that are read; then the request ends."""

_SHOWN_AGAIN = 4_000
"""Characters of an answer without end that the model gets to see again."""


class OutOfTime(PflowError):
    """The conversation is over before its answer came (124)."""

    def __init__(self) -> None:
        super().__init__("cannot wait any longer for the answer", exit=TIMED_OUT)


class Said:
    """What a model said: its text, and whether it stopped at its token limit or was stopped at ours."""

    __slots__ = ("is_limited", "is_too_long", "text")

    def __init__(self, text: str, *, is_limited: bool = False, is_too_long: bool = False) -> None:
        self.text = text
        self.is_limited = is_limited
        self.is_too_long = is_too_long


class Talk:
    """A conversation with one model. Every turn sends all that was said before, with who said it.

    `ends_at` (of time.monotonic) is when it is over: OutOfTime then, as soon as the connection has said nothing.
    """

    def __init__(self, model: Model, system: str, *, ends_at: float | None = None) -> None:
        self._model = model
        self._ends_at = ends_at
        self.has_schemas = bool(model.supports_schema)
        self._system = system if getattr(model, "allows_system_prompt", True) else ""
        self._ahead = "" if self._system else system + "\n\n"
        self._conversation: Any = model.conversation()
        self._said: list[tuple[str, str]] = [("system", self._system)] if self._system else []

    def say(self, text: str, *, schema: dict[str, Any] | None = None) -> Said:
        """The model's answer to a text. `schema` is for a model that `has_schemas`; nothing is held to it here.

        Raises PflowError for what the provider does wrong, and where the protocol has the model refuse.
        """
        asked = self._ahead + text
        try:
            said = self._ask(asked, schema)
        except PflowError as error:
            if error.exit == TRY_AGAIN:
                error.hint = "try again"  # there are no --retries here
            raise
        self._ahead = ""
        self._said += [("user", asked), ("assistant", said.text[: _SHOWN_AGAIN if said.is_too_long else None])]
        return said

    def _ask(self, text: str, schema: dict[str, Any] | None) -> Said:
        model: Any
        model, ending = watch(self._model)
        _limit(model, self._ends_at)
        response = self._send(model, text, schema)
        said = self._read(response, model)
        if not said.is_too_long:
            ending.look_at(response.response_json)
            check_ending(ending, model, said.text)
            said.is_limited = ending.kind == LIMIT
        return said

    def _send(self, model: Any, text: str, schema: dict[str, Any] | None) -> Response:
        """The request as llm sees it. Newer plugins look at the messages, older ones at the conversation."""
        if not has_key(model):
            raise no_key(model)
        more: dict[str, Any] = {"schema": schema} if schema else {}
        self._conversation.model = model
        try:
            messages = [_message(*each) for each in self._said]
            response: Response = self._conversation.prompt(
                text, system=self._system or None, messages=messages, stream=model.can_stream, **more
            )
        except Exception as error:
            raise explain(error, model) from error
        return response

    def _read(self, response: Response, model: Model) -> Said:
        try:
            return _read(response, model, self._ends_at)
        except PflowError as error:
            if _is_over(self._ends_at):
                raise OutOfTime from error
            raise


def _limit(model: Any, ends_at: float | None) -> None:
    """Have the connection wait no longer than there is time, where the model uses the openai client."""
    if ends_at is None or not hasattr(model, "get_client"):
        return
    get_client = model.get_client

    def get_limited_client(*args: Any, **kwargs: Any) -> Any:
        client = get_client(*args, **kwargs)
        client.timeout = max(ends_at - time.monotonic(), 0.01)
        return client

    model.get_client = get_limited_client


def _is_over(ends_at: float | None) -> bool:
    return ends_at is not None and time.monotonic() >= ends_at


def _message(role: str, text: str) -> Message:
    made: Message = {"system": llm.system, "user": llm.user, "assistant": llm.assistant}[role](text)
    return made


def _read(response: Response, model: Model, ends_at: float | None) -> Said:
    parts: list[str] = []
    length = 0
    arriving = parts_of(response, model)
    try:
        for part in arriving:
            parts.append(part)
            length += len(part)
            if length > LONGEST:
                return Said("".join(parts)[:LONGEST], is_too_long=True)
            if _is_over(ends_at):
                raise OutOfTime
    finally:
        arriving.close()
    return Said("".join(parts))
