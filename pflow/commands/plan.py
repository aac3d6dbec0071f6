"""pflow plan: from a sentence to a flow, printed and not run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from pflow.commands._click import FlowCommand, checked, color_option, seconds, write_output
from pflow.commands._dispatch import is_sentence
from pflow.errors import OK, USAGE, PflowError
from pflow.explain.pipe_form import pipe_of
from pflow.flow.flow import FlowSpec
from pflow.flow.load import read_text
from pflow.flow.pipe.recognize import is_pipe, is_pipe_text
from pflow.flow.pipe.scan import is_cut_separator, quote
from pflow.flow.subflow import find_file, load_named
from pflow.flow.unload import canonical_json, flow_to_ir
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.plan.limits import LIMITS
from pflow.process.streams import Diverted
from pflow.stage.document import take_in


class _Command(FlowCommand):
    """A command whose help tells the limits."""

    @staticmethod
    def notes() -> list[str]:
        return ["\n".join(["Limits:", *(f"  {id}  {text}" for id, text in LIMITS.items())])]


@click.command(cls=_Command)
@click.option("--pipe", "as_pipe", is_flag=True, help="Print the flow in pipe syntax.")
@click.option("--model", metavar="MODEL", help="The model that plans.")
@click.option("--fresh", is_flag=True, help="Ask the model anew, also for what was planned before.")
@click.option("--timeout", type=seconds, metavar="SECONDS", help="End planning after so many seconds, with 124.")
@click.option("-n", "--no-stdin", is_flag=True, help="Leave stdin alone: plan as if nothing came through the pipe.")
@click.option(
    "--wire", is_flag=True, help="Propose the mappings that a flow made by hand lacks: pflow plan --wire FLOW."
)
@click.option("--edit", is_flag=True, help="Change a flow as a sentence says: pflow plan --edit FLOW SENTENCE.")
@click.option("--write", is_flag=True, help="Put the flow that --wire or --edit changed back where it was; asks first.")
@click.option("--yes", is_flag=True, help="Let --write ask nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print errors as JSON too; with --wire or --edit the change.")
@color_option
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SENTENCE…")
def command(words: tuple[str, ...], when: str, timeout: float | None, **options: Any) -> int:
    """Plan a flow from a sentence and print it, in JSON. Nothing is run.

    A model that PFLOW_PLAN_MODEL or PFLOW_MODEL names, or else llm's default one, is given the sentence and what nodes
    and saved flows there are. Its answer is held to the rules that pflow check tells of, and to the limits below, and
    handed back with what is wrong, three times at most. Paths, URLs and numbers of the sentence become inputs of the
    flow. The same sentence is planned once. - takes the sentence from stdin. What comes through the pipe otherwise
    becomes an input too: the model is told the size of a text, or the keys of a store with their types, never a value.
    Pipe syntax becomes JSON without any model.

    With --wire or --edit the first word is a flow: a file, a saved flow, pipe syntax, or - for stdin. The change is
    shown on stderr as a diff; the flow that comes of it is printed, or with --write put back.

    The exit code is 65 where no answer passes: the best one is then on stderr; 78 where no model can plan.

    \b
    pflow plan 'read-file --path=examples/notes.txt => llm --prompt=Summarize'
    pflow plan 'read examples/notes.txt, summarize it and write summary.md' --pipe
    """
    if options["wire"] or options["edit"]:
        return _change(list(words), timeout, when, **options)
    for flag in ("write", "yes"):
        if options[flag]:
            raise PflowError(f"cannot take --{flag}: it goes with --wire and --edit", exit=USAGE)
    flow = _flow(list(words), options["model"], timeout, fresh=options["fresh"], no_stdin=options["no_stdin"])
    text = pipe_of(flow).rstrip("\n") + "\n" if options["as_pipe"] else canonical_json(flow_to_ir(flow.flow))
    write_output(None, text.encode("utf-8", "replace"))
    return OK


def _change(words: list[str], timeout: float | None, color: str, *, wire: bool, edit: bool, **options: Any) -> int:
    """What --wire and --edit do with a flow that is there."""
    from pflow.plan.change import ChangeOptions

    if wire and edit:
        raise PflowError("cannot take both --wire and --edit", exit=USAGE)
    module = import_module(f"pflow.plan.{'wire' if wire else 'edit'}")
    del options["fresh"], options["no_stdin"]  # a change asks anew each time, and knows its flow
    return int(module.main(words, ChangeOptions(timeout=timeout, color=color, **options)))


def _flow(
    words: list[str], model: str | None, timeout: float | None, *, fresh: bool, no_stdin: bool
) -> WiredFlow:  # fmt: skip
    """The flow that the words say. Raises PflowError: 2 for no words and for a flow that is there already."""
    if words == ["-"]:
        no_stdin = True
        words = [read_text(0, "the sentence on stdin").strip()]
    if not any(word.strip() for word in words):
        hint = "pflow plan 'read notes.txt and summarize it'"
        raise PflowError("cannot plan: there is no sentence", hint=hint, exit=USAGE)
    if len(words) == 1 and find_file(words[0]) is not None:
        hint = "pflow explain shows it, --edit FLOW 'SENTENCE' changes it, --wire FLOW wires it"
        raise PflowError(f"cannot plan '{words[0]}': it is a flow, or a file, and no sentence", hint=hint, exit=USAGE)
    sentence = " ".join(words)
    is_flow = is_pipe(words) or is_pipe_text(" ".join(map(quote, words))) or any(map(is_cut_separator, words))
    if is_flow or not is_sentence(sentence):
        return checked(load_named(words), "plan")
    return _planned(sentence, model, timeout, fresh=fresh, no_stdin=no_stdin)


def _planned(
    sentence: str, model: str | None, timeout: float | None, *, fresh: bool, no_stdin: bool
) -> WiredFlow:  # fmt: skip
    """The flow of a sentence; only here a model's library is loaded. Raises PflowError where an error comes in."""
    from pflow.commands._run_sentence import plan, with_signals
    from pflow.plan.piped import piped_in

    planned: list[FlowSpec] = []

    def work() -> int:
        intake = take_in(no_stdin=no_stdin)
        if (error := intake.document.header.get("error")) is not None:
            raise PflowError(f"cannot plan: an error comes in: {error.get('message', '')}", exit=error["exit"])
        planned.append(plan(sentence, model, timeout, fresh=fresh, piped=piped_in(intake)).flow)
        return OK

    with Diverted():  # stdout is for the result, not for what a model's library prints
        with_signals(work)
    return wire(planned[0])
