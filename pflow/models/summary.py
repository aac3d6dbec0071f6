"""A summary of a text of any length. If the text is too long for the model, its parts are summarised, then merged."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from llm import Model

from pflow.errors import FAILED, PflowError
from pflow.models.ask import ModelAnswer, ModelRequest, ask
from pflow.models.choose import choose
from pflow.models.prices import find_listed
from pflow.terminal.messages import say
from pflow.values.chunks import chunks
from pflow.values.usage import Calls, Usage, answer_members, usage_of

WHOLE = "Summarize this text."
PART = "Summarize this part of a longer text. Keep what the whole text needs: names, numbers, conclusions."
MERGE = "These are summaries of the parts of one text, in their order. Make one summary of them."
ALONE = "Answer with the summary alone."


@dataclass
class SummaryTask:
    """A text to summarise, and how. `done` has the summaries of its parts so far, which another try reuses."""

    text: str
    model: str | None = None
    style: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    max_tokens: int | None = None
    chunk: int | None = None
    allow_no_answer: bool = False
    done: dict[str, ModelAnswer] = field(default_factory=dict)
    used: Usage = field(default_factory=Usage)
    calls: Calls = field(default_factory=Calls)

    def run(self, emit: Callable[[str], None]) -> ModelAnswer:
        """Summarise; `emit` gets each part of the final summary. Raises PflowError: 1 if parts do not get shorter."""
        model, self.used = choose(self.model), Usage()
        size = self.chunk or characters_for(model)
        text, what = self.text, WHOLE
        try:
            while len(text) > size:
                text, what = self._shorten(text, model, size), MERGE
            answer = self._ask(model, what, text, emit)
        except PflowError as error:
            self.used.add(usage_of(error))
            error.usage = self.used.members()
            raise
        answers = [*self.done.values(), answer]
        flaw = next((each.flaw for each in answers if each.flaw), "")
        warning = next((each.warning for each in answers if each.warning), "")
        return ModelAnswer(answer.value, self.used.as_write(), flaw, warning)

    def _shorten(self, text: str, model: Model, size: int) -> str:
        """Summarise all parts of a text, and join the summaries."""
        parts = [*chunks(text, size, "paragraph")]
        of_what = f"the text has {len(text):,} characters, and '{model.model_id}' gets {size:,} at once"
        say("pflow", f"{of_what}: {len(parts)} parts are summarised, and merged")
        for part in parts:
            if part not in self.done:
                self.done[part] = self._ask(model, PART, part, lambda _: None)
        shorter = "\n\n".join(self.done[part].value.strip() for part in parts)
        if len(shorter) >= len(text):
            what = f"cannot summarise {len(text):,} characters: the summaries of the parts are no shorter"
            raise PflowError(what, hint="--chunk makes the parts larger, --model asks another model", exit=FAILED)
        return shorter

    def _ask(self, model: Model, what: str, text: str, emit: Callable[[str], None]) -> ModelAnswer:
        options = dict(self.options)
        if what != PART and self.max_tokens is not None:
            options["max_tokens"] = self.max_tokens
        style = f"Its style: {self.style}." if self.style and what != PART else ""
        prompt = " ".join(filter(None, (what, style, ALONE)))
        about: dict[str, Any] = {"options": options, "allows_no_answer": self.allow_no_answer, "calls": self.calls}
        request = ModelRequest(text.rstrip("\n") + f"\n\n{prompt}", **about)
        answer = ask(model.conversation(), request, emit)
        self.used.add(answer_members(answer.usage))
        return answer


USUAL = 24_000
"""The characters that a model gets at once if its context is unknown."""

_CHARACTERS = 3
"""The fewest characters of a token, in most texts and languages."""

_ANSWER = 2_000
"""The tokens that are left for the question and the answer, but at most half of the context."""


def characters_for(model: Model) -> int:
    """Return how many characters of a text the model takes at once."""
    tokens = getattr(model, "context", None) or find_listed(model, _listed)
    return _CHARACTERS * (tokens - min(_ANSWER, tokens // 2)) if tokens else USUAL


def _listed(name: str, place: dict[str, Any]) -> int | None:
    from genai_prices.data_snapshot import get_snapshot

    where = (None, place.get("provider_id"), place.get("provider_api_url"))
    return get_snapshot().find_provider_model(name, *where)[1].context_window
