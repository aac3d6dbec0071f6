"""The two ways to find a store's members: by line, where one of ours wrote it, and by parsing, where another did."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import BAD_DATA, PflowError
from pflow.scanner import WHITESPACE, ScanError, scan_loosely, scanstring

if TYPE_CHECKING:
    from collections.abc import Iterator

    Piece = bytes | memoryview

MARK = b'"$pflow"'
_LINE_MARK = b'{"$pflow":{'
_LONGEST_KEY = 4096

# How a value ends that begins so; any other is a number, true, false or null, and short.
_ENDS = {ord('"'): ord('"'), ord("{"): ord("}"), ord("["): ord("]")}
_SCALAR = frozenset(b"0123456789+-.eEtrufalsn")


class Member:
    """One member as the bytes it came in: `pieces` are `"key":value`, without what separates it from the next."""

    __slots__ = ("pieces", "start")

    def __init__(self, pieces: list[Piece], start: int) -> None:
        self.pieces = pieces
        self.start = start

    def value(self) -> bytes:
        """The JSON text of the value, in one piece."""
        return b"".join(self.pieces)[self.start :]


Members = dict[str, Member]


class Misfit(Exception):
    """This is not the layout that was looked for."""


def is_marked(chunks: list[bytes]) -> bool:
    """Whether the input begins like an object and holds the bytes that may mark a store."""
    if not chunks or not chunks[0].startswith(b"{"):
        return False
    if any(MARK in chunk for chunk in chunks):
        return True
    return any(MARK in chunks[n - 1][-len(MARK) :] + chunks[n][: len(MARK)] for n in range(1, len(chunks)))


def split_lines(chunks: list[bytes]) -> tuple[bytes, Members]:
    """The header's JSON text and the members of a document with one member a line, none decoded.

    Raises Misfit when the document is laid out in any other way, or cut.
    """
    if not chunks[0].startswith(_LINE_MARK):
        raise Misfit
    lines = list(_lines(chunks))
    if len(lines) < 3 or lines[-1] or b"".join(lines[-2]) != b"}":
        raise Misfit
    header = b"".join(lines[0])
    members: Members = {}
    for number, pieces in enumerate(lines[1:-2], 2):
        key, member = _member(pieces, last=number == len(lines) - 2)
        if key in members:
            raise _duplicate(key)
        members[key] = member
    if len(lines) > 3:
        if not header.endswith(b"},"):
            raise Misfit
        header = header[:-1]
    return header[len(_LINE_MARK) - 1 :], members


def _lines(chunks: list[bytes]) -> Iterator[list[Piece]]:
    """Each line in the pieces that the chunks cut it into; the last is what follows the last newline."""
    pieces: list[Piece] = []
    for chunk in chunks:
        view = memoryview(chunk)
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            pieces.append(view[start:end])
            yield pieces
            pieces = []
            start = end + 1
        if start < len(chunk):
            pieces.append(view[start:])
    yield pieces


def _member(pieces: list[Piece], *, last: bool) -> tuple[str, Member]:
    pieces = [piece for piece in pieces if piece]
    if not last:
        if not pieces or pieces[-1][-1] != ord(","):
            raise Misfit
        pieces[-1] = pieces[-1][:-1]
        if not pieces[-1]:
            del pieces[-1]
    key, start = _key(b"".join([bytes(piece[:_LONGEST_KEY]) for piece in pieces[:2]]) if pieces else b"")
    member = Member(pieces, start)
    _check_ends(member)
    return key, member


def _key(head: bytes) -> tuple[str, int]:
    end = head.find(b'"', 1)
    if not head.startswith(b'"') or end < 0:
        raise Misfit
    if b"\\" in head[:end]:
        return _escaped_key(head)
    if head[end + 1 : end + 2] != b":":
        raise Misfit
    try:
        return str(head[1:end], "utf-8"), end + 2
    except UnicodeDecodeError:
        raise Misfit from None


def _escaped_key(head: bytes) -> tuple[str, int]:
    text = str(head, "utf-8", "surrogateescape")
    try:
        key, end = scanstring(text, 1)
        start = len(text[:end].encode("utf-8", "surrogateescape")) + 1
        key.encode()
    except ValueError:
        raise Misfit from None
    if text[end : end + 1] != ":":
        raise Misfit
    return key, start


def _check_ends(member: Member) -> None:
    """A value whose first and last byte do not belong together was cut by a newline of another layout."""
    length = sum(map(len, member.pieces)) - member.start
    if length <= 0:
        raise Misfit
    first, last = _first_byte(member), member.pieces[-1][-1]
    if first in _ENDS:
        if last != _ENDS[first] or length < 2:
            raise Misfit
    elif length > 400 or not _SCALAR.issuperset(member.value()):
        raise Misfit


def _first_byte(member: Member) -> int:
    at = member.start
    for piece in member.pieces:
        if at < len(piece):
            return piece[at]
        at -= len(piece)
    raise Misfit


def parse_whole(data: bytes) -> tuple[bytes | None, Members]:
    """The same of an object in any JSON layout; no header when its top level has none. Raises PflowError (65)."""
    text = _text(data)
    _expect(text, 0, "{")
    members: Members = {}
    header = None
    at = _skip(text, 1)
    closed = text.startswith("}", at)
    while not closed:
        key, value_start = _parse_key(text, at)
        value_end = _parse_value(text, value_start)
        raw = _on_one_line(text[value_start:value_end])
        if key in members or (key == "$pflow" and header is not None):
            raise _duplicate(key)
        if key == "$pflow":
            header = raw
        else:
            name = text[at : _skip_key(text, at)].encode()
            members[key] = Member([name + b":" + raw], len(name) + 1)
        at = _skip(text, value_end)
        closed = text.startswith("}", at)
        if not closed:
            at = _skip(text, _expect(text, at, ","))
    if text[at + 1 :].strip(WHITESPACE):
        raise _broken(text, at + 1, "something follows the document")
    return header, members


def _text(data: bytes) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError as error:
        raise _broken_at(error.start, "it is not UTF-8") from None


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in WHITESPACE:
        at += 1
    return at


def _skip_key(text: str, at: int) -> int:
    return int(scanstring(text, at + 1)[1])


def _parse_key(text: str, at: int) -> tuple[str, int]:
    """The key that begins at `at`, and where its value begins."""
    _expect(text, at, '"')
    try:
        key, end = scanstring(text, at + 1)
        key.encode()
    except ValueError as error:
        raise _broken(text, getattr(error, "pos", at), "a key does not parse") from None
    return key, _skip(text, _expect(text, _skip(text, end), ":"))


def _parse_value(text: str, at: int) -> int:
    try:
        return scan_loosely(text, at)[1]
    except ValueError as error:
        is_deep = isinstance(error, ScanError) and error.is_deep
        why = "a value is nested too deeply" if is_deep else "a value does not parse"
        raise _broken(text, getattr(error, "pos", at), why) from None


def _expect(text: str, at: int, sign: str) -> int:
    if not text.startswith(sign, at):
        raise _broken(text, at, f"no {sign} here")
    return at + 1


def _on_one_line(raw: str) -> bytes:
    """A value without its line breaks and indentation, which JSON allows only between its tokens."""
    return "".join([line.strip(WHITESPACE) for line in raw.replace("\r", "\n").split("\n")]).encode()


def _broken(text: str, at: int, why: str) -> PflowError:
    end = text.rstrip(WHITESPACE)
    if at >= len(end):
        why = "it ends early"
    return _broken_at(len(text[:at].encode("utf-8", "replace")), why, is_whole=end.endswith("}"))


def _broken_at(offset: int, why: str, *, is_whole: bool = True) -> PflowError:
    return PflowError(
        f"cannot read the document on stdin: {why}, at byte {offset}",
        hint="--from=text takes it as text" if is_whole else "was the command before it cut short?",
        exit=BAD_DATA,
    )


def _duplicate(key: str) -> PflowError:
    return PflowError(f"cannot read the document on stdin: the key '{key}' stands in it twice", exit=BAD_DATA)
