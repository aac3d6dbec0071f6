"""pflow export: a flow as Python, as a shell script, as pipe syntax, or as a picture."""

from __future__ import annotations

import click

from pflow.commands._click import FlowCommand, write_output
from pflow.errors import BAD_DATA, PflowError
from pflow.export import exporter, targets
from pflow.flow.named import load_named
from pflow.flow.rules import check
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.terminal.messages import say

_HELP = """\
Write FLOW as something else: a file, a saved flow, pipe syntax, or - for stdin.

\b
{targets}

A flow that breaks a rule is not exported (65), nor is one that the target cannot say; why is said on stderr.

\b
pflow export --to=python -o report.py examples/report.pflow.json
pflow export --to=sh 'list-files --pattern=*.txt => shell --command=wc' >wc.sh
pflow export --to=mermaid examples/report.pflow.json
"""


def _help() -> str:
    """The help, with the first line of each exporter's file."""
    lines = [(target, (exporter(target).__doc__ or "").partition("\n")[0]) for target in targets()]
    width = max(len(target) for target, _ in lines) + 2
    return _HELP.format(targets="\n".join([f"{target:{width}}{line}" for target, line in lines]))


@click.command(cls=FlowCommand, help=_help())
@click.option("--to", type=click.Choice(targets()), required=True, help="What to write it as.")
@click.option(
    "-o", "--output", metavar="FILE", help="Write it to FILE, whole or not at all; scripts become executable."
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="FLOW…")
def command(to: str, output: str | None, words: tuple[str, ...]) -> int:
    module = exporter(to)
    write_output(output, module.export(_checked(words)).encode(), is_program=getattr(module, "IS_PROGRAM", False))
    return 0


def _checked(words: tuple[str, ...]) -> WiredFlow:
    """The flow that the words name, wired. Raises PflowError (65) where it breaks a rule, after saying each finding."""
    loaded = load_named(words)
    wired = wire(loaded.flow)
    findings = check(wired, loaded.findings)
    for said in [*(f"warning: {warning}" for warning in loaded.flow.warnings), *map(str, findings)]:
        say("pflow export", said)
    errors = sum(not finding.is_warning for finding in findings)
    if errors:
        raise PflowError(
            f"cannot export the flow: it has {errors} error{'s' if errors > 1 else ''}",
            hint="pflow check tells the same",
            exit=BAD_DATA,
        )
    return wired
