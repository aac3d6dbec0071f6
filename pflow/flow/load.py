"""Loading a flow from a file or a text, with the findings about its shape; and JSON files in general."""

from __future__ import annotations

import os

from pflow import Any
from pflow.catalog.kinds import Catalog
from pflow.errors import BAD_DATA, MISSING, Attempt, PflowError
from pflow.flow.flow import FlowSpec
from pflow.process.start import beginning
from pflow.text.printable import clause
from pflow.values.encoding import text_in
from pflow.values.jsontext import WHITESPACE, ScanError, decode, is_deeper, scan_without_duplicates
from pflow.values.paths import kind_of


def load_file(file: str, catalog: Catalog | None = None) -> FlowSpec:
    """Load the flow in a file: JSON, pipe syntax or a shell script of pipes; without `catalog` of nodes only.

    Raises PflowError (65, 66, 77; 2 for pipe syntax and scripts).
    """
    is_kept = is_lasting(file)
    catalog = (catalog or Catalog()).at(os.path.dirname(file) or "." if is_kept else ".")
    text = read_text(file, f"the flow '{file}'")
    if is_kept and is_script(file):
        from pflow.flow.pipe.script import read_script

        flow = read_script(text, catalog)
    else:
        flow = load_text(text, file, catalog)
    flow.file = file if is_kept else ""
    return flow


def is_lasting(file: str) -> bool:
    """Return True for a file that can be read again by its name: no FIFO, no device, no descriptor (`<(…)`)."""
    return os.path.isfile(file) and not file.startswith(("/dev/", "/proc/"))


def is_script(file: str) -> bool:
    """Return True for a shell script, by its name or its first line."""
    first = beginning(file).partition(b"\n")[0]
    return file.endswith(".sh") or (first.startswith(b"#!") and any(word.endswith(b"sh") for word in first.split()))


_MOST = 64 * 1024 * 1024
"""Bytes of the longest flow: a device may never end."""


def read_text(file: str | int, what: str) -> str:
    """Read a file, or a descriptor, which stays open; drop a byte order mark. Raises PflowError as `load_file` does."""
    from pflow.catalog.packs import pack_of, verified

    act = f"cannot read {what}"
    if isinstance(file, str) and (pack := pack_of(os.path.abspath(file))):
        return text_in(verified(pack, file), act).removeprefix("\ufeff")
    with Attempt(act), open(file, "rb", closefd=isinstance(file, str)) as opened:
        data = opened.read(_MOST + 1)
    if len(data) > _MOST:
        raise PflowError(f"{act}: it has more than 64 MB", exit=BAD_DATA)
    return text_in(data, act).removeprefix("\ufeff")


def load_text(text: str, name: str, catalog: Catalog | None = None) -> FlowSpec:
    """Load the flow in a text, as `load_file` does; `name` is for errors. Raises PflowError (65; 66 if it is empty)."""
    if not text.strip():
        raise PflowError(f"cannot read the flow '{name}': it is empty", exit=MISSING)
    if name.endswith(".json") or text.lstrip()[0] in '{["':  # pipe syntax begins with a node's name
        return load_document(parse_json(text, name), name, catalog)
    from pflow.flow.pipe.read import parse_pipe

    return parse_pipe([text], catalog)


def load_document(document: Any, name: str, catalog: Catalog | None = None) -> FlowSpec:
    """Load the flow in a decoded JSON document. Raises PflowError (65) if it is not an object."""
    if not isinstance(document, dict):
        what = f"cannot read the flow '{name}': it holds {kind_of(document)}, not a dict"
        raise PflowError(what, hint='a flow is {"nodes": [{"type": "…"}]}', exit=BAD_DATA)
    from pflow.flow.build import build_flow
    from pflow.flow.schema import check_shape

    sound, findings = check_shape(document)
    flow = build_flow(sound)
    flow.findings, flow.document = findings, document
    flow.catalog = catalog or flow.catalog
    return flow


LEVELS = 100
"""How deep lists and objects may be nested."""

_SHOWN = 30
"""How many characters of a line are shown on either side of an error."""


def parse_json(text: str, name: str, what: str = "flow") -> Any:
    """Parse a JSON text. Raises PflowError (65) with the line and column of the first error."""
    try:
        return _parse(text)
    except ValueError as error:
        raise PflowError(f"cannot read the {what} '{name}': {_fault(text, error)}", exit=BAD_DATA) from None


def _parse(text: str) -> Any:
    value, end = scan_without_duplicates(text, len(text) - len(text.lstrip(WHITESPACE)))
    rest = text[end:].lstrip(WHITESPACE)
    if rest:
        raise ScanError("the JSON ends before this", len(text) - len(rest))
    if is_deeper(value, LEVELS):
        raise ValueError(f"it is nested more than {LEVELS} levels deep")
    data = text.encode()
    return decode(data) if '$bytes"' in text or "\\u" in text else value


def _fault(text: str, error: ValueError) -> str:
    """Say what is wrong and, if known, where: `line 2, column 9: a comma or bracket is missing: "a": 1 ^ "b": 2`."""
    at: int | None = getattr(error, "pos", None)
    if at is None:
        return str(error)
    before, after = text[:at].rpartition("\n")[2], text[at:].partition("\n")[0]
    what = str(getattr(error, "msg", error))
    line, column = text.count("\n", 0, at) + 1, len(before) + 1
    shown = " ".join(f"{before[-_SHOWN:]} ^ {after[:_SHOWN]}".split())
    return f"line {line}, column {column}: {clause(what)}: {shown}"
