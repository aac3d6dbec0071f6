"""A node's class in a file of Python: its interface and version, read and never run."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import BAD_DATA, PflowError
from pflow.words.printable import clean

if TYPE_CHECKING:
    from typing import Any

    from pflow.interface.interface import Interface


def read_interface(file: str) -> Interface:
    """The interface in the docstring of a file's class; an open one where that says nothing.

    Raises PflowError (65) for one that does not parse, OSError for a file that cannot be read.
    """
    from pflow.interface.interface import Interface

    return next(filter(None, (_declared(node, file) for node in _node_classes(_parse(file), file))), Interface())


def read_python(file: str) -> Interface:
    """The interface in a user's own file; what its code shows where the docstring says nothing, or says it in prose."""
    from pflow.interface.interface import Interface

    classes = _parse(file)
    nodes = _node_classes(classes, file)
    node = next((each for each in nodes if _docstring(each)), nodes[0] if nodes else None)
    return _shown(node, classes, file) if node else Interface()


def read_class(name: str, file: str) -> Interface | None:
    """As `read_python`, of the class of this name; None where the file has none."""
    classes = _parse(file)
    return _shown(classes[name], classes, file) if name in classes else None


def _shown(node: Any, classes: dict[str, Any], file: str) -> Interface:
    """The interface of one of the classes: its docstring's, else what its code shows."""
    from pflow.interface.class_code import read_code
    from pflow.interface.grammar import parse_interface
    from pflow.interface.interface import Interface

    try:
        interface = _declared(node, file) or Interface()
    except PflowError as error:
        if not error.message.startswith("cannot parse the interface") or "[secret]" in _docstring(node):
            raise
        interface = parse_interface(_docstring(node).partition("Interface:")[0])
        interface.fault = error.message
    if interface.open:
        read_code(node, classes, interface)
    return interface


def _declared(node: Any, file: str) -> Interface | None:
    """The interface in a class's docstring; None without one."""
    import ast

    from pflow.interface.grammar import parse_interface

    if not _docstring(node):
        return None
    interface = parse_interface(_docstring(node), file=file, first_line=node.body[0].lineno)
    interface.flow_safe = any("flow_safe" in ast.unparse(each) for each in node.decorator_list)
    if interface.flow_safe and interface.effects:
        raise PflowError(f"cannot read the node '{file}': what is flow_safe has no effects", exit=BAD_DATA)
    return interface


def _docstring(node: Any) -> str:
    import ast

    return ast.get_docstring(node, clean=False) or ""


def _parse(file: str) -> dict[str, Any]:
    """The classes of a file, by name. Raises PflowError (65) where it is no Python, OSError."""
    import ast

    with open(file, encoding="utf-8-sig", errors="replace") as source:
        text = source.read()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two are for what is too deep
        raise PflowError(f"cannot read the node '{file}': {in_words(error)}", exit=BAD_DATA) from None
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _node_classes(classes: dict[str, Any], file: str) -> list[Any]:
    """The classes of a file that may be its node, as pick_class would choose: by name, else by what they inherit."""
    import ast

    name = plain(os.path.basename(file).removesuffix(".py"))
    named = [node for each, node in classes.items() if plain(each) in (name, name + "node")]
    nodes = [node for node in classes.values() if any(ast.unparse(base).endswith("Node") for base in node.bases)]
    return named or nodes or [*classes.values()]


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


def source_version(file: str) -> str:
    """The version that a node's source states, else the one that every node has."""
    with open(file, "rb") as source:
        _, found, after = source.read().partition(b'\n    version = "')
    return clean(after.partition(b'"')[0].decode("ascii", "replace")) if found else "1.0.0"
