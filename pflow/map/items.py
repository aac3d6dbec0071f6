"""The items of a map, read as a stream from files and stdin."""

import codecs
import os
import random
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

import orjson  # noqa: F401  fast_json uses it if it is there

from pflow.binding.sources import find, has
from pflow.errors import BAD_DATA, MISSING, USAGE, Attempt, PflowError
from pflow.files.beneath import mode_of, open_file
from pflow.files.file_paths import read_failure
from pflow.files.listing import list_paths
from pflow.files.reading import file_digest, read_part
from pflow.interface.common import ALLOW_EMPTY
from pflow.interface.interface import spell_flag
from pflow.process.streams import is_readable
from pflow.stage.document import Document, empty_pipe, read_document
from pflow.stage.layout import BEGINNING, split_rows
from pflow.tables.csv_text import stream_csv
from pflow.tables.source import suffix_of, unpack
from pflow.values.digest import digest_of
from pflow.values.encoding import not_utf8, remedy, split_encoding, wide_codec
from pflow.values.fast_json import decode
from pflow.values.jsontext import path_value, text_or_bytes
from pflow.values.types import items_in

FORMS = ("jsonl", "json", "csv", "lines", "nul", "files")
MOST = 1 << 30
"""The most bytes of an item."""

_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".txt": "lines"}
_SUFFIXES |= dict.fromkeys((".csv", ".tsv", ".tab", ".xlsx"), "csv")
_PART = 1 << 16
_BLANK = b" \t\r\n"
_CONTROLS = bytes({*range(1, 32)} - {27, *range(7, 14)})
_STORE = re.compile(rb'\s*(?:\[\s*)?\{\s*"\$pflow"\s*:')
_WIDE_LINES = re.compile(rb"\A\0*[{\[]|\n\0|\0\n")
"""Matches JSON or lines in UTF-16, and not a list of single letters that end with NUL (xargs -0)."""
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[\[\]{},]', re.DOTALL)
"""A string or a bracket, by which the end of an item of a JSON array is found. A string that goes on has no last quote.
"""
_IN_LINES = "jq -c '.rows[]' writes the items of a list as lines, --from=jsonl reads them"


class BadItem(PflowError):
    """An item that cannot be read; `text` is its source. In the file of --errors it is {"$bad": text}."""

    def __init__(self, message: str, text: str | bytes) -> None:
        super().__init__(message, exit=BAD_DATA)
        self.text = text if isinstance(text, str) else text_or_bytes(text)


