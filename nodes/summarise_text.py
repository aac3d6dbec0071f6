"""The summarise-text node: what a text says, in short."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import MISSING, USAGE, PflowError
from pflow.node import Any, Node, Shared

if TYPE_CHECKING:
    from pflow.models.ask import Answer
    from pflow.models.summary import SummaryTask


_LEAST = 100
"""Characters of a part: a slip of --chunk is not to ask a thousand times."""


class SummariseText(Node):
    """Summarise a text of any length with a language model.

    A text that is longer than the model takes at once is cut into parts between its paragraphs, lines or sentences; the
    model summarises each, and then makes one summary of these. stderr says so. How much a model takes is known of those
    on this machine and of many providers'; any other gets 24,000 characters, about 8,000 tokens, unless --chunk says
    more or less. Another try (--retries) goes on after the parts that are done. The model is chosen as pflow-llm does.
    pflow-summarize-text is the same program.

    Interface:
    - Reads: shared["text"]: str [pipe]  # what to summarise
    - Writes: shared["summary"]: str [pipe]  # the summary
    - Writes: shared["usage"]: dict{model: str, input: int, output: int, cost: float, calls: int}  # what it took
    - Params: style: str = null  # what it is to be like: 'three points', 'one sentence in German'
    - Params: model: str = null [short m] [env PFLOW_MODEL]  # which model: an id, an alias or a GGUF file
    - Params: temperature: float = null  # how freely the model chooses its words
    - Params: max_tokens: int = null  # how long the summary may get
    - Params: chunk: int = null  # the most characters of the text that the model gets at once
    - Params: option: list[str] = [] [short o pair]  # NAME=VALUE, any other option of the model
    - Effects: network
    - Repeats: yes

    Examples:
        cat examples/notes.txt | pflow-summarise-text --style='one sentence' -r
        pflow-read-file examples/notes.txt | pflow-summarise-text --temperature=0.9 --chunk=20000 --retries=2 -r
    """

    version = "2.1.0"  # that of the papers' flows
    tells_budget = True

    @staticmethod
    def warm() -> None:
        """Do the slow imports early; what goes wrong here goes wrong again, in words, in exec."""
        try:
            from pflow.models import choose, summary  # noqa: F401

            choose.warm()
        except Exception:
            return

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        from pflow.models.identity import model_parts

        return model_parts(self.params["model"], [], None)

    def prep(self, shared: Shared) -> SummaryTask:
        text, params = shared["text"], self.params
        if not text.strip():
            raise PflowError("cannot summarise the text: it is empty", exit=MISSING)
        if params["chunk"] is not None and params["chunk"] < _LEAST:
            raise PflowError(f"cannot take --chunk={params['chunk']}: it is at least {_LEAST}", exit=USAGE)
        from pflow.models.ask import parse_options
        from pflow.models.summary import SummaryTask

        options: dict[str, Any] = parse_options(params["option"] or [])
        if params["temperature"] is not None:
            options["temperature"] = params["temperature"]
        return SummaryTask(text, params["model"], params["style"], options, params["max_tokens"], params["chunk"])

    def exec(self, task: SummaryTask) -> Answer:
        from pflow.models.summary import summarise

        return summarise(task, self.emit)

    def post(self, shared: Shared, task: SummaryTask, answer: Answer) -> None:
        shared["summary"] = answer.response
        shared["usage"] = answer.usage
        self.not_kept = answer.flaw
