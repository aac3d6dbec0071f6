"""The two ways to find a store's members: by line, where one of ours wrote it, and by parsing, where another did."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import BAD_DATA, PflowError
from pflow.jsontext import WHITESPACE, ScanError, check_text, scan, scanstring

if TYPE_CHECKING:
    Piece = bytes | memoryview
    Members = dict[str, Piece]
    """The JSON text of each key's value."""

MARK = b'"$pflow"'

# How a value ends that begins so; any other is a number, true, false or null.
_ENDS = {ord('"'): ord('"'), ord("{"): ord("}"), ord("["): ord("]")}
_SCALAR = b"0123456789+-.eEtrufalsn"


def split_lines(data: bytes) -> tuple[bytes, Members] | None:
    """The header's JSON text and the members of a document with one member a line; None for any other layout."""
    end, last = data.find(b"\n"), len(data) - 3
    if not data.startswith(b'{"$pflow":{') or not data.endswith(b"\n}\n") or _has_comma(data, end) != (end < last):
        return None
    header = data[len(b'{"$pflow":') : end - (end < last)]
    if not header.endswith(b"}"):
        return None
    view = memoryview(data)
    members: Members = {}
    while end < last:
        start, end = end + 1, data.index(b"\n", end + 1)
        colon = data.find(b'":', start + 1, end) + 1
        value = view[colon + 1 : end - (end < last)]
        if not colon or data[start] != ord('"') or _has_comma(data, end) != (end < last) or not _is_whole(value):
            return None
        key = data[start + 1 : colon - 1]
        if b"\\" in key or b'"' in key or not _is_utf8(key):
            return None
        _add(members, str(key, "utf-8"), value)
    return header, members


def _has_comma(data: bytes, end: int) -> bool:
    return data[end - 1] == ord(",")


def _is_whole(value: memoryview) -> bool:
    """Whether a value's first and last byte belong together; else a newline of another layout has cut it."""
    if len(value) > 1 and value[0] in _ENDS:
        return value[-1] == _ENDS[value[0]]
    return len(value) > 0 and not bytes(value).strip(_SCALAR)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def parse_whole(data: bytes) -> Members:
    """The members of an object in any JSON layout, the header among them. Raises PflowError (65)."""
    try:
        text = str(data, "utf-8")
        return _parse_members(text)
    except UnicodeDecodeError as error:
        why, place = "it is not UTF-8", f", at byte {error.start}"
    except ValueError as error:
        why, at = str(getattr(error, "msg", error)).lower(), getattr(error, "pos", None)
        place = "" if at is None else f", at byte {len(text[:at].encode('utf-8', 'replace'))}"
    is_cut = not data.rstrip().endswith(b"}")
    raise PflowError(
        f"cannot read the document on stdin: {why}{place}",
        hint="was the command before it cut short?" if is_cut else "--from=text takes it as text",
        exit=BAD_DATA,
    )


def _parse_members(text: str) -> Members:
    members: Members = {}
    at = _skip(text, _expect(text, 0, "{"))
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
    if text[at + 1 :].strip(WHITESPACE):
        raise ScanError("something follows the document", at + 1)
    return members


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in WHITESPACE:
        at += 1
    return at


def _expect(text: str, at: int, character: str) -> int:
    if not text.startswith(character, at):
        raise ScanError(f"no {character} here", at)
    return at + 1


def _on_one_line(raw: str) -> bytes:
    """A value without its line breaks and indentation, which JSON allows only between its tokens."""
    return "".join([line.strip(WHITESPACE) for line in raw.replace("\r", "\n").split("\n")]).encode()


def _add(members: Members, key: str, value: Piece) -> None:
    if key in members:
        raise PflowError(f"cannot read the document on stdin: the key '{key}' stands in it twice", exit=BAD_DATA)
    members[key] = value