class Items:
    """The items that the words of a command line name: files, patterns of files, or `-` for stdin (the default).

    Raises PflowError: 2 for a terminal, and for a file whose name does not tell the form; 66 for a missing file, and
    for an empty pipe unless `allow_empty`.
    """

    def __init__(self, words: list[str], form: str = "", encoding: str = "", *, allow_empty: bool = False) -> None:
        words = words or ["-"]
        self.is_stdin = any(map(_is_stream, words))
        self.while_idle: Callable[[int], None] | None = None
        """Called with the descriptor of a stream before each part of it is read; raises to end the reading."""
        self._encoding = encoding
        self._allow_empty = allow_empty
        self._tells = True
        self.before = Document()
        """The store on stdin, or the mark that a map writes after its rows. Its header says how that program ended."""
        self._sources = [(word, _form_of(word, form, is_only=len(words) == 1)) for word in words]

    def count(self) -> int | None:
        """Return their number, the bad ones included; None if they can be read only once."""
        return None if self.is_stdin else sum(1 for _ in self._read(len))

    def __iter__(self) -> Iterator[Any]:
        # Only the first reading warns: an estimate reads the items before the run does.
        tells, self._tells = self._tells, False
        return self._read(decode, tells=tells)

    def check_end(self) -> None:
        """Raise PflowError if the program before failed, with its store if it came through a pipe."""
        if failed := self.before.header.get("error"):
            error = PflowError(str(failed.get("message", "")), exit=failed["exit"])
            # In a pipe, the program before has printed the failure itself.
            error.store = self.before if self.is_stdin else None
            raise error

    def digest(self) -> str:
        """Return a digest of the items; of a stream, which can be read only once, always the same."""
        paths = [] if self.is_stdin else self._paths(is_told=False)
        try:
            return digest_of([path if form == "files" else file_digest(path) for path, form in paths])
        except OSError:  # reading the items raises it again, with a message
            return ""

    def _paths(self, *, is_told: bool) -> Iterator[tuple[str, str]]:
        for word, form in self._sources:
            paths = [word]
            if _is_pattern(word):
                paths = list_paths(word, "/" if word.startswith("/") else ".", is_told=is_told)
            if not paths:
                raise PflowError(f"cannot read '{word}': no file matches", exit=MISSING)
            yield from ((path, form) for path in paths)

    def _read(self, read: Callable[[bytes], Any], *, tells: bool = False) -> Iterator[Any]:
        for path, form in self._paths(is_told=tells):
            if form == "files":
                yield path_value(path)
                continue
            act = f"cannot read '{_name_of(path)}'"
            is_workbook, parts = unpack(self._parts(path), act, is_table=form in ("", "csv"))
            encoding = "" if is_workbook else self._encoding
            parts = _recoded(parts, path, encoding) if encoding else parts
            items = self._items_in(parts, path, "csv" if is_workbook else form, read, tells)
            yield from (_fitting(item, path, encoding) for item in items) if encoding else items

    def _parts(self, path: str) -> Iterator[bytes]:
        reading = Attempt(f"cannot read '{_name_of(path)}'", read_failure)
        with reading, open(0 if path == "-" else open_file(path), "rb", buffering=0, closefd=path != "-") as file:
            waits = _is_stream(path)
            is_needed = waits and not self._allow_empty
            while True:
                if waits and self.while_idle:
                    self.while_idle(file.fileno())
                if not (part := read_part(file.fileno(), _PART)):
                    break
                is_needed = False
                yield part
        if is_needed:
            raise empty_pipe(f"{spell_flag(ALLOW_EMPTY)} takes it as no items")

    def _items_in(
        self, parts: Iterator[bytes], path: str, form: str, read: Callable[[bytes], Any], tells: bool
    ) -> Iterator[Any]:  # fmt: skip
        name, head = _name_of(path), b""
        while not head.strip(_BLANK) and len(head) < _PART and (part := next(parts, b"")):
            head = (head + part).removeprefix(b"\xef\xbb\xbf")
        codec = wide_codec(head)
        if codec and (not head.isascii() or _WIDE_LINES.search(head)):
            raise _fault(name, not_utf8(head), remedy(head))
        if form != "nul" and _is_binary(head):
            raise _fault(name, "it is not UTF-8 text", remedy(head))
        first = head.lstrip(_BLANK)[:1]
        form = form or ("nul" if b"\0" in head else {b"[": "json", b"{": "jsonl"}.get(first, "lines"))
        parts = chain([head], parts)
        if _STORE.match(head) and (
            form in ("json", "jsonl") or b'"error":{' in head
        ):  # a store and its failure, whatever --from says
            yield from self._carried(b"".join(parts), name)
        elif form == "json":
            if first != b"[":
                raise _fault(name, "it is not a list", _IN_LINES)
            for number, data in enumerate(_array(parts, name), 1):
                yield data if isinstance(data, BadItem) else _decoded(data, read, name, f"item {number}")
        elif form == "csv":
            pieces = self._rows(parts, b"\n", path)
            rows = (each for _, line in pieces for each in (line + b"\n").splitlines(keepends=True))
            for row in stream_csv(rows, name, available=head.count(b"\n"), teller="pflow map" * tells):
                yield BadItem(row[0].message, row[1]) if isinstance(row, tuple) else row
        elif form == "nul":
            yield from (text_or_bytes(text) for _, text in self._rows(parts, b"\0", path) if text)
        else:
            lines = ((number, line) for number, line in self._rows(parts, b"\n", path) if line.strip(_BLANK))
            if form == "lines":
                yield from (text_or_bytes(line.removesuffix(b"\r")) for _, line in lines)
            for number, line in lines:
                if number == 1 and line.strip(_BLANK) in (b"{", b"["):
                    raise _fault(name, "its first line is not a whole value", f"--from=json reads a list; {_IN_LINES}")
                yield _decoded(line, read, name, f"line {number}")

    def _carried(self, data: bytes, name: str) -> Iterator[Any]:
        """Yield the items of the list that a store carries; none if the pipe before was skipped or dry."""
        self.before = document = read_document(data) or Document()
        self.check_end()
        if document.header.get("skipped") or "dry" in document.header:
            return
        place = document.carried
        value = items_in(find(document, place)) if place and has(document, place) else None
        if not isinstance(value, list):
            raise _fault(name, "the store carries no list", "jq -c '.KEY[]' takes one out of it")
        yield from value

    def _rows(self, parts: Iterable[bytes], end: bytes, path: str) -> Iterator[tuple[int, bytes]]:
        """Yield the pieces of a source; leave out the mark that a map writes after its rows into a stream."""
        for number, piece in _pieces(parts, end, _name_of(path)):
            if piece.startswith(BEGINNING) and _is_stream(path) and (mark := split_rows(piece)[1]):
                self.before.header |= mark
            else:
                yield number, piece


