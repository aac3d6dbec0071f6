"""pflow plan: Plan a flow from a sentence, without running it.

The flow is printed as JSON. The model named by --model, PFLOW_PLAN_MODEL or PFLOW_MODEL, else llm's default, gets the
sentence and a line for each node and saved flow, and answers in pipe syntax. Its flow must pass the rules of pflow
check and the limits below. If it does not, or leaves out or invents a value, the model gets the findings and tries
again, three times in all. A local model draws other plans instead. Paths, URLs and numbers of the sentence become
inputs of the flow. A plan is cached: the same sentence asks the model once. - reads the sentence from stdin. Otherwise
piped input becomes an input of the flow too. The model is told the size of a text, or the keys of a store with their
types, never a value. Pipe syntax becomes JSON without a model.

With --wire or --edit the first word is a flow: a file, a saved flow, pipe syntax, or - for stdin. stderr shows the
change as a diff. The changed flow is printed, or with --write written back. An edit that changes nothing, or has a
value that neither the sentence nor the flow has, is in doubt: --write --yes refuses it (77).

The exit code is 65 if no try passes; the best one is then on stderr. It is 78 if no model can plan.

\b
pflow plan 'read-file --path=examples/notes.txt => llm --prompt=Summarize'
pflow plan 'read examples/notes.txt, summarize it and write summary.md' --pipe
"""

from importlib import import_module
from typing import Any

from pflow.commands._command import COLOR, FRESH, MODEL, Command, own
from pflow.commands._dispatch import is_sentence
from pflow.commands._output import write_output
from pflow.errors import OK, USAGE, PflowError
from pflow.explain.pipe_form import pipe_of
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import flow_to_ir
from pflow.flow.load import read_text
from pflow.flow.pipe.scan import is_cut_separator, is_pipe, is_pipe_text, quote
from pflow.flow.subflow import find_file, load_named, wire_and_check
from pflow.flow.wired_flow import WiredFlow
from pflow.flow.wiring import wire as wire_flow
from pflow.help.spec import FLOW
from pflow.interface.common import COMMON
from pflow.interface.interface import TEXTS, Flag, argument
from pflow.plan.limits import LIMITS
from pflow.process.streams import Diverted
from pflow.stage.document import take_in
from pflow.values.fast_json import write_json

_LIMITS = "\n".join(["Limits:", *(f"  {id}  {text}" for id, text in LIMITS.items())])


@Command(
    __doc__,
    Flag("pipe", "print the flow in pipe syntax"),
    MODEL,
    FRESH,
    own(COMMON["timeout"], "end planning after so many seconds, with 124"),
    own(COMMON["no_stdin"], "do not read stdin: plan as if nothing were piped"),
    Flag("wire", "propose the mappings that a flow lacks: pflow plan --wire FLOW", excludes=("edit",)),
    Flag("edit", "change a flow as a sentence says: pflow plan --edit FLOW SENTENCE"),
    Flag("write", "write the flow that --wire or --edit changed back to its file, after asking"),
    Flag("yes", "let --write go ahead without asking"),
    Flag("json", "print errors as JSON too; with --wire or --edit the change"),
    COLOR,
    argument("SENTENCE…", FLOW, name="words", type=TEXTS),
    epilog=_LIMITS,
)
def command(
    words: list[str], wire: bool, edit: bool, pipe: bool, json: bool, fresh: bool, no_stdin: bool, **options: Any
) -> int:  # fmt: skip
    if wire or edit:  # a change is never cached, and takes no piped input
        from pflow.plan.change import ChangeOptions

        module = import_module(f"pflow.plan.{'wire' if wire else 'edit'}")
        return int(module.main(words, ChangeOptions(as_pipe=pipe, as_json=json, **options)))
    for flag in ("write", "yes"):
        if options[flag]:
            raise PflowError(f"cannot take --{flag}: it goes with --wire and --edit", exit=USAGE)
    flow = _flow(words, options["model"], options["timeout"], fresh=fresh, no_stdin=no_stdin)
    text = pipe_of(flow).rstrip("\n") + "\n" if pipe else write_json(flow_to_ir(flow.flow))
    write_output(None, text.encode("utf-8", "replace"))
    return OK


def _flow(words: list[str], model: str | None, timeout: float | None, *, fresh: bool, no_stdin: bool) -> WiredFlow:
    """Return the flow of pipe syntax or a sentence. Raises PflowError (2) without words, and for an existing flow."""
    if words == ["-"]:
        no_stdin = True
        words = [read_text(0, "the sentence on stdin").strip()]
    if not any(word.strip() for word in words):
        hint = "pflow plan 'read notes.txt and summarize it'"
        raise PflowError("cannot plan: the sentence is missing", hint=hint, exit=USAGE)
    if len(words) == 1 and find_file(words[0]) is not None:
        hint = "pflow explain shows it, --edit FLOW 'SENTENCE' changes it, --wire FLOW wires it"
        raise PflowError(f"cannot plan '{words[0]}': it is a flow or a file, not a sentence", hint=hint, exit=USAGE)
    sentence = " ".join(words)
    is_flow = is_pipe(words) or is_pipe_text(" ".join(map(quote, words))) or any(map(is_cut_separator, words))
    if is_flow or not is_sentence(sentence):
        return wire_and_check(load_named(words), "plan")
    return _planned(sentence, model, timeout, fresh=fresh, no_stdin=no_stdin)


def _planned(sentence: str, model: str | None, timeout: float | None, *, fresh: bool, no_stdin: bool) -> WiredFlow:
    """Plan the flow of a sentence with a model. Raises the PflowError of an earlier stage that failed."""
    from pflow.commands._run_sentence import plan, with_signals
    from pflow.plan.inputs import piped_in

    def work() -> FlowSpec:
        intake = take_in(no_stdin=no_stdin)
        if (error := intake.document.header.get("error")) is not None:
            raise PflowError(f"cannot plan: stdin has an error: {error.get('message', '')}", exit=error["exit"])
        return plan(sentence, model, timeout, fresh=fresh, piped=piped_in(intake))

    with Diverted():  # a model's library may print, but stdout is for the result
        return wire_flow(with_signals(work))
