"""pflow check: what is wrong with a flow, before anything runs."""

from __future__ import annotations

import click

from pflow.commands._click import FlowCommand
from pflow.commands._color import color_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow
    from pflow.flow.wired import WiredFlow
    from pflow.terminal.colour import Colour

_FORMS = {
    "pflow": "pflow form",
    "bindings": "the form of input_bindings, output_bindings and config",
    "keys": "the form of input_key and output_key",
    "pipe": "pipe syntax",
}


class _Command(FlowCommand):
    """A command whose help tells the rules."""

    @staticmethod
    def notes() -> list[str]:
        from pflow.flow.rules import RULES

        rules = [f"  {rule.id}  {rule.title} ({rule.otherwise})" for rule in RULES.values()]
        return ["\n".join(["Rules:", "  PF00  every part has the right shape (error)", *rules])]


@click.command(
    cls=_Command,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON document: findings, and what it needs, gives, touches.",
)
@click.option("--strict", is_flag=True, help="Take warnings for errors.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of a flow's file; no flow is needed.")
@color_option
@click.argument("flow", nargs=-1, type=click.UNPROCESSED)
def command(flow: tuple[str, ...], as_json: bool, strict: bool, schema: bool, when: str) -> int:
    """Check FLOW: a file, a saved flow, pipe syntax, or - for stdin. Nothing is run, imported or changed.

    Each finding is a line: the file, the place in it, the rule, what is wrong and what to do. The exit code is 65
    where one is an error.

    With --json a finding has its place as a JSON pointer too; where the rule knows them, the names that may have been
    meant, nearest first (near), and what to merge into the flow (merge, as RFC 7396 says). needs, gives and touches are
    those of pflow explain --json.

    \b
    pflow check examples/report.pflow.json
    pflow check --json --strict examples/words.pflow.json
    pflow check 'read-file --path=notes.txt => llm --prompt=Summarize'
    """
    if schema:
        return _print_schema()
    from pflow.errors import BAD_DATA, PflowError
    from pflow.flow.findings import SHAPE
    from pflow.flow.findings import Finding as Found
    from pflow.flow.take import take_flow
    from pflow.flow.wiring import wire

    try:
        loaded = take_flow(flow)
    except PflowError as error:
        if as_json and error.exit == BAD_DATA:
            _print_json(_name_of(flow), None, [Found(SHAPE, (), error.message, error.hint)], error.exit)
        raise
    plan = wire(loaded.flow)
    findings = _check(plan, loaded.findings)
    code = BAD_DATA if any(strict or not each.is_warning for each in findings) else 0
    if as_json:
        _print_json(_name_of(flow), plan, findings, code)
    else:
        _print_lines(_name_of(flow), loaded.flow, findings, when)
    return code


def _check(plan: WiredFlow, findings: Sequence[Finding]) -> list[Finding]:
    """Every finding; what was doubtful in pipe syntax stands at no place."""
    from pflow.flow.findings import Finding as Found
    from pflow.flow.rules import check

    doubts = [Found("PF14", (), each, is_warning=True) for each in plan.flow.warnings]
    return [*doubts, *check(plan, findings)]


def _name_of(words: Sequence[str]) -> str:
    """What the findings call the flow: its file, or how it was given."""
    from pflow.flow.take import find_file

    if len(words) != 1:
        return "pipe"
    return "stdin" if words[0] == "-" else find_file(words[0]) or "pipe"


def _print_lines(name: str, flow: Flow, findings: Sequence[Finding], when: str) -> None:
    from pflow.process.stdout import write_pieces
    from pflow.terminal.colour import AUTO, NEVER, colour_of

    colour = colour_of(1, when)
    about = f"{_count(len(flow.steps), 'step')}, {_FORMS[flow.dialect]}"
    if findings:
        write_pieces(1, [_line(name, each, colour).encode() + b"\n" for each in findings])
        said = colour_of(2, NEVER if when == NEVER else AUTO).heading("pflow check:")
        write_pieces(2, [f"{said} {_counted(findings)} ({about})\n".encode()])
        return
    write_pieces(1, [f"{_shown(f'{name}: {about}:')} {colour.good('no findings')}\n".encode()])


def _line(name: str, finding: Finding, colour: Colour) -> str:
    """`bad.json: nodes[0].id: PF12: …`, its place and its rule painted."""
    from pflow.flow.findings import write_place

    place = _shown(f"{name}: {write_place(finding.place)}:" if finding.place else f"{name}:")
    rule = (colour.warning if finding.is_warning else colour.fault)(finding.rule)
    rest = _shown(f"{name}: {finding}").removeprefix(f"{place} {finding.rule}")
    return f"{colour.heading(place)} {rule}{rest}"


def _shown(text: str) -> str:
    """A text as one line that can be printed: a terminal would obey what is no printable sign."""
    from pflow.terminal.columns import clean

    return clean(text.replace("\n", "\\n"))


def _counted(findings: Sequence[Finding]) -> str:
    warnings = sum(each.is_warning for each in findings)
    counts = ((len(findings) - warnings, "error"), (warnings, "warning"))
    return ", ".join(_count(number, what) for number, what in counts if number)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _print_json(name: str, plan: WiredFlow | None, findings: Sequence[Finding], code: int) -> None:
    from pflow.commands._json import print_json
    from pflow.explain.verdict import verdict

    print_json({"file": _shown(name), **verdict(plan, findings, code)})


def _print_schema() -> int:
    import json

    from pflow.flow.ir import schema
    from pflow.process.stdout import write_pieces

    write_pieces(1, [json.dumps(schema(), indent=2, ensure_ascii=False).encode(), b"\n"])
    return 0
