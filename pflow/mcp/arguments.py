"""The arguments of a call as the words and the store document of a child.

What a client gives is data. Reads go into the store, which is never scanned for templates; what has to be a flag, a
param or what only one step of a flow takes, stands after its `=` in one word, and is verbatim.
"""

from __future__ import annotations

import os
from typing import Any

from pflow.binding.sources import assign
from pflow.catalog.discovery import BUNDLED
from pflow.errors import BAD_DATA, PflowError
from pflow.jsontext import decode, encode
from pflow.mcp import child
from pflow.mcp.offered import STDIN, Offered
from pflow.mcp.schema import check_arguments
from pflow.paths import write_path
from pflow.types import Type

_LONGEST = 120_000
"""Bytes of a word: Linux takes 128 KiB."""


def call_of(offered: Offered, arguments: dict[str, Any]) -> tuple[list[str], bytes]:
    """The words and the stdin of a child.

    Raises PflowError: 2 for arguments that do not fit the schema, 65 for what JSON or a flag cannot hold.
    """
    given = {name: value for name, value in arguments.items() if value is not None or not _is_optional(offered, name)}
    check_arguments(offered.name, offered.input_schema, given)
    store: dict[str, Any] = {}
    words = _of_flow(offered, given, store) if offered.is_flow else _of_node(offered, given, store)
    header = {"v": 1, "last": STDIN} if offered.is_flow and STDIN in store else {"v": 1}
    return words, encode({"$pflow": header, **store}, escape=False) + b"\n"


def _is_optional(offered: Offered, name: str) -> bool:
    return name in offered.inputs and not offered.inputs[name].required


def _of_node(offered: Offered, given: dict[str, Any], store: dict[str, Any]) -> list[str]:
    kind = offered.kind
    begin = [child.BUNDLED, kind.name] if kind.origin == BUNDLED else [child.FILE, kind.file, kind.name]
    words = [*begin, "-j", "--verbatim"]
    for name, value in given.items():
        if offered.inputs[name].kind == "read":
            store[name] = value
            words.append(f"--map-in={name}={write_path((name,))}")  # also where a read is [explicit]
        else:
            words.append(_flag(name, offered.inputs[name].type, value))
    return words


def _of_flow(offered: Offered, given: dict[str, Any], store: dict[str, Any]) -> list[str]:
    words = [child.FLOW, offered.kind.file, "-j"]
    inputs = offered.flow.inputs
    for name, value in given.items():
        known = inputs.get(name)
        if known is not None and known.step is None:
            assign(store, known.path, value)
        elif known is None and name == STDIN:
            store[name] = value
        else:
            flag = ".".join(known.readers[0]) if known else name
            words.append(_flag(flag, offered.inputs[name].type, value))
    return words


def _flag(name: str, type: Type, value: Any) -> str:
    """A flag and its value in one word, as the type of what it gives reads a flag's text."""
    try:
        text = value if isinstance(value, str) else _text_of(type, value)
    except ValueError as error:
        raise PflowError(f"cannot take '{name}': {error}", exit=BAD_DATA) from None
    if "\0" in text:
        raise PflowError(f"cannot take '{name}': it holds a NUL", exit=BAD_DATA)
    if len(text.encode("utf-8", "surrogateescape")) > _LONGEST:
        raise PflowError(f"cannot take '{name}': it is longer than {_LONGEST:,} bytes", exit=BAD_DATA)
    return f"--{name.replace('_', '-')}={text}"


def _text_of(type: Type, value: Any) -> str:
    data = encode(value, escape=False)
    if type.name == "bytes":
        return os.fsdecode(decode(data))
    if type.name == "int" and isinstance(value, float):  # JSON has one kind of number
        return str(int(value))
    return str(data, "utf-8")
