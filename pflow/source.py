"""A node's class in a file of Python: its interface and version, read and never run."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import BAD_DATA, PflowError

if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Interface


def read_interface(file: str) -> Interface:
    """The interface in the docstring of a file's class; an open one where that says nothing.

    Raises PflowError (65) for one that does not parse, OSError for a file that cannot be read.
    """
    import ast

    from pflow.grammar import parse_interface
    from pflow.interface import Interface

    with open(file, encoding="utf-8-sig", errors="replace") as source:
        text = source.read()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two are for what is too deep
        raise PflowError(f"cannot read the node '{file}': {in_words(error)}", exit=BAD_DATA) from None
    for node in _node_classes(tree, file):
        if docstring := ast.get_docstring(node, clean=False):
            interface = parse_interface(docstring, file=file, first_line=node.body[0].lineno)
            interface.flow_safe = any("flow_safe" in ast.unparse(each) for each in node.decorator_list)
            if interface.flow_safe and interface.effects:
                raise PflowError(f"cannot read the node '{file}': what is flow_safe has no effects", exit=BAD_DATA)
            return interface
    return Interface()


def _node_classes(tree: Any, file: str) -> list[Any]:
    """The classes of a module that may be its node, as pick_class would choose: by name, else by what they inherit."""
    import ast

    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    name = plain(os.path.basename(file).removesuffix(".py"))
    named = [node for node in classes if plain(node.name) in (name, name + "node")]
    nodes = [node for node in classes if any(ast.unparse(base).endswith("Node") for base in node.bases)]
    return named or nodes or classes


def plain(name: str) -> str:
    """A name without what only its spelling adds."""
    return name.replace("-", "").replace("_", "").lower()


def in_words(error: BaseException) -> str:
    """What a file of Python that does not load raises."""
    if isinstance(error, SystemExit):
        return f"it calls exit({error.code})"
    place = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    what = str(getattr(error, "msg", error))
    return ": ".join(part for part in (type(error).__name__, what) if part) + place


def read_python(file: str) -> Interface:
    """The interface in a user's own file; an open one, with the fault, where it is prose or has another grammar."""
    from pflow.interface import Interface

    try:
        return read_interface(file)
    except PflowError as error:
        if not error.message.startswith("cannot parse the interface"):
            raise
        interface = Interface()
        interface.fault = error.message
        return interface


def source_version(file: str) -> str:
    """The version that a node's source states, else the one that every node has."""
    with open(file, "rb") as source:
        _, found, after = source.read().partition(b'\n    version = "')
    return after.partition(b'"')[0].decode("ascii", "replace") if found else "1.0.0"
