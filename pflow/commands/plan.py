"""pflow plan: from a sentence to a flow, printed and not run."""

from __future__ import annotations

import click

from pflow.commands._click import FlowCommand
from pflow.commands._color import color_option
from pflow.flow.pipe.scan import is_sign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow


class _Command(FlowCommand):
    """A command whose words are a flow, or a sentence; its options stand anywhere, but for those of a flow's steps."""

    def flow_last(self, words: list[str]) -> list[str]:
        options, rest = self._split(words)
        if any(map(is_sign, rest)) or (_is_step(rest) and not _is_changed(words, rest[0])):
            return [*options, "--", *rest]
        return words

    @staticmethod
    def notes() -> list[str]:
        from pflow.plan.limits import LIMITS

        return ["\n".join(["Limits:", *(f"  {id}  {text}" for id, text in LIMITS.items())])]


def _is_changed(words: list[str], flow: str) -> bool:
    """Whether --wire or --edit stands among the words, and a flow that is there is what they change."""
    from pflow.flow.take import find_file

    return any(word in ("--wire", "--edit") for word in words) and find_file(flow) is not None


def _is_step(words: list[str]) -> bool:
    """Whether words are a step of pipe syntax: a node and its flags, a slip of such, or what the shell left of a =>."""
    from pflow.commands._sentence import is_flag
    from pflow.flow.pipe.recognize import names_node
    from pflow.flow.pipe.redirection import is_rest

    if len(words) < 2 or not (is_flag(words[1]) or is_rest(words[1])):
        return False
    return not set(words[0]) & set(" \t\n") and names_node(words[0])


@click.command(cls=_Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--pipe", "as_pipe", is_flag=True, help="Print the flow in pipe syntax.")
@click.option("--model", metavar="MODEL", help="The model that plans.")
@click.option("--fresh", is_flag=True, help="Ask the model anew, also for what was planned before.")
@click.option("--timeout", metavar="SECONDS", help="End planning after so many seconds, with 124.")
@click.option(
    "--wire", is_flag=True, help="Propose the mappings that a flow made by hand lacks: pflow plan --wire FLOW."
)
@click.option("--edit", is_flag=True, help="Change a flow as a sentence says: pflow plan --edit FLOW SENTENCE.")
@click.option("--write", is_flag=True, help="Put the flow that --wire or --edit changed back where it was; asks first.")
@click.option("--yes", is_flag=True, help="Let --write ask nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print errors as JSON too; with --wire or --edit the change.")
@color_option
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SENTENCE…")
def command(words: tuple[str, ...], when: str, timeout: str | None, **options: Any) -> int:
    """Plan a flow from a sentence and print it, in JSON. Nothing is run.

    A model that PFLOW_PLAN_MODEL or PFLOW_MODEL names, or else llm's default one, is given the sentence and what nodes
    and saved flows there are. Its answer is held to the rules that pflow check tells of, and to the limits below, and
    handed back with what is wrong, three times at most. Paths, URLs and numbers of the sentence become inputs of the
    flow. The same sentence is planned once. - takes the sentence from stdin. Pipe syntax becomes JSON without any
    model.

    With --wire or --edit the first word is a flow: a file, a saved flow, pipe syntax, or - for stdin. The change is
    shown on stderr as a diff; the flow that comes of it is printed, or with --write put back.

    The exit code is 65 where no answer passes: the best one is then on stderr; 78 where no model can plan.

    \b
    pflow plan 'read-file --path=examples/notes.txt => llm --prompt=Summarize'
    pflow plan 'read examples/notes.txt, summarize it and write summary.md' --pipe
    """
    from pflow.commands._sentence_flags import seconds
    from pflow.plan.change.give import flow_text
    from pflow.process.stdout import write_pieces

    limit = seconds(timeout) if timeout is not None else None
    if options["wire"] or options["edit"]:
        return _change(list(words), {**options, "timeout": limit, "color": when})
    if options["write"] or options["yes"]:
        from pflow.errors import USAGE, PflowError

        flag = "--write" if options["write"] else "--yes"
        raise PflowError(f"cannot take {flag}: it goes with --wire and --edit", exit=USAGE)
    flow = _flow(list(words), options["model"], limit, fresh=options["fresh"])
    write_pieces(1, [flow_text(flow, as_pipe=options["as_pipe"]).encode("utf-8", "replace")])
    return 0


def _change(words: list[str], options: dict[str, Any]) -> int:
    """What --wire and --edit do with a flow that is there."""
    from pflow.errors import USAGE, PflowError

    if options["wire"] and options["edit"]:
        raise PflowError("cannot take both --wire and --edit", exit=USAGE)
    if options["wire"]:
        from pflow.plan.wire.wire import main_wire

        return main_wire(words, options)
    from pflow.plan.edit.edit import main_edit

    return main_edit(words, options)


def _flow(words: list[str], model: str | None, timeout: float | None, *, fresh: bool) -> Flow:
    """The flow that the words say. Raises PflowError: 2 for no words and for a flow that is there already."""
    from pflow.commands._sentence import is_sentence

    if words == ["-"]:
        from pflow.flow.load import read_text

        words = [read_text(0, "the sentence on stdin").strip()]
    _refuse_nothing(words)
    if _is_pipe(words):
        return _compiled(words)
    sentence = " ".join(words)
    if not is_sentence(sentence):
        from pflow.flow.take import take_flow

        return _checked(take_flow([sentence]).usable())
    return _planned(sentence, model, timeout, fresh=fresh)


def _refuse_nothing(words: list[str]) -> None:
    """Raise PflowError (2) for no words, and for one that names a flow: that is planned already."""
    from pflow.errors import USAGE, PflowError
    from pflow.flow.take import find_file

    if not any(word.strip() for word in words):
        hint = "pflow plan 'read notes.txt and summarize it'"
        raise PflowError("cannot plan: there is no sentence", hint=hint, exit=USAGE)
    if len(words) == 1 and find_file(words[0]) is not None:
        hint = "pflow explain shows it, --edit FLOW 'SENTENCE' changes it, --wire FLOW wires it"
        raise PflowError(f"cannot plan '{words[0]}': it is a flow, or a file, and no sentence", hint=hint, exit=USAGE)


def _is_pipe(words: list[str]) -> bool:
    from pflow.flow.pipe import is_pipe

    return is_pipe(words) or _is_step(words)


def _compiled(words: list[str]) -> Flow:
    from pflow.flow.pipe import parse_pipe

    return _checked(parse_pipe(words))


def _checked(flow: Flow) -> Flow:
    """A flow that breaks no rule. Raises PflowError (65) after saying each finding."""
    from pflow.flow.rules import check
    from pflow.flow.wiring import wire
    from pflow.run.driver import refuse_errors
    from pflow.terminal.messages import say

    findings = check(wire(flow))
    refuse_errors(findings, "plan")
    for warning in [*(f"warning: {each}" for each in flow.warnings), *map(str, findings)]:
        say("pflow plan", warning)
    return flow


def _planned(sentence: str, model: str | None, timeout: float | None, *, fresh: bool) -> Flow:
    from pflow.commands._planning import in_order, mention, plan
    from pflow.plan.show.offer import find_offer
    from pflow.process.stdout import Diverted

    planned = []

    def work() -> int:
        offer = find_offer(sentence)
        if offer is not None:
            mention(offer)
        planned.append(plan(sentence, model, timeout, fresh=fresh))
        return 0

    with Diverted():  # what a model's library prints is no result
        in_order(work)
    return planned[0].flow
