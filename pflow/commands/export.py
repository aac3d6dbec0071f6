"""pflow export: a flow as Python, as a shell script, as pipe syntax, or as a picture."""

from __future__ import annotations

import click

from pflow.commands._click import FlowCommand
from pflow.commands._output import put
from pflow.export import EXPORTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.wired import WiredFlow

_PROGRAMS = ("python", "sh")


@click.command(cls=FlowCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--to", type=click.Choice(list(EXPORTERS)), required=True, help="What to write it as.")
@click.option(
    "-o", "--output", metavar="FILE", help="Write it to FILE, whole or not at all; scripts become executable."
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="FLOW…")
def command(to: str, output: str | None, words: tuple[str, ...]) -> int:
    """Write FLOW as something else: a file, a saved flow, pipe syntax, or - for stdin.

    \b
    python   one file that runs with pocketflow alone and ends with the same store
    sh       a script of pflow-NODE programs in a pipe; for flows that are one line of steps
    pipe     pipe syntax, where it can say the flow
    mermaid  a flowchart for Markdown
    dot      a graph for Graphviz

    A flow that breaks a rule is not exported (65), nor is one that the target cannot say; why is said on stderr.

    \b
    pflow export --to=python -o report.py examples/report.pflow.json
    pflow export --to=sh 'list-files --pattern=*.txt => shell --command=wc' >wc.sh
    pflow export --to=mermaid examples/report.pflow.json
    """
    put(output, EXPORTERS[to](_checked_plan(words)).encode(), is_program=to in _PROGRAMS)
    return 0


def _checked_plan(words: tuple[str, ...]) -> WiredFlow:
    """The plan of the flow that the words name. Raises PflowError (65) where it breaks a rule; all are said."""
    from pflow.errors import BAD_DATA, PflowError
    from pflow.flow.rules import check
    from pflow.flow.take import take_flow
    from pflow.flow.wiring import wire
    from pflow.terminal.messages import say

    loaded = take_flow(words)
    plan = wire(loaded.flow)
    findings = check(plan, loaded.findings)
    for said in [*(f"warning: {warning}" for warning in loaded.flow.warnings), *map(str, findings)]:
        say("pflow export", said)
    errors = sum(not finding.is_warning for finding in findings)
    if errors:
        raise PflowError(
            f"cannot export the flow: it has {errors} error{'s' if errors > 1 else ''}",
            hint="pflow check tells the same",
            exit=BAD_DATA,
        )
    return plan
