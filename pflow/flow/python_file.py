"""The Flow in a Python file: one of its variables, or what one of its functions makes."""

from __future__ import annotations

import os
import sys
from types import FunctionType

from pflow import Any, NoReturn
from pflow.catalog.kinds import Catalog
from pflow.catalog.registry import load_module
from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError
from pflow.flow.flow import FlowSpec
from pflow.flow.from_pocketflow import flow_from, nodes_from, remember_arguments
from pflow.flow.load import read_text
from pflow.interface.source import in_words
from pflow.node import pocketflow
from pflow.process.streams import Diverted


def load_python(file: str, name: str, catalog: Catalog, *, is_run_here: bool = False) -> FlowSpec:
    """Load a Flow from a Python file, which runs; without a `name`, the only one.

    Raises PflowError: 66 for a missing file or name, 78 for a missing import, 2 if several flows have no name, 65.
    """
    if not is_run_here:
        remember_arguments()
    with Diverted():
        module = _run_file(file)
        flow = flow_from(_flow_in(module, name, file), catalog, vars(module), is_run_here=is_run_here)
    if is_run_here:
        set_file(flow, file, name)
    return flow


def set_file(flow: FlowSpec, file: str, name: str) -> None:
    """Note where a flow is loaded from; it is named after the file unless it has a name."""
    flow.file = f"{file}:{name}" if name else file
    flow.name = flow.name or os.path.basename(file).removesuffix(".py")


def _run_file(file: str) -> Any:
    """Run a Python file as if it were imported from its own directory, and return its module.

    Meanwhile pocketflow's own `run` refuses: it has no hook, and the file's classes are not ours to derive.
    """
    read_text(file, f"the flow '{file}'")
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    run, run_async = pocketflow.BaseNode.run, pocketflow.AsyncNode.run_async
    pocketflow.BaseNode.run = pocketflow.AsyncNode.run_async = refuse_to_run
    try:
        return load_module(file, "pflow_import_" + os.path.basename(file).partition(".")[0], "load")
    finally:
        pocketflow.BaseNode.run, pocketflow.AsyncNode.run_async = run, run_async


def refuse_to_run(flow: Any, shared: Any = None) -> NoReturn:
    """Stand in for `run` while a file is loaded, since the flow would run twice. Raises PflowError (65)."""
    raise PflowError("it runs a flow when imported", hint='put that below if __name__ == "__main__":', exit=BAD_DATA)


def _flow_in(module: Any, name: str, file: str) -> Any:
    """Return the Flow that a name stands for; without a name the only one that no other contains, else the only
    function that makes one.

    Raises PflowError: 66 if there is none, 2 if there are several, 65 if the name stands for something else.
    """
    if not hasattr(module, name):
        flows = {id(value): each for each, value in vars(module).items() if isinstance(value, pocketflow.Flow)}
        inner = {id(node) for each in flows.values() for node in nodes_from(getattr(module, each).start_node)}
        names = [each for key, each in flows.items() if key not in inner]
        names = names or [each for each, value in vars(module).items() if _makes_flow(value)]
        if name or len(names) != 1:
            what = f"'{name}'" if name else "one Flow" if names else "a Flow"
            hint = " or ".join(f"{file}:{each}" for each in names) or "a variable, or a function that returns it"
            raise PflowError(f"cannot find {what} in '{file}'", hint=hint, exit=MISSING if name or not names else USAGE)
        name = names[0]
    found = getattr(module, name)
    try:
        found = found() if callable(found) else found
    except (Exception, SystemExit) as error:
        raise PflowError(f"cannot make a flow with '{name}': {in_words(error)}", exit=BAD_DATA) from error
    if not isinstance(found, pocketflow.Flow):
        what = f"cannot load '{name}' of '{file}': it is of the type {type(found).__name__}"
        raise PflowError(what, hint="a pocketflow Flow, or a function that makes one", exit=BAD_DATA)
    return found


def _makes_flow(value: Any) -> bool:
    """Return True for a function without required arguments whose code names a Flow's class, and does not run it."""
    if not isinstance(value, FunctionType) or value.__code__.co_argcount > len(value.__defaults__ or ()):
        return False
    names = value.__code__.co_names
    return any(name.endswith("Flow") for name in names) and not {"run", "run_async", "main"} & {*names}
