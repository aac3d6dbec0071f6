"""A node's or flow's code as digests: of its file and, for a user's own Python file, of each file that it imports."""

from __future__ import annotations

import os
import sys

from pflow import Any, __version__
from pflow.cache.directory import digest_of_file, remembered
from pflow.catalog.node_type import FLOW, PYTHON, NodeType
from pflow.errors import PflowError, reason_of
from pflow.values.digest import digest_of
from pflow.values.jsontext import decode


class Code:
    """The code of a node type: `parts` are digests by file and versions by distribution; `digest` covers all of them.

    If they cannot be found, `digest` is None, and `fault` says why.
    """

    __slots__ = ("digest", "fault", "key_parts", "parts")

    def __init__(self, parts: dict[str, str], fault: str = "") -> None:
        self.parts = parts
        self.fault = fault
        self.key_parts: dict[tuple[str, str], Any] = {}
        """The parts of a key that are the same on each visit, by node and version (pflow.cache.key)."""
        self.digest = None if fault else digest_of(sorted([*part] for part in parts.items()))


def code_of(node_type: NodeType) -> Code:
    """Return the code of a node type.

    It is read only the first time, so it describes what this process may have loaded, not a later edit.
    """
    code: Code | None = node_type.code
    if code is None:
        code = node_type.code = _find(node_type)
    return code


def is_current(node_type: NodeType) -> bool:
    """Return True if a node type's code is still what `code_of` read.

    A file may change before the running node imports it.
    """
    return _find(node_type).parts == code_of(node_type).parts


def pack_part(pack: Any) -> str:
    """Return the name of the part of a node's code that identifies the tree and version of its pack."""
    return f"pack {pack.name}"


def _find(node_type: NodeType) -> Code:
    code = _of_file(node_type)
    if code.fault or node_type.pack is None:
        return code
    pack = node_type.pack
    return Code({**code.parts, pack_part(pack): f"{pack.tree[:12]} {pack.version}".strip()})


def _of_file(node_type: NodeType) -> Code:
    try:
        if node_type.origin == FLOW:
            return _of_flow(node_type)
        if node_type.origin == PYTHON:
            return _of_python(node_type)
        return Code({os.path.basename(node_type.file): digest_of_file(node_type.file)})
    except (PflowError, OSError, ValueError) as error:
        return Code({}, f"'{node_type.file}' cannot be read: {reason_of(error)}")


def _of_flow(node_type: NodeType) -> Code:
    """Digest a flow's JSON, whatever its layout, and the code of its nodes."""
    from pflow.values.fast_json import write_json

    parts = {}
    if node_type.file:  # a flow inside a step has no file: the outer flow's file contains its text
        with open(node_type.file, "rb") as file:
            layout = write_json(decode(file.read()), sort=True)
        parts[os.path.basename(node_type.file)] = digest_of(decode(layout.encode()))
    for inner in node_type.parts():
        code = code_of(inner)
        if code.fault:
            return Code({}, f"{inner.name}: {code.fault}")
        parts |= {f"{inner.name}/{name}": digest for name, digest in code.parts.items()}
    return Code(parts)


def _of_python(node_type: NodeType) -> Code:
    if not os.path.isfile(node_type.file):
        return Code({}, "its class is in no file")
    if node_type.is_loaded and "<locals>" in node_type.node_class().__qualname__:
        return Code({}, "its class is made in a function")
    parts, fault = remembered(["python", __version__, node_type.file, *sys.path], lambda: _read_python(node_type.file))
    return Code(parts, fault)


def _read_python(file: str) -> tuple[Any, Any]:
    from pflow.cache.python_code import PythonCode

    code = PythonCode(file)
    return [code.parts, code.fault], code.watched
