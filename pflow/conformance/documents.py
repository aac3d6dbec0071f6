"""Store documents as the tests send them, and what a node answers, taken apart."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.jsontext import decode
from pflow.stage.document import Document, read_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

RUN = "01JD0000000000000000000000"
STEPS = [{"id": "before", "node": "before", "writes": {}}]


def document(members: Mapping[str, Any], last: str | None = None, **header: Any) -> bytes:
    """A store document in pflow's own layout; `last` is what the pipe carries."""
    about: dict[str, Any] = {"v": 1, "run": RUN, **({} if last is None else {"last": last}), "steps": STEPS, **header}
    made = Document(about)
    for key, value in members.items():
        made.set(key, value)
    return b"".join(map(bytes, made.pieces()))


def laid_out_otherwise(data: bytes) -> bytes:
    """The same document as another JSON tool might write it: indented, its header last."""
    import json

    members = json.loads(data)
    header = members.pop("$pflow")
    del header["members"]  # it counts the lines of our own layout
    return json.dumps({**members, "$pflow": header}, indent=3).encode() + b"\n\n"


class Answer:
    """A document that a node wrote: its header, its members by key, and what stood around it on stdout (`noise`)."""

    def __init__(self, document: Document, noise: bytes) -> None:
        self.header = document.header
        self.noise = noise
        self.members: dict[str, Any] = document.decoded()

    @property
    def error(self) -> dict[str, Any] | None:
        error = self.header.get("error")
        return error if isinstance(error, dict) else None

    @property
    def action(self) -> str:
        """The action that it returned, as the driver would read it."""
        steps = self.header.get("steps", [])
        last = steps[-1] if steps and isinstance(steps[-1], dict) else {}
        own = last if last.get("id") != STEPS[-1]["id"] else {}
        return str(own.get("action") or self.header.get("action") or "default")


def read_answer(stdout: bytes) -> Answer | str:
    """The document on stdout, or why there is none."""
    whole = _read(stdout)
    if isinstance(whole, Document):
        return _answer(whole, b"")
    begin = stdout.find(b'{"$pflow"')
    if begin < 0:
        return whole
    from pflow.scanner import scan_loosely

    text = str(stdout[begin:], "utf-8", "replace")
    try:
        _, end = scan_loosely(text)
    except ValueError:
        return whole
    body = text[:end].encode()
    inner = _read(body)
    return _answer(inner, stdout[:begin] + text[end:].strip().encode()) if isinstance(inner, Document) else inner


def _read(data: bytes) -> Document | str:
    try:
        return read_document([data.strip()] if data else []) or ("no document" if data.strip() else "nothing")
    except PflowError as error:
        return error.message.removeprefix("cannot read the document on stdin: ")


def _answer(document: Document, noise: bytes) -> Answer | str:
    try:
        return Answer(document, noise)
    except PflowError as error:
        return error.message


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, as jq writes them; 1 and true are not."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def as_value(json: str) -> Any:
    return decode(json.encode())
