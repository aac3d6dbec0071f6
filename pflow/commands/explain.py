"""pflow explain: Explain what a flow does, and what it will touch.

The flow is not run. Each step is shown, and where each value comes from and goes to. FLOW is a file, a saved flow, pipe
syntax, or - for stdin. If the flow has errors, stderr lists them, and the exit code is 65.

\b
pflow explain examples/report.pflow.json
pflow explain --graph 'read-file --path=a.txt => llm --prompt=Summarize'
"""

import click

from pflow.commands._click import FlowCommand, color_option, examined
from pflow.commands._output import print_json, print_text
from pflow.errors import USAGE, PflowError
from pflow.explain.account import explain
from pflow.explain.text import account_text, graph_text
from pflow.flow.subflow import load_named
from pflow.terminal.columns import colour_of, terminal_width


@click.command(help=__doc__, cls=FlowCommand)
@click.option("--graph", "as_graph", is_flag=True, help="List only the flow's steps and edges.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@color_option
@click.argument("flow", nargs=-1, type=click.UNPROCESSED, metavar="FLOW…")
def command(flow: tuple[str, ...], as_graph: bool, as_json: bool, when: str) -> int:
    if as_graph and as_json:
        raise PflowError("cannot take both --graph and --json", exit=USAGE)
    wired, findings, code = examined(load_named(flow, is_run_here=True), "pflow")
    if as_json:
        print_json(explain(wired, findings))
    else:
        width, account = terminal_width(), explain(wired, findings)
        print_text(graph_text(account, width) if as_graph else account_text(account, width, colour_of(1, when)))
    return code
