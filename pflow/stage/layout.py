"""Read a store: split it at its lines if pflow wrote it; parse it whole if another program did."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Callable
from pflow.errors import BAD_DATA, PflowError
from pflow.stage import VERSION, WRITER
from pflow.values.jsontext import (
    WHITESPACE,
    ScanError,
    check_text,
    encode,
    scan,
    scan_without_duplicates,
    scanstring,
    text_or_bytes,
)
from pflow.values.paths import parse_path

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")
    Piece = bytes | memoryview
    Members = dict[str, Piece]
    """The JSON text of each key's value."""

MARK = b'"$pflow"'
BEGINNING = b'{"$pflow":{'

# The last byte of a value by its first; any other value is a number, true, false or null.
_ENDS = {ord('"'): ord('"'), ord("{"): ord("}"), ord("["): ord("]")}
_SCALAR = b"0123456789+-.eEtrufalsn"

_MISSING = {
    ",": "a comma or bracket",
    ":": "a colon",
    '"': "a key in double quotes",
    "]": "a bracket",
    "{": "a brace",
}


def read_store(data: bytes) -> tuple[dict[str, Any], Members] | None:
    """Read the header and the members of a store; None if the data is raw. Raises PflowError (65) if it is broken."""
    if not data.startswith((b"{", b"[")) or MARK not in data:
        return None
    raw, members = split_lines(data) or (b"", {})
    header = _read_header(raw) if raw else {"members": -1}
    if header.get("members", len(members)) != len(members):  # jq has changed the layout: a line is not a member
        members = parse_whole(data)
        if "$pflow" not in members:
            return None
        header = _read_header(members.pop("$pflow"))
    for key in members:
        if key.startswith("$"):
            raise _unreadable(f"the key '{key}' begins with a $, which is reserved")
    _check_header(header)
    return header, members


def split_rows(data: bytes) -> tuple[bytes, dict[str, Any]]:
    """Return the rows of maps without marks, and the header of the marks, empty if none. Raises PflowError (65).

    A mark is a line that says how a map failed: a store without members whose header has an `error`, or the number of
    items that `failed`.
    """
    header: dict[str, Any] = {}
    may_have_mark = b"$" in data and not data.endswith(b"\n}\n")  # a store ends like this
    start = data.find(BEGINNING) if may_have_mark else -1
    while start >= 0:
        end = data.find(b"\n", start) + 1 or len(data)
        is_line = data[start - 1 : start] in (b"", b"\n", b"\0") and data[start:end].endswith((b"}}\n", b"}}"))
        found, members = (read_store(data[start:end]) if is_line else None) or ({}, {})
        if not members and not found.keys().isdisjoint(("error", "failed")):
            header |= found
            data, end = data[:start] + data[end:], start
        start = data.find(BEGINNING, end)
    return data, header


def split_lines(data: bytes) -> tuple[bytes, Members] | None:
    """Split a document with one member a line into header and members; None for any other layout."""
    end, last = data.find(b"\n"), len(data) - 3
    if not data.startswith(BEGINNING) or not data.endswith(b"\n}\n") or _has_comma(data, end) != (end < last):
        return None
    header = data[len(BEGINNING) - 1 : end - (end < last)]
    if not header.endswith(b"}"):
        return None
    view = memoryview(data)  # a slice of bytes would copy each value
    members: Members = {}
    while end < last:
        start, end = end + 1, data.index(b"\n", end + 1)
        colon = data.find(b'":', start + 1, end) + 1
        value = view[colon + 1 : end - (end < last)]
        if not colon or data[start] != ord('"') or _has_comma(data, end) != (end < last) or not _is_whole(value):
            return None
        key = text_or_bytes(data[start + 1 : colon - 1])
        if isinstance(key, bytes) or "\\" in key or '"' in key:  # escapes are left to the parser
            return None
        _add(members, key, value)
    return header, members


def _has_comma(data: bytes, end: int) -> bool:
    return data[end - 1] == ord(",")


def _is_whole(value: memoryview) -> bool:
    """Return True if a value's first and last byte match. If not, another layout has a newline inside the value."""
    if len(value) > 1 and value[0] in _ENDS:
        return value[-1] == _ENDS[value[0]]
    return len(value) > 0 and not bytes(value).strip(_SCALAR)


def parse_whole(data: bytes) -> Members:
    """Parse the members of an object in any JSON layout, including the header. Raises PflowError (65).

    A list may hold one store; if its first element is not a store, there are no members.
    """
    return _parse(data, "the document on stdin", _parse_document)


def parse_value(data: bytes) -> Piece:
    """Return the one JSON value in the data as a text on one line. Raises PflowError (65)."""
    return _parse(data, "stdin as JSON", _parse_value)