def _name_of(path: str) -> str:
    return "stdin" if path == "-" else path


def _recoded(parts: Iterator[bytes], path: str, encoding: str) -> Iterator[bytes]:
    """Yield the parts of a text of another encoding in UTF-8; bytes that do not fit stay, and make an item bad."""
    codec, handler = split_encoding(encoding)
    handler = handler.replace("strict", "surrogateescape")
    try:
        yield from (part.encode("utf-8", "surrogateescape") for part in codecs.iterdecode(parts, codec, handler))
    except UnicodeError:
        raise _fault(_name_of(path), f"it is not {codec}") from None


def _fitting(item: Any, path: str, encoding: str) -> Any:
    """Return an item, or a BadItem if one of its bytes was not in the encoding."""
    why = f"it is not {encoding.partition(':')[0]}"
    if isinstance(item, BadItem):
        item.message = re.sub(r"it is not UTF-8 \(.*\)$", why, item.message)
    return BadItem(f"cannot read '{_name_of(path)}': {why}", item) if isinstance(item, bytes) else item


def _form_of(word: str, form: str, *, is_only: bool) -> str:
    """Return the form of the items that a word names; "" if their first bytes tell it."""
    if word == "-" and not is_readable("items"):
        raise PflowError("cannot read stdin: items come from a file or a pipe", hint="pflow map FLOW FILE", exit=USAGE)
    if _is_stream(word):
        return form.replace("files", "")
    suffix = suffix_of(word)
    known = _SUFFIXES.get(suffix, "") if is_only or suffix != ".txt" else ""
    form = form or ("files" if _is_pattern(word) else known)
    if not form and mode_of(word):
        names = f"{word.rstrip('/')}/**" if os.path.isdir(word) else f"*{os.path.splitext(word)[1]}"
        hint = f"'{names}' in quotes or --from=files takes the files, --from=lines the lines in them"
        raise PflowError(f"cannot tell what the items in '{word}' are", hint=hint, exit=USAGE)
    return form


def _is_stream(word: str) -> bool:
    return word == "-" or stat.S_ISFIFO(mode_of(word))


def _is_pattern(word: str) -> bool:
    return not {*"*?["}.isdisjoint(word) and not mode_of(word)


def _is_binary(head: bytes) -> bool:
    """Return True if most lines are binary. A single binary line is only a bad item."""
    lines = [line for line in head.split(b"\n") if line.strip(_BLANK)]
    odd = [line for line in lines if line.translate(None, _CONTROLS) != line]
    return sum("\ufffd" in line.decode(errors="replace") for line in odd) * 2 > len(lines)


def _fault(name: str, what: str, hint: str = "") -> PflowError:
    return PflowError(f"cannot read '{name}': {what}", hint=hint, exit=BAD_DATA)


