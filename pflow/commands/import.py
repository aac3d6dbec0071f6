"""pflow import: a Flow of a Python file as a flow of pflow's."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from pflow.catalog.registry import load_module
from pflow.commands._click import write_output
from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError, exit_code, reason_of
from pflow.flow.constructors import remember_arguments
from pflow.flow.from_pocketflow import flow_from
from pflow.flow.unload import canonical_json, flow_to_ir
from pflow.interface.source import in_words
from pflow.node import pocketflow
from pflow.terminal.messages import say


@click.command
@click.option("-o", "--output", metavar="FILE", help="Write it to FILE, whole or not at all.")
@click.argument("source", metavar="FILE.py:NAME")
def command(source: str, output: str | None) -> int:
    """Write the Flow that NAME is in FILE.py as a flow of pflow's, as JSON.

    NAME is a Flow of pflow's or of pocketflow's, or a function without arguments that makes one. FILE.py is run, as
    Python runs a file that it imports; the flow is not. A flow inside the flow becomes part of it: in pocketflow, both
    work on one store.

    Each node goes by the name that pflow finds its class by. Where there is none, stderr says what to do: a class in
    NAME.py in a directory on PFLOW_NODES is a node. A flow keeps params: a node whose constructor was given anything
    but its defaults, max_retries and wait is refused (65), and so is a Flow with methods of its own; what was set on
    a node later gets a warning.

    \b
    pflow export --to=python -o report.py examples/report.pflow.json
    pflow import report.py:flow -o again.pflow.json
    """
    file, colon, name = source.rpartition(":")
    if not colon or not file or not name:
        raise PflowError(f"cannot import '{source}': no NAME in it", hint="FILE.py:NAME", exit=USAGE)
    remember_arguments()
    module = _run_file(file)
    flow = flow_from(_flow_in(module, name, file), vars(module))
    for warning in flow.warnings:
        say("pflow import", f"warning: {warning}")
    write_output(output, canonical_json(flow_to_ir(flow)).encode())
    return 0


def _run_file(file: str) -> Any:
    """A Python file's module, run as if it were imported from its own directory.

    Raises PflowError: 66 where there is no file, 78 where it imports what is missing, 65 where it does not run.
    """
    try:
        open(file, "rb").close()
    except OSError as error:
        raise PflowError(f"cannot import '{file}': {reason_of(error)}", exit=exit_code(error)) from None
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    return load_module(file, "pflow_import_" + os.path.basename(file).partition(".")[0], "import")


def _flow_in(module: Any, name: str, file: str) -> Any:
    """The Flow that a name stands for. Raises PflowError: 66 where there is no such name, 65 where it is no Flow."""
    if not hasattr(module, name):
        there = [each for each, value in vars(module).items() if _may_be_flow(value, module)]
        hint = f"there is {', '.join(there)}" if there else "there is no Flow in it, and no function"
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
