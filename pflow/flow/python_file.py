"""The Flow in a Python file: one of its variables, or what one of its functions makes."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from functools import reduce
from textwrap import dedent
from types import FunctionType
from typing import TYPE_CHECKING, Any

from pflow.catalog.registry import load_module
from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError, exit_code, reason_of
from pflow.flow.constructors import remember_arguments
from pflow.flow.from_pocketflow import flow_from
from pflow.interface.source import in_words
from pflow.node import pocketflow
from pflow.process.streams import Diverted
from pflow.words.naming import joined

if TYPE_CHECKING:
    from pflow.flow.flow import FlowSpec


def load_python(file: str, name: str = "", *, is_run_here: bool = False) -> FlowSpec:
    """Load a Flow from a Python file, which runs; without a `name`, the only one.

    Raises PflowError: 66 for a missing file or name, 78 for a missing import, 2 if several flows have no name, 65.
    """
    if not is_run_here:
        remember_arguments()
    with Diverted():
        module = _run_file(file)
        name = name or _only_name(module, file)
        flow = flow_from(_flow_in(module, name, file), vars(module), is_run_here=is_run_here)
    if is_run_here:
        flow.file = f"{file}:{name}"
        flow.name = flow.name or os.path.basename(file).removesuffix(".py")
    return flow


def _run_file(file: str) -> Any:
    """Run a Python file as if it were imported from its own directory, and return its module."""
    try:
        open(file, "rb").close()
    except OSError as error:
        raise PflowError(f"cannot load '{file}': {reason_of(error)}", exit=exit_code(error)) from None
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    return load_module(file, "pflow_import_" + os.path.basename(file).partition(".")[0], "load")


def _only_name(module: Any, file: str) -> str:
    """Return the name of the only Flow, or without any, of the only function that makes one."""
    flows, makers = _names_in(module)
    names = flows or makers
    if len(names) == 1:
        return names[0]
    if names:
        hint = f"{file}:{names[0]} names one of {joined(names)}"
        raise PflowError(f"cannot choose a Flow of '{file}': it has {len(names)}", hint=hint, exit=USAGE)
    hint = "a variable outside of functions, or what a function without arguments returns"
    raise PflowError(f"cannot find a Flow in '{file}'", hint=hint, exit=MISSING)


def _names_in(module: Any) -> tuple[list[str], list[str]]:
    """Return the names of a module's Flows, each Flow once, and of the functions that make one."""
    flows = {id(value): name for name, value in vars(module).items() if isinstance(value, pocketflow.Flow)}
    return [*flows.values()], [name for name, value in vars(module).items() if _makes_flow(value)]


def _makes_flow(value: Any) -> bool:
    """Return True for a function without required arguments whose code returns a Flow that it makes."""
    if not isinstance(value, FunctionType) or _needs_arguments(value):
        return False
    try:
        nodes = list(ast.walk(ast.parse(dedent(inspect.getsource(value)))))
    except (OSError, SyntaxError):
        return False

    def is_flow(node: ast.AST | None) -> bool:
        if not isinstance(node, ast.Call):
            return isinstance(node, ast.Name) and node.id in made
        first, *rest = ast.unparse(node.func).split(".")
        called = reduce(lambda found, name: getattr(found, name, None), rest, value.__globals__.get(first))
        return isinstance(called, type) and issubclass(called, pocketflow.Flow)

    made: set[str] = set()
    for each in nodes:
        if isinstance(each, ast.Assign) and is_flow(each.value):
            made |= {target.id for target in each.targets if isinstance(target, ast.Name)}
    return any(isinstance(each, ast.Return) and is_flow(each.value) for each in nodes)


def _needs_arguments(value: FunctionType) -> bool:
    parameters = inspect.signature(value).parameters.values()
    return any(each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters)


def _flow_in(module: Any, name: str, file: str) -> Any:
    """Return the Flow that a name stands for. Raises PflowError: 66 for an unknown name, 65 if it is not a Flow."""
    if not hasattr(module, name):
        there = sum(_names_in(module), [])
        hint = f"it has {', '.join(there)}" if there else "it has no Flow, and no function that makes one"
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
        raise PflowError(f"cannot load '{name}' of '{file}': {what}", hint=hint, exit=BAD_DATA)
    return found
