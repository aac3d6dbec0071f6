"""A node's interface from its file, which is read and never run."""

from __future__ import annotations

import os

from pflow.errors import BAD_DATA, PflowError
from pflow.grammar import parse_interface
from pflow.interface import Interface

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEADER = 4096


def read_interface(file: str) -> Interface:
    """The interface of a node's file, which is read and never run: a docstring in Python, else leading comments."""
    with open(file, encoding="utf-8-sig", errors="replace") as source:
        if not file.endswith(".py"):
            text = source.read(_HEADER)
            is_commented = not file.endswith(".interface") or text.lstrip().startswith(_SIGNS)
            return parse_interface(strip_comments(text) if is_commented else text, file=file, first_line=1)
        text = source.read()
    return _from_python(text, file)


def _from_python(text: str, file: str) -> Interface:
    import ast

    try:
        tree = ast.parse(text)
    except SyntaxError as error:
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


_SIGNS = ("#!", "#", "//", "/*", "*/", "*", "--", ";")


def strip_comments(text: str) -> str:
    """A script's leading comments without their signs, line for line."""
    lines = []
    inside = False
    for line in text.split("\n"):
        bare = line.strip()
        sign = next((sign for sign in _SIGNS if bare.startswith(sign)), "")
        if bare and not sign and not inside:
            break
        inside = (inside or sign == "/*") and "*/" not in bare
        lines.append("" if sign == "#!" else _without_sign(bare, sign))
    return "\n".join(lines)


def _without_sign(line: str, sign: str) -> str:
    """A comment's text: its sign may stand there several times, but a dash may begin the text."""
    text = line.removeprefix(sign)
    if sign in ("#", "//", ";", "/*", "*"):
        text = text.lstrip(sign[-1])
    return text.removesuffix("*/").strip()


def plain(name: str) -> str:
    """A name without what only its spelling adds."""
    return name.replace("-", "").replace("_", "").lower()


def in_words(error: BaseException) -> str:
    """What a file of Python that does not load raises."""
    if isinstance(error, SystemExit):
        return f"it calls exit({error.code})"
    place = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    return f"{type(error).__name__}: {getattr(error, 'msg', error)}{place}"
