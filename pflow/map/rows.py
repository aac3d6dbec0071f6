"""The stdout of a map: its results as rows of JSON, CSV or bare values, and after them its failure."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import IO, Any

from pflow.errors import CANNOT_WRITE, USAGE, Attempt, Ignoring, PflowError, not_written
from pflow.map.ledger import DONE, LedgerEntry
from pflow.process.children import feeds_pflow
from pflow.process.signals import ClosedPipe
from pflow.process.streams import write_pieces
from pflow.process.worker import say_once
from pflow.stage.document import Document
from pflow.stage.output import DOCUMENT, NOTHING, Output
from pflow.tables.csv_text import write_csv
from pflow.tables.rows import Row, columns_of, flatten, is_missing
from pflow.terminal.messages import clear_line
from pflow.values.fast_json import decode, encode
from pflow.values.jsontext import text_of

BLOCK = 1 << 16
"""The bytes that are written at once, unless the map waits for results."""

ERROR, WARNING = "error", "warning"

_MOST_WAITING = 1000
"""The most failed rows that wait for a row with outputs, which has the columns."""


class Rows:
    """Prints the results of a map. `write` takes bytes, and raises ClosedPipe once their reader is gone.

    `raw` prints the carried value alone, `nul` ends each row with NUL. `errors` is a file for the failed items, which
    are then not among the rows. The members of items whose names are in `secret` are not shown. Raises PflowError: 2
    for flags that exclude each other, 73 or 77 if `errors` cannot be written.
    """

    def __init__(
        self, form: str, *, raw: bool, nul: bool, in_order: bool, errors: str | None,
        write: Callable[[bytes], None], secret: Collection[str] = (), escapes: bool = False,
    ) -> None:  # fmt: skip
        self.encode = self._raw if raw else _record if form == "record" else _row
        self.table = Table(escapes) if form == "csv" and not raw else None
        if nul and self.table:
            raise PflowError("cannot end rows of CSV with NUL", hint="-0 is for jsonl, record and -r", exit=USAGE)
        self.nul = nul
        self.errors = _open_errors(errors) if errors else None
        self.has_errors = False
        self.write = write
        self.secret = secret
        self.reordering = ReorderBuffer() if in_order else None
        self.waiting = b""

    def expect(self, index: int) -> None:
        """Keep the place of an item whose end will come. Items are expected in their order."""
        if self.reordering is not None:
            self.reordering.expected[index] = None

    def put(self, index: int, item: Any, entry: LedgerEntry) -> None:
        """Print the end of an item when it is its turn."""
        if self.secret and isinstance(item, dict):
            item = {name: value for name, value in item.items() if name not in self.secret}
        data = b""
        if self.errors is None or entry.status == DONE:
            data = self.encode(index, item, entry)
        else:
            self._write_error(self.errors, encode({"item": item, ERROR: entry.error}) + b"\n")
        for each in (data,) if self.reordering is None else self.reordering.take(index, data):
            self._print(each)

    def _raw(self, index: int, item: Any, entry: LedgerEntry) -> bytes:
        """Return what the flow carries, or all its outputs: text as it is, anything else as JSON."""
        if entry.status != DONE or entry.outputs is None:
            return b""
        value = entry.outputs[entry.carried] if entry.carried else entry.outputs
        data = value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else encode(value)
        return data if data.endswith(b"\n") and not self.nul else data + b"\n"

    def _print(self, data: bytes) -> None:
        if data and self.table:
            data = self.table.encode(decode(data))
        self.waiting += data[:-1] + b"\0" if data and self.nul else data
        if len(self.waiting) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Write all rows whose turn has come."""
        data, self.waiting = self.waiting, b""
        if data:
            self.write(data)

    def close(self) -> None:
        """Write what still waits, even behind items that never ended."""
        for each in self.reordering.until(None) if self.reordering else ():
            self._print(each)
        self.waiting += self.table.lines() if self.table else b""
        self.flush()
        if self.errors:
            self._write_error(self.errors, b"")

    def _write_error(self, file: IO[bytes], data: bytes) -> None:
        """Write a failed item. The first write removes the items of an earlier map."""
        with Attempt(f"cannot write the failed items to '{file.name}'", not_written):
            if not self.has_errors and os.fstat(file.fileno()).st_size:
                file.truncate(0)
            self.has_errors = True
            file.write(data)


class ReorderBuffer:
    """Keeps the rows of items that end early, in a temporary file if they are many, until earlier items have ended."""

    def __init__(self) -> None:
        self.expected: dict[int, None] = {}
        self.kept = 0
        self.file = sqlite3.connect("")  # a temporary database, which goes to the disk when it is large
        self.file.execute("CREATE TABLE kept (place INTEGER PRIMARY KEY, data BLOB)")

    def take(self, index: int, data: bytes) -> Iterable[bytes]:
        """Take the row of an item; return the rows whose turn it is now."""
        self.expected.pop(index, None)
        first = next(iter(self.expected), None)
        is_next = first is None or index < first
        if is_next and not self.kept:
            return (data,)
        self.file.execute("INSERT INTO kept VALUES (?, ?)", (index, data))
        self.kept += 1
        return self.until(first) if is_next else ()

    def until(self, index: int | None) -> Iterator[bytes]:
        """Yield the rows before an item, or all."""
        end = (float("inf") if index is None else index,)
        yield from (data for (data,) in self.file.execute("SELECT data FROM kept WHERE place < ? ORDER BY place", end))
        self.kept -= self.file.execute("DELETE FROM kept WHERE place < ?", end).rowcount


