"""pflow explain: Explain what a flow does, and what it will touch.

The flow is not run. Each step is shown, and where each value comes from and goes to. FLOW is a file, a saved flow, pipe
syntax, or - for stdin. If the flow has errors, stderr lists them, and the exit code is 65.

\b
pflow explain examples/report.pflow.json
pflow explain --graph 'read-file --path=a.txt => llm --prompt=Summarize'
"""

from pflow.commands._command import COLOR, Command
from pflow.commands._output import examined, print_json, print_text
from pflow.explain.account import explain
from pflow.explain.text import account_text, graph_text
from pflow.flow.subflow import load_named
from pflow.help.spec import FLOW
from pflow.interface.interface import TEXTS, Flag, argument
from pflow.terminal.columns import colour_of, terminal_width


@Command(
    __doc__,
    Flag("graph", "list only the flow's steps and edges", excludes=("json",)),
    Flag("json", "print one JSON document"),
    COLOR,
    argument("FLOW…", FLOW, name="flow", type=TEXTS),
)
def command(flow: list[str], graph: bool, json: bool, color: str) -> int:
    wired, findings, code = examined(load_named(flow, is_run_here=True), "pflow")
    if json:
        print_json(explain(wired, findings))
    else:
        width, account = terminal_width(), explain(wired, findings)
        print_text(graph_text(account, width) if graph else account_text(account, width, colour_of(1, color)))
    return code
