"""A conversation with a model in several turns, whose answers are read up to a bound."""

from typing import Any

import llm
from llm import Model

from pflow.errors import TRY_AGAIN, PflowError
from pflow.models.ask import Answer, Request, ask
from pflow.words.budget import Calls

LONGEST = 1 << 20
"""Characters of an answer after which reading ends."""

_SHOWN_AGAIN = 100_000
"""Characters of an answer that go into the next request."""


class Talk:
    """A conversation with one model. Every turn sends all earlier messages with their roles.

    `calls` let each turn begin.
    """

    def __init__(self, model: Model, system: str, calls: Calls) -> None:
        self._model, self._calls = model, calls
        self._system = system if getattr(model, "allows_system_prompt", True) else ""
        self._ahead = "" if self._system else system + "\n\n"
        self._conversation: Any = model.conversation()
        self._said: list[llm.Message] = [llm.system(self._system)] if self._system else []

    def say(self, text: str, *, schema: dict[str, Any] | None = None) -> Answer:
        """Send a text and return the answer, unchecked. A model that takes no schema, or not this one, gets none."""
        asked = self._ahead + text
        self._conversation.model, self._conversation.loaded_messages = self._model, list(self._said)
        how: dict[str, Any] = {"schema": schema, "calls": self._calls, "takes_any": True, "longest": LONGEST}
        try:
            answer = ask(self._conversation, Request(asked, system=self._system or None, **how), lambda _: None)
        except PflowError as error:
            if error.exit == TRY_AGAIN:
                error.hint = "try again"  # there are no --retries here
            raise
        is_empty = not answer.response.strip()  # which providers refuse to get back
        self._ahead = f"{asked}\n\n" if is_empty else ""
        self._said += [] if is_empty else [llm.user(asked), llm.assistant(answer.response[:_SHOWN_AGAIN])]
        return answer
