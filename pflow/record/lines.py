"""The lines of a journal: each a checksum and a record in JSON, so that a torn one is never taken for a whole one."""

from __future__ import annotations

from binascii import crc32

from pflow import TYPE_CHECKING
from pflow.errors import BAD_DATA, PflowError
from pflow.values.jsontext import decode, encode, quote
from pflow.values.long_text import holds_long, json_parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Record = dict[str, Any]

_PIECE = 1 << 20

JOURNAL = "journal.jsonl"
"""Its name in a run's directory."""


def line_of(record: Record) -> bytes:
    """The line of a record. Raises PflowError (65) for what JSON cannot hold."""
    data = encode(record)
    return b"%08x %s\n" % (crc32(data), data)


def pieces_of(record: Record) -> Iterator[bytes]:
    """The line of a record, in pieces where a long text is in its `changes`, or where it has `texts`, bytes by key.

    In these a character stands for each byte; `raw` gives the bytes back.
    """
    if "texts" not in record and not holds_long(record.get("changes")):
        yield line_of(record)
        return
    checksum = 0
    for piece in _data_of(record):
        checksum = crc32(piece, checksum)
    yield b"%08x " % checksum
    yield from _data_of(record)
    yield b"\n"


def _data_of(record: Record) -> Iterator[bytes]:
    yield encode({name: value for name, value in record.items() if name not in ("texts", "changes")})[:-1]
    if "changes" in record:
        yield b',"changes":'
        yield from json_parts(record["changes"])
    if "texts" not in record:
        yield b"}"
        return
    yield b',"texts":{'
    for number, (key, text) in enumerate(record["texts"].items()):
        yield b"," * (number > 0) + quote(key).encode() + b':"'
        for at in range(0, len(text), _PIECE):
            yield quote(str(raw(text[at : at + _PIECE]), "latin-1"))[1:-1].encode()
        yield b'"'
    yield b"}}"


def raw(text: str | bytes | memoryview) -> bytes:
    """The bytes of one of the `texts` of a record that was read, or is to be written."""
    return text.encode("latin-1") if isinstance(text, str) else bytes(text)


def read_lines(data: bytes) -> tuple[list[Record], int]:
    """The records in the bytes of a journal, and how many bytes the whole lines take; a torn end is left out.

    Raises PflowError (65) for any other line that is damaged, with its number.
    """
    *lines, rest = data.split(b"\n")
    records = []
    for number, line in enumerate(lines, 1):
        record = _record_in(line)
        if record is None:
            raise PflowError(f"cannot read the journal: its line {number} is damaged", exit=BAD_DATA)
        records.append(record)
    last = _record_in(rest)
    return (records, len(data) - len(rest)) if last is None else ([*records, last], len(data))


def _record_in(line: bytes) -> Record | None:
    checksum, data = line[:9], line[9:]
    if checksum != b"%08x " % crc32(data):
        return None
    try:
        record = decode(data)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
