"""pflow import: Import a Flow from a Python file.

NAME is a Flow of pflow or pocketflow, or a function without arguments that makes one. It is printed as a flow of pflow,
in JSON. FILE.py is imported, so its code runs; the flow does not. A flow inside the flow becomes part of it, because in
pocketflow both share one store.

Each node gets the name by which pflow finds its class. If pflow does not find the class, stderr says what to do: a
class in NAME.py in a directory of PFLOW_NODES is a node. A flow keeps a node's params, but not its constructor's
arguments: a node is refused (65) if it was given others than its defaults, max_retries and wait. So is a Flow with
methods of its own. Attributes that were set on a node later cause a warning.

\b
pflow export --to=python -o report.py examples/report.pflow.json
pflow import report.py:flow -o again.pflow.json
"""

import os
import sys
from typing import Any

import click

from pflow.catalog.registry import load_module
from pflow.commands._output import write_output
from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError, exit_code, reason_of
from pflow.flow.constructors import remember_arguments
from pflow.flow.from_pocketflow import flow_from
from pflow.flow.unload import canonical_json, flow_to_ir
from pflow.interface.source import in_words
from pflow.node import pocketflow
from pflow.terminal.messages import say


@click.command(help=__doc__)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all.")
@click.argument("source", metavar="FILE.py:NAME")
def command(source: str, output: str | None) -> None:
    file, colon, name = source.rpartition(":")
    if not colon or not file or not name:
        raise PflowError(f"cannot import '{source}': it has no NAME", hint="FILE.py:NAME", exit=USAGE)
    remember_arguments()
    module = _run_file(file)
    flow = flow_from(_flow_in(module, name, file), vars(module))
    for warning in flow.warnings:
        say("pflow import", f"warning: {warning}")
    write_output(output, canonical_json(flow_to_ir(flow)).encode())


def _run_file(file: str) -> Any:
    """Run a Python file as if it were imported from its own directory, and return its module.

    Raises PflowError: 66 for a missing file, 78 for a missing import, 65 for a file that fails.
    """
    try:
        open(file, "rb").close()
    except OSError as error:
        raise PflowError(f"cannot import '{file}': {reason_of(error)}", exit=exit_code(error)) from None
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    return load_module(file, "pflow_import_" + os.path.basename(file).partition(".")[0], "import")


def _flow_in(module: Any, name: str, file: str) -> Any:
    """Return the Flow that a name stands for. Raises PflowError: 66 for an unknown name, 65 if it is not a Flow."""
    if not hasattr(module, name):
        there = [each for each, value in vars(module).items() if _may_be_flow(value, module)]
        hint = f"it has {', '.join(there)}" if there else "it has neither a Flow nor a function"
        raise PflowError(f"cannot find '{name}' in '{file}'", hint=hint, exit=MISSING)
    found = getattr(module, name)
    if callable(found):
        try:
            found = found()
        except (Exception, SystemExit) as error:
            raise PflowError(f"cannot make a flow with '{name}': {in_words(error)}", exit=BAD_DATA) from error
    if not isinstance(found, pocketflow.Flow):
        what = f"it is of the type {type(found).__name__}"
        hint = "a pocketflow Flow, or a function that makes one"
        raise PflowError(f"cannot import '{name}' of '{file}': {what}", hint=hint, exit=BAD_DATA)
    return found


def _may_be_flow(value: Any, module: Any) -> bool:
    is_function = type(value).__name__ == "function" and value.__module__ == module.__name__
    return isinstance(value, pocketflow.Flow) or is_function
