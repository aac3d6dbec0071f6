"""Talking with a model: a conversation of several turns, whose answers are read up to a bound."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import llm
from llm import Model

from pflow.errors import TIMED_OUT, TRY_AGAIN, PflowError
from pflow.models.ask import check_ending, parts_of
from pflow.models.choose import check_key
from pflow.models.errors import LIMIT, explain, watch

LONGEST = 1 << 20
"""Characters of an answer that are read; then the request ends."""

_SHOWN_AGAIN = 100_000
"""Characters of an answer that the model gets to see again."""


class OutOfTime(PflowError):
    """The conversation is over before its answer came (124)."""

    def __init__(self) -> None:
        super().__init__("cannot wait any longer for the answer", exit=TIMED_OUT)


@dataclass
class Said:
    """What a model said: its text, and whether it stopped at its token limit, or at ours."""

    text: str
    is_limited: bool = False


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
        self._said: list[llm.Message] = [llm.system(self._system)] if self._system else []

    def say(self, text: str, *, schema: dict[str, Any] | None = None) -> Said:
        """The model's answer to a text. `schema` is for a model that `has_schemas`; nothing is held to it here.

        Raises PflowError for what the provider does wrong, and where the protocol has the model refuse.
        """
        asked = self._ahead + text
        try:
            said = self._ask(asked, schema)
        except PflowError as error:
            if self._is_over():
                raise OutOfTime from error
            if error.exit == TRY_AGAIN:
                error.hint = "try again"  # there are no --retries here
            raise
        self._ahead = ""
        self._said += [llm.user(asked), llm.assistant(said.text[:_SHOWN_AGAIN])]
        return said

    def _ask(self, text: str, schema: dict[str, Any] | None) -> Said:
        """Send it as llm wants it. Newer plugins look at the messages, older ones at the conversation."""
        model, ending = watch(self._model)
        check_key(model)
        _limit(model, self._ends_at)
        self._conversation.model = model
        more = {"schema": schema} if schema else {}
        try:
            response = self._conversation.prompt(
                text, system=self._system or None, messages=list(self._said), stream=model.can_stream, **more
            )
        except Exception as error:
            raise explain(error, model) from error
        answer, arriving = "", parts_of(response, model)
        for part in arriving:
            answer += part
            if self._is_over():
                raise OutOfTime
            if len(answer) > LONGEST:
                arriving.close()
                return Said(answer[:LONGEST], is_limited=True)
        check_ending(ending, response, model, answer)
        return Said(answer, is_limited=ending.kind == LIMIT)

    def _is_over(self) -> bool:
        return self._ends_at is not None and time.monotonic() >= self._ends_at


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
