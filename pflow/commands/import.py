"""pflow import: Import a Flow from a Python file.

NAME is a Flow of pflow or pocketflow, or a function without arguments that makes one; it may be left out if there is
one. It is printed as a flow of pflow, in JSON. FILE.py is imported, so its code runs; the flow does not: pflow run
FILE.py runs it as it is. A flow inside the flow becomes part of it, because in
pocketflow both share one store.

Each node gets the name by which pflow finds its class. If pflow does not find the class, stderr says what to do: a
class in NAME.py in a directory of PFLOW_NODES is a node. A flow keeps a node's params, but not its constructor's
arguments: a node is refused (65) if it was given others than its defaults, max_retries and wait. So is a Flow with
methods of its own. Attributes that were set on a node later cause a warning.

\b
pflow export --to=python -o report.py examples/report.pflow.json
pflow import report.py:flow -o again.pflow.json
"""

import click

from pflow.commands._output import write_output
from pflow.errors import USAGE, PflowError
from pflow.flow.python_file import load_python
from pflow.flow.subflow import FlowCatalog, python_source
from pflow.flow.unload import canonical_json, flow_to_ir
from pflow.terminal.messages import say


@click.command(help=__doc__)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all.")
@click.argument("source", metavar="FILE.py[:NAME]")
def command(source: str, output: str | None) -> None:
    python = python_source(source)
    if python is None:
        raise PflowError(f"cannot import '{source}': it is not a Python file", hint="FILE.py:NAME", exit=USAGE)
    flow = load_python(*python, FlowCatalog())
    for warning in flow.warnings:
        say("pflow import", f"warning: {warning}")
    write_output(output, canonical_json(flow_to_ir(flow)).encode())
