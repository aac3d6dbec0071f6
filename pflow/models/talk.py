"""A conversation with a model in several turns, whose answers are read up to a bound."""

from dataclasses import dataclass
from typing import Any

import llm
from llm import Model, Response

from pflow.errors import TRY_AGAIN, PflowError
from pflow.models.ask import begin, parts_of, usage_in
from pflow.models.choose import check_key
from pflow.models.client import watch
from pflow.models.ending import LIMIT, Ending
from pflow.models.judge import check_ending, no_answer
from pflow.models.prices import call_of
from pflow.models.request_form import change_form, takes_schema
from pflow.models.thoughts import after_thoughts
from pflow.process.signals import Deadline, TimedOut
from pflow.words.budget import Calls
from pflow.words.usage import answer_members

LONGEST = 1 << 20
"""Characters of an answer after which reading ends."""

_SHOWN_AGAIN = 100_000
"""Characters of an answer that go into the next request."""


@dataclass
class Said:
    """An answer's text; `is_limited` is true if it stopped at the model's token limit, or at ours.

    `none` is the failure that an answer without text is.
    """

    text: str
    is_limited: bool = False
    none: PflowError | None = None


class Talk:
    """A conversation with one model. Every turn sends all earlier messages with their roles.

    `calls` let each turn begin. After the `deadline` TimedOut is raised, in any thread, as soon as the connection is
    silent.
    """

    def __init__(self, model: Model, system: str, deadline: Deadline, calls: Calls) -> None:
        self._model = model
        self._calls = calls
        self._deadline = deadline
        self._system = system if getattr(model, "allows_system_prompt", True) else ""
        self._ahead = "" if self._system else system + "\n\n"
        self._conversation: Any = model.conversation()
        self._said: list[llm.Message] = [llm.system(self._system)] if self._system else []

    def say(self, text: str, *, schema: dict[str, Any] | None = None) -> Said:
        """Send a text and return the answer, unchecked. A model that takes no schema, or not this one, gets none."""
        asked = self._ahead + text
        try:
            said = self._ask(asked, schema)
        except PflowError as error:
            if self._deadline.left() <= 0:
                raise TimedOut(self._deadline) from error
            if error.exit == TRY_AGAIN:
                error.hint = "try again"  # there are no --retries here
            raise
        is_empty = not said.text.strip()  # which providers refuse to get back
        self._ahead = f"{asked}\n\n" if is_empty else ""
        self._said += [] if is_empty else [llm.user(asked), llm.assistant(said.text[:_SHOWN_AGAIN])]
        return said

    def _ask(self, text: str, schema: dict[str, Any] | None) -> Said:
        """Send the request in llm's form. Newer plugins look at the messages, older ones at the conversation."""
        model, ending = watch(self._model, max(self._deadline.left(), 0.01))  # with 0, a socket does not block
        check_key(model)
        self._conversation.model = model
        more: dict[str, Any] = {"schema": schema} if takes_schema(model, schema) else {}
        more |= {"system": self._system or None, "messages": list(self._said)}
        response = begin(self._conversation, model, text, **more)
        try:
            with call_of(self._calls, model, response.prompt) as call:
                said = self._take(response, model, ending)
                call.usage = answer_members(usage_in(response, ending, model))
        except PflowError:
            if not change_form(model, ending.refused, response.prompt.schema):
                raise
            return self._ask(text, schema)
        return said

    def _take(self, response: Response, model: Model, ending: Ending) -> Said:
        answer, arriving = "", parts_of(response, model, ending)
        for part in arriving:
            answer += part
            if self._deadline.left() <= 0:
                raise TimedOut(self._deadline)
            if len(answer) > LONGEST:
                arriving.close()
                return Said(answer[:LONGEST], is_limited=True)
        answer = after_thoughts(answer)
        check_ending(ending, response, model, answer)
        none = no_answer(ending, response, model, answer, {})
        if none and none.is_permanent:
            none.usage = answer_members(usage_in(response, ending, model))
            raise none
        return Said(answer, ending.kind == LIMIT, none)