def _parse(data: bytes, what: str, parse: Callable[[str], T]) -> T:
    try:
        text = str(data, "utf-8")
        return parse(text)
    except UnicodeDecodeError:
        from pflow.values.encoding import not_utf8, remedy

        why = f"{not_utf8(data)}; {remedy(data)}"
    except ValueError as error:
        why, at = str(error), getattr(error, "pos", None)
        if at is not None:
            place = f"at byte {len(text[:at].encode('utf-8', 'replace'))}"
            why = why.replace("here", place) if " here " in why else f"{why}, {place}"
    end = _ENDS.get(data[0]) if data else None
    is_cut = end is not None and data.rstrip()[-1] != end
    raise PflowError(
        f"cannot read {what}: {why}",
        hint="was the command before it cut short?" if is_cut else "--from=text takes it as text",
        exit=BAD_DATA,
    )


def _parse_value(text: str) -> Piece:
    at = _skip(text, 0)
    end = scan(text, at)[1]
    if text[end:].strip(WHITESPACE):
        hint = "jq -s makes a list of several"
        raise PflowError("cannot read stdin as JSON: it has more than one value", hint=hint, exit=BAD_DATA)
    return _on_one_line(text[at:end])


def _parse_document(text: str) -> Members:
    is_listed = text.startswith("[")
    start = _skip(text, 1) if is_listed else 0
    members, at = _parse_members(text, start) if text.startswith("{", start) else ({}, start)
    if is_listed:
        if "$pflow" not in members:
            return {}
        at = _skip(text, at)
        if text.startswith(",", at):
            why = "it is a list of several elements, and the first is a store"
            raise PflowError(f"cannot read the document on stdin: {why}", hint="pass one store", exit=BAD_DATA)
        at = _expect(text, at, "]")
    if text[at:].strip(WHITESPACE):
        raise ScanError("something follows the document", at)
    return members


def _parse_members(text: str, start: int) -> tuple[Members, int]:
    """Parse the object that begins at an index; return its members and its end."""
    members: Members = {}
    at = _skip(text, _expect(text, start, "{"))
    is_done = text.startswith("}", at)
    while not is_done:
        key, end = scanstring(text, _expect(text, at, '"'))
        check_text(key)
        start = _skip(text, _expect(text, _skip(text, end), ":"))
        end = scan(text, start)[1]
        _add(members, key, _on_one_line(text[start:end]))
        at = _skip(text, end)
        is_done = text.startswith("}", at)
        if not is_done:
            at = _skip(text, _expect(text, at, ","))
    return members, at + 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in WHITESPACE:
        at += 1
    return at


def _expect(text: str, at: int, character: str) -> int:
    if not text.startswith(character, at):
        raise ScanError(f"{_MISSING[character]} is missing", at)
    return at + 1


def _on_one_line(raw: str) -> bytes:
    """Remove line breaks and indentation, which JSON allows only between tokens."""
    return "".join([line.strip(WHITESPACE) for line in raw.replace("\r", "\n").split("\n")]).encode()


def _add(members: Members, key: str, value: Piece) -> None:
    if key in members:
        raise PflowError(f"cannot read the document on stdin: the key '{key}' appears twice", exit=BAD_DATA)
    members[key] = value


def _read_header(raw: Piece) -> dict[str, Any]:
    try:
        text = str(raw, "utf-8")
        header, end = scan_without_duplicates(text, 0)
    except ValueError as error:
        raise _unreadable(f"its header does not parse: {error}") from None
    if end < len(text) or not isinstance(header, dict):
        raise _unreadable("its header is not an object")
    return header


_SHAPE: dict[str, type] = {"run": str, "last": str, "steps": list, "error": dict, "dry": list}
_SHAPE |= {"skipped": bool, "failed": int}


def _check_header(header: dict[str, Any]) -> None:
    """Refuse a header of another version, one of the wrong shape, and one that could not be passed on."""
    version = header.get("v")
    if isinstance(version, bool) or not isinstance(version, int | float) or version != VERSION:
        by = header.get("by", "an unknown program")
        found = f"version {version!r}" if "v" in header else "no version"
        why = f"it has {found}, written by {by}; this is {WRITER}, which reads version {VERSION}"
        raise _unreadable(why)
    for name, kind in _SHAPE.items():
        if name in header and not isinstance(header[name], kind):
            raise _unreadable(f"'{name}' in its header is not a {kind.__name__}")
    for path in [*header.get("dry", []), header.get("last", "none")]:
        try:
            parse_path(path)
        except (ValueError, TypeError, AttributeError):
            raise _unreadable(f"its header names {path!r} as a path") from None
    if "error" in header:
        code = header["error"].get("exit")
        if isinstance(code, bool) or not isinstance(code, int | float) or code not in range(1, 256):
            raise _unreadable("its header has an invalid exit code")
        header["error"]["exit"] = int(code)
    try:
        encode(header, escape=False)
    except PflowError as error:
        raise _unreadable(f"its header cannot be passed on: {error}") from None


def _unreadable(why: str) -> PflowError:
    return PflowError(f"cannot read the document on stdin: {why}", exit=BAD_DATA)