class Table:
    """Rows as CSV: the columns are those of the first row with outputs and of the failed rows before it, then `error`.

    Further values of a later row go into its `error`, as JSON. `escapes` is that of `write_csv`.
    """

    def __init__(self, escapes: bool) -> None:
        self.escapes = escapes
        self.columns: list[str] = []
        self.waiting: list[Row] = []

    def encode(self, row: Row) -> bytes:
        """Return the lines that can be written now."""
        with suppress(PflowError):  # two columns would have one name, so objects stay JSON in their cells
            row = flatten(row)
        self.waiting.append(row)
        return self.lines() if self.columns or ERROR not in row or len(self.waiting) == _MOST_WAITING else b""

    def lines(self) -> bytes:
        rows, self.waiting = self.waiting, []
        if not rows:
            return b""
        is_first = not self.columns
        self.columns = self.columns or [*(name for name in columns_of([rows[-1], *rows]) if name != ERROR), ERROR]
        return write_csv([*map(self._fitted, rows)], header=is_first, escapes=self.escapes).encode()

    def _fitted(self, row: Row) -> Row:
        others = {name: value for name, value in row.items() if name not in self.columns and not is_missing(value)}
        fitted = {name: row.get(name) for name in self.columns}
        if others:
            say_once(f"values without a column stand in '{ERROR}'; --format=jsonl has them in their places")
            fitted[ERROR] = "; ".join(filter(None, [text_of(row.get(ERROR)), f"no column for {text_of(others)}"]))
        return fitted


def _row(index: int, item: Any, entry: LedgerEntry) -> bytes:
    """Encode the item's members and the flow's outputs, which replace members of their names."""
    row = {**(item if isinstance(item, dict) else {"item": item}), **(entry.outputs or {})}
    row |= {} if entry.status == DONE and not entry.error else {_said(entry): entry.error}
    return encode(row) + b"\n"


def _record(index: int, item: Any, entry: LedgerEntry) -> bytes:
    about = {"id": entry.id, "item": item, "status": entry.status, "exit": entry.exit, "outputs": entry.outputs}
    usage = {name: value for name, value in entry.usage.items() if name != "asked"}
    spent = {"tries": entry.tries, "usage": usage, "cost": usage.get("cost"), "ms": entry.ms}
    said = {ERROR: None, WARNING: None, _said(entry): entry.error or None}
    return encode({"index": index, **about, **said, **spent}) + b"\n"


def _said(entry: LedgerEntry) -> str:
    """Return the member for the message of an entry: a warning if its item is done, else an error."""
    return WARNING if entry.status == DONE else ERROR


def check_errors(path: str, others: Mapping[str, str]) -> None:
    """Refuse a file for the failed items whose content would be lost. `others` are files of the map, and their uses.

    Raises PflowError: 2 if the map uses the file, 73 if it has anything but the failed items of an earlier map.
    """
    act, hint = f"cannot write the failed items to '{path}'", "--errors=FILE takes another file"
    streams = dict.fromkeys(("/dev/stdout", "/dev/stderr"), "its results or messages go there")
    for each, why in {"/dev/stdin": "the items come from it", **streams, **others}.items():
        if _is_same(path, each):
            raise PflowError(f"{act}: {why}", hint=hint, exit=USAGE)
    with Attempt(act, not_written), open(path if os.path.isfile(path) else os.devnull, "rb") as file:
        is_ours = all(map(_is_failure, file))
    if not is_ours:
        raise PflowError(f"{act}: that file has something else", hint=f"{hint}, or delete it", exit=CANNOT_WRITE)


def _is_same(path: str, other: str) -> bool:
    """Return True if two paths are one regular file, or would be."""
    try:
        return os.path.samefile(path, other) and os.path.isfile(path)
    except (OSError, ValueError):
        return not os.path.exists(path) and os.path.realpath(path) == os.path.realpath(other)


def _is_failure(line: bytes) -> bool:
    """Return True for a line of a file of failed items; the last one may be torn."""
    try:
        found = decode(line)
    except ValueError:
        return line.startswith(b'{"item":') and not line.endswith(b"\n")
    return isinstance(found, dict) and [*found] == ["item", ERROR]


def _open_errors(path: str) -> IO[bytes]:
    """Open the file of the failed items. Raises PflowError (73, 77)."""
    with Attempt(f"cannot write the failed items to '{path}'", not_written):
        return open(path, "ab", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o644))


class MapOutput(Output):
    """The output of a map, which writes its rows as they come.

    A mark after the rows says how the map ended: else a stage would take the rows of a stopped map for all rows.
    """

    is_torn = False
    """True while the last row is not whole."""

    def write_rows(self, data: bytes) -> None:
        """Write rows. Raises ClosedPipe, and PflowError (73)."""
        if self.form == NOTHING:
            return
        if os.isatty(self.fd):
            clear_line()
        self.has_begun = self.is_torn = True
        write_pieces(self.fd, [data])
        self.is_torn = False

    def write_document(self, document: Document) -> None:
        """Write a store if a stage of pflow reads it: behind rows only its header, which is one line."""
        if self.form != DOCUMENT or not feeds_pflow(self.fd):
            return
        document = Document(document.header) if self.has_begun else document
        pieces = document.pieces()
        if not document.keys():
            pieces = [b"\n" * self.is_torn, b"".join(pieces).replace(b"\n", b""), b"\n"]
        with Ignoring(ClosedPipe, PflowError):  # the reader has gone: it has the exit code of the pipe
            write_pieces(self.fd, pieces)

    def note_failed(self, count: int) -> None:
        """Write how many items failed, after all have run. A stage still uses the rows of the others."""
        if self.has_begun:
            self.write_document(Document({"failed": count}))
        else:
            self.hand_on_error("map", PflowError(f"{count:,} items failed"))