def _decoded(data: bytes, read: Callable[[bytes], Any], name: str, place: str) -> Any:
    """Return an item from JSON; from a line of --errors, the item that failed."""
    try:
        item = read(data)
    except ValueError as error:
        why = f"it is not UTF-8 ({remedy(data)})" if isinstance(error, UnicodeDecodeError) else str(error)
        at = getattr(error, "start", getattr(error, "pos", None))
        column = "" if at is None else f", column {at + 1}"
        return BadItem(f"cannot read '{name}': {place}{column}: {why}", data.strip())
    if not isinstance(item, dict) or item.keys() != {"item", "error"}:
        return item
    failed = item["item"]
    is_bad = isinstance(failed, dict) and failed.keys() == {"$bad"} and isinstance(failed["$bad"], str | bytes)
    return BadItem(str(item["error"]), failed["$bad"]) if is_bad else failed


def _pieces(parts: Iterable[bytes], mark: bytes, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces between the marks as they come, numbered from 1."""
    begun: list[bytes] = []
    number = size = 0
    for part in chain(parts, [mark]):
        *ended, last = part.split(mark)
        if ended:
            ended[0] = b"".join([*begun, ended[0]])
            yield from enumerate(ended, number + 1)
            begun, number, size = [], number + len(ended), 0
        begun.append(last)
        size += len(last)
        if size > MOST:
            raise _fault(name, f"item {number + 1} has more than {MOST:,} bytes")


def _array(parts: Iterator[bytes], name: str) -> Iterator[bytes | BadItem]:
    """Yield the JSON text of each item of an array as it is read; a BadItem if the array ends within its last item."""
    data, at, depth, count = b"", 0, 0, 0
    while more := b"".join(islice(parts, 1 + len(data) // _PART)):
        data, begin = data + more, 0
        if len(data) > MOST:
            raise _fault(name, f"item {count + 1} has more than {MOST:,} bytes")
        for token in _TOKEN.finditer(data, at):
            at, mark = token.end(), data[token.start()]
            if mark in b"[{":
                depth += 1
                begin = at if depth == 1 else begin
            elif mark in b"]}":
                depth -= 1
            elif mark == ord('"') and not token[1]:
                at = token.start()
                break
            if depth == 0 or (depth == 1 and mark == ord(",")):
                item, begin = data[begin : token.start()].strip(_BLANK), at
                if item or count or depth:
                    count += 1
                    yield item
            if depth == 0:
                if data[at:].strip(_BLANK) or any(part.strip(_BLANK) for part in parts):
                    raise _fault(name, "something follows the list", f"--from=lines reads texts; {_IN_LINES}")
                return
        else:
            at = len(data)
        data, at = data[begin:], at - begin
    yield BadItem(f"cannot read '{name}': it ends in the middle of item {count + 1}", data)


class ItemSelection:
    """The items that a map takes, each after its number: all, the first `limit` ones, or of these a `sample` at random.

    A sample is drawn once. If the items `are_read_once`, their number is unknown before they run.
    """

    def __init__(self, items: Items, limit: int | None, sample: int | None) -> None:
        self.items = items
        self.limit = limit
        self.sample = sample
        self.are_read_once = items.is_stdin and sample is None
        self._begun: Iterable[tuple[int, Any]] | None = None

    def count(self) -> int | None:
        """Return their number; None if they come through a stream."""
        count = self.items.count()
        return None if count is None else min(each for each in (count, self.limit, self.sample) if each is not None)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        if self._begun is not None:
            return iter(self._begun)
        items: Iterable[tuple[int, Any]] = islice(enumerate(self.items), self.limit)
        if self.sample is not None:
            items = _sample(items, self.sample)
        self._begun = items if self.items.is_stdin or self.sample is not None else None
        return iter(items)

    def first(self) -> list[tuple[int, Any]]:
        """Return the first item of a stream, and leave it to be read again."""
        items = iter(self)
        first = [*islice(items, 1)]
        self._begun = chain(first, items)
        return first


def _sample(numbered: Iterable[tuple[int, Any]], size: int) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    for number, item in numbered:
        place = number if number < size else random.randrange(number + 1)
        if place < size:
            found[place : place + 1] = [(number, item)]
    return sorted(found, key=lambda each: each[0])
