"""pflow check: what is wrong with a flow, before anything runs."""

from __future__ import annotations

import click

from pflow.commands._click import FlowCommand
from pflow.commands._color import color_option
from pflow.stage.failure import sayable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pflow.colour import Colour
    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow

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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: file, dialect, steps, findings.")
@click.option("--strict", is_flag=True, help="Take warnings for errors.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of a flow's file; no flow is needed.")
@color_option
@click.argument("flow", nargs=-1, type=click.UNPROCESSED)
def command(flow: tuple[str, ...], as_json: bool, strict: bool, schema: bool, when: str) -> int:
    """Check FLOW: a file, a saved flow, pipe syntax, or - for stdin. Nothing is run, imported or changed.

    Each finding is a line: the file, the place in it, the rule, what is wrong and what to do. The exit code is 65
    where one is an error.

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

    try:
        loaded = take_flow(flow)
    except PflowError as error:
        if as_json and error.exit == BAD_DATA:
            _print_json(_name_of(flow), None, [Found(SHAPE, "", error.message, error.hint)])
        raise
    findings = _check(loaded.flow, loaded.findings)
    if as_json:
        _print_json(_name_of(flow), loaded.flow, findings)
    else:
        _print_lines(_name_of(flow), loaded.flow, findings, when)
    return BAD_DATA if any(strict or not each.is_warning for each in findings) else 0


def _check(flow: Flow, findings: Sequence[Finding]) -> list[Finding]:
    """Every finding; what was doubtful in pipe syntax stands at no place."""
    from pflow.flow.findings import Finding as Found
    from pflow.flow.rules import check
    from pflow.flow.wiring import wire

    doubts = [Found("PF14", "words", each, is_warning=True) for each in flow.warnings]
    return [*doubts, *check(wire(flow), findings)]


def _name_of(words: Sequence[str]) -> str:
    """What the findings call the flow: its file, or how it was given."""
    from pflow.flow.take import find_file

    if len(words) != 1:
        return "pipe"
    return "stdin" if words[0] == "-" else find_file(words[0]) or "pipe"


def _print_lines(name: str, flow: Flow, findings: Sequence[Finding], when: str) -> None:
    from pflow.colour import AUTO, NEVER, colour_of
    from pflow.stage.stdout import write_pieces

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
    place = _shown(f"{name}: {finding.place}:")
    rule = (colour.warning if finding.is_warning else colour.fault)(finding.rule)
    rest = _shown(f"{name}: {finding}").removeprefix(f"{place} {finding.rule}")
    return f"{colour.heading(place)} {rule}{rest}"


def _shown(text: str) -> str:
    """A text as one line that can be printed: a terminal would obey what is no printable sign."""
    from pflow.flow.explaining.columns import clean

    return clean(text.replace("\n", "\\n"))


def _counted(findings: Sequence[Finding]) -> str:
    warnings = sum(each.is_warning for each in findings)
    counts = ((len(findings) - warnings, "error"), (warnings, "warning"))
    return ", ".join(_count(number, what) for number, what in counts if number)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _print_json(name: str, flow: Flow | None, findings: Sequence[Finding]) -> None:
    from pflow.jsontext import encode
    from pflow.stage.stdout import write_pieces

    document = {
        "file": _shown(name),
        "dialect": flow.dialect if flow else None,
        "steps": len(flow.steps) if flow else None,
        "findings": [_as_json(each) for each in findings],
    }
    write_pieces(1, [encode(document), b"\n"])


def _as_json(finding: Finding) -> dict[str, str]:
    return {name: sayable(text) for name, text in finding.as_json().items()}


def _print_schema() -> int:
    import json

    from pflow.flow.ir import schema
    from pflow.stage.stdout import write_pieces

    write_pieces(1, [json.dumps(schema(), indent=2, ensure_ascii=False).encode(), b"\n"])
    return 0
