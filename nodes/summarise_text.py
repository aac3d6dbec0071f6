"""The summarise-text node: summarise a text with a language model."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import MISSING, USAGE, PflowError
from pflow.node import Any, Node, Shared

if TYPE_CHECKING:
    from pflow.models.ask import ModelAnswer
    from pflow.models.summary import SummaryTask


_LEAST = 100
"""The least characters of a part, so that a slip in --chunk does not cause a thousand calls."""


class SummariseText(Node):
    """Summarise a text of any length with a language model.

    A text that is too long for the model is cut into parts between paragraphs, lines or sentences; the model summarises
    each part, then the summaries, and stderr says so. The limit is known for local models and many providers' models;
    any other model gets 24,000 characters at a time, about 8,000 tokens, unless --chunk says otherwise. Another try
    (--retries) continues after the finished parts. A summary without text fails, also that of a part, unless
    --allow-no-answer takes it. pflow-llm describes how the model is chosen. pflow-summarize-text is the same program.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the text to summarise
    - Writes: shared["summary"]: str [pipe]  # the summary
    - Writes: shared["usage"]: dict{model: str, input: int, output: int, cost: float, calls: int}  # the tokens and cost
    - Params: style: str = null  # the style of the summary: 'three points', 'one sentence in German'
    - Params: model: str = null [short m] [env PFLOW_MODEL]  # the model: an ID, an alias or a GGUF file
    - Params: temperature: float = null  # how freely the model chooses its words
    - Params: max_tokens: int = null [positive]  # the maximum number of tokens in the summary
    - Params: chunk: int = null  # the maximum number of characters to send at a time
    - Params: allow_no_answer: bool = false  # take an answer without text as an empty text
    - Params: option: list[str] = [] [short o] [pairs]  # NAME=VALUE, any other option of the model
    - Effects: network
    - Repeats: yes

    Examples:
        cat examples/notes.txt | pflow-summarise-text --style='one sentence' -r
        pflow-read-file examples/notes.txt | pflow-summarise-text --temperature=0.9 --chunk=20000 --retries=2 -r
    """

    version = "2.1.0"  # that of the papers' flows
    waits = tells_budget = True

    @staticmethod
    def warm() -> None:
        """Do the slow imports early; exec reports their failures."""
        from pflow.models import choose, summary  # noqa: F401

        choose.warm()

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        from pflow.models.identity import model_parts

        return model_parts(self.params["model"], [], None)

    def prep(self, shared: Shared) -> SummaryTask:
        text, params = shared["text"], self.params
        if not text.strip():
            raise PflowError("cannot summarise the text: it is empty", exit=MISSING)
        if params["chunk"] is not None and params["chunk"] < _LEAST:
            raise PflowError(f"cannot use --chunk={params['chunk']}: it must be at least {_LEAST}", exit=USAGE)
        from pflow.models.request_form import parse_options
        from pflow.models.summary import SummaryTask

        options = parse_options(params, "temperature")
        names = ("model", "style", "max_tokens", "chunk", "allow_no_answer")
        return SummaryTask(text, options=options, calls=self.calls, **{name: params[name] for name in names})

    def exec(self, task: SummaryTask) -> ModelAnswer:
        return task.run(self.emit)

    def post(self, shared: Shared, task: SummaryTask, answer: ModelAnswer) -> None:
        shared["summary"] = answer.value
        shared["usage"] = answer.usage
        self.not_kept, self.warning = answer.flaw, answer.warning
