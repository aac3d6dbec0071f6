"""What a table or a map reads: its text, which may be packed (gzip, bzip2, xz, Zstandard) or an Excel workbook."""

import os
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import chain
from typing import Any

from pflow.errors import BAD_DATA, PflowError
from pflow.files.installation import needs
from pflow.files.reading import HEAD, check_size, check_unpacked, unpack_members
from pflow.values.encoding import PACKED, WORKBOOK, ZIP, recognize

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_UNPACKERS: dict[str, tuple[str, str, dict[str, int]]] = {
    "gzip data": ("zlib", "decompressobj", {"wbits": 31}),
    "bzip2 data": ("bz2", "BZ2Decompressor", {}),
    "xz data": ("lzma", "LZMADecompressor", {"memlimit": 1 << 28}),
    "Zstandard data": (_ZSTD, "ZstdDecompressor", {}),
}
"""The module that unpacks each kind, its class, and what the class is given."""


def suffix_of(path: str) -> str:
    """Return the suffix that tells a file's form, in small letters; that of a packed file stands before .gz."""
    stem, suffix = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if suffix in SUFFIXES else suffix


def unpack(parts: Iterable[bytes], act: str, *, is_table: bool) -> tuple[bool, Iterator[bytes]]:
    """Return the parts of a text, unpacked; for a table, True and the CSV of an Excel workbook's first sheet.

    `act` begins the messages. Raises PflowError: 65 for what is not text, for data that is damaged or cut short, and
    for a bomb; 78 if a library is missing.
    """
    parts = _unpacked(iter(parts), act)
    head = next(parts, b"")
    if head.startswith(b"PK\3\4"):
        head = join(chain([head], parts), act)  # its end says what it holds
    kind, hint = recognize(head)
    is_damaged = kind == ZIP[0] and act.lower().endswith((".xlsx'", ".xlsm'"))
    if is_table and (kind == WORKBOOK or is_damaged):
        from pflow.tables.workbook import first_sheet

        return True, iter([first_sheet(head, act).encode()])
    if kind:
        raise PflowError(f"{act}: it is {kind}", hint=hint, exit=BAD_DATA)
    return False, chain([head], parts)


def join(parts: Iterable[bytes], act: str) -> bytes:
    """Return what comes in parts. Raises PflowError (65) for more than --max-input."""
    got, size = [], 0
    for part in parts:
        got.append(part)
        size += len(part)
        check_size(size, act)
    return b"".join(got)


def _unpacked(parts: Iterator[bytes], act: str) -> Iterator[bytes]:
    """Yield data, unpacked if its first bytes say that it is packed."""
    head, part = b"", b"-"
    while part and len(head) < HEAD and any(head[: len(mark)] == mark[: len(head)] for mark in PACKED):
        part = next(parts, b"")
        head += part
    kind = recognize(head)[0]
    yield from _members(chain([head], parts), kind, act) if kind in _UNPACKERS else chain([head], parts)


def _members(parts: Iterator[bytes], kind: str, act: str) -> Iterator[bytes]:
    library, name, options = _UNPACKERS[kind]
    with needs(f"{act}: it is {kind}", library, "zstd"):
        module = import_module(library)
    from pflow.process.worker import say_once  # with pickle and more, for a packed file alone

    say_once(f"unpacking {kind}")
    made = 0

    def begin(data: bytes, is_first: bool) -> Any:
        if is_first or recognize(data)[0] == kind:
            return getattr(module, name)(**options)
        return say_once(f"{act.replace('cannot read', 'ignored what follows the end of')}: it is not {kind}")

    try:
        for size, part in unpack_members(parts, begin):
            made += len(part)
            check_unpacked(size, made, act)
            yield part
    except EOFError as error:
        raise PflowError(f"{act}: its {kind} is cut short", exit=BAD_DATA) from error
    except ValueError as error:
        raise PflowError(f"{act}: its {kind} is damaged: {error}", exit=BAD_DATA) from error
