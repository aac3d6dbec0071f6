"""pflow import: Import a flow from a Python file or a shell script.

The flow is printed in JSON. FILE.py[:NAME] has a Flow of pflow or pocketflow: a variable, or what a function without
arguments returns. The file is imported, so its code runs; the flow does not (pflow run FILE.py runs it as it is). A
flow inside the flow becomes part of it, because in pocketflow both share one store.

Each node gets the name by which pflow finds its class. If pflow does not find the class, stderr says what to do: a
class in NAME.py in a directory of PFLOW_NODES is a node. A flow keeps a node's params, but not its constructor's
arguments: a node is refused (65) if any constructor argument besides max_retries and wait differs from its default. So
is a Flow with methods of its own. Attributes that were set on a node later cause a warning.

FILE.sh has pipes of pflow's programs, which run one after the other, each with a store of its own. All but the last
print nothing (-q), and with several of them the script begins with set -e. NAME=text is filled in, NAME=$1 and
NAME=${1:-text} become inputs. Anything else in the script is refused (2), with its line. pflow run FILE.sh reads the
script in the same way and runs it as a flow.

\b
pflow export --to=python -o report.py examples/report.pflow.json
pflow import report.py:flow -o again.pflow.json
"""

from pflow.commands._command import OUTPUT, Command
from pflow.commands._output import write_output
from pflow.errors import USAGE, PflowError
from pflow.flow.ir import flow_to_ir
from pflow.flow.load import is_script, load_file, load_python
from pflow.flow.subflow import FlowCatalog, python_source
from pflow.help.spec import FILE
from pflow.interface.interface import PATH, argument
from pflow.terminal.messages import say
from pflow.values.fast_json import write_json


@Command(__doc__, OUTPUT, argument("FILE", FILE, type=PATH, required=True))
def command(file: str, output: str | None) -> None:
    if is_script(file):
        flow = load_file(file, FlowCatalog())
    elif python := python_source(file):
        flow = load_python(*python, FlowCatalog())
    else:
        raise PflowError(f"cannot import '{file}'", hint="FILE.py, FILE.py:NAME or FILE.sh", exit=USAGE)
    for warning in flow.warnings:
        say("pflow import", f"warning: {warning}")
    write_output(output, write_json(flow_to_ir(flow)).encode())
