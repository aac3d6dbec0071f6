"""Packed data (gzip, bzip2, xz, Zstandard), unpacked in parts, so that a bomb fills no memory."""

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from io import BytesIO
from itertools import chain
from typing import Any

from pflow.errors import BAD_DATA, PflowError
from pflow.files.installation import no_extra
from pflow.files.reading import check_size, check_unpacked
from pflow.terminal.messages import say_once
from pflow.values.binary import PACKED, recognize

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
"""What stands behind the name of a packed file, beside the suffix that tells its form."""
_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_UNPACKERS: dict[str, tuple[str, str, dict[str, int], str]] = {
    "gzip data": ("zlib", "decompressobj", {"wbits": 31}, "error"),
    "bzip2 data": ("bz2", "BZ2Decompressor", {}, ""),
    "xz data": ("lzma", "LZMADecompressor", {"memlimit": 1 << 28}, "LZMAError"),
    "Zstandard data": (_ZSTD, "ZstdDecompressor", {}, "ZstdError"),
}
"""The module that unpacks each kind, its class, what the class is given, and the module's error."""
_PART = 1 << 18
_HEAD = 10
"""Bytes that tell each kind."""


def unpack_whole(data: bytes, act: str) -> bytes:
    """Return data unpacked if it is packed. Raises PflowError as `unpack`, and 65 for more than --max-input."""
    return join(unpack([data], act), act) if recognize(data)[0] in _UNPACKERS else data


def join(parts: Iterable[bytes], act: str) -> bytes:
    """Return what comes in parts. Raises PflowError (65) for more than --max-input."""
    whole = BytesIO()
    for part in parts:
        whole.write(part)
        check_size(whole.tell(), act)
    return whole.getvalue()


def unpack(parts: Iterable[bytes], act: str) -> Iterator[bytes]:
    """Yield data that comes in parts, unpacked if its first bytes say that it is packed; `act` begins the messages.

    Raises PflowError: 65 for data that is damaged or cut short, and for a bomb; 78 if a library is missing.
    """
    parts, head, part = iter(parts), b"", b"-"
    while part and len(head) < _HEAD and any(head[: len(mark)] == mark[: len(head)] for mark in PACKED):
        part = next(parts, b"")
        head += part
    kind = recognize(head)[0]
    yield from _members(chain([head], parts), kind, act) if kind in _UNPACKERS else chain([head], parts)


def _members(parts: Iterable[bytes], kind: str, act: str) -> Iterator[bytes]:
    """Unpack the members of packed data, one after another; zeros may follow each, and anything may follow the last."""
    library, name, options, error = _UNPACKERS[kind]
    try:
        module = import_module(library)
    except ImportError as missing:
        raise no_extra(f"{act}: it is {kind}", library, "zstd") from missing
    say_once(f"unpacking {kind}")
    unpacker: Any = getattr(module, name)(**options)
    size, made, data = 0, 0, b""
    for part in chain(parts, [b""]):
        size += len(part)
        data, more = data + part, b""
        while data or more:  # more may come out after the last data went in
            if unpacker is None:
                data = data.lstrip(b"\0")
                if part and len(data) < _HEAD:
                    break
                if recognize(data)[0] != kind:
                    if data:
                        say_once(f"{act.replace('cannot read', 'ignored what follows the end of')}: it is not {kind}")
                    return
                unpacker = getattr(module, name)(**options)
            try:
                more = unpacker.decompress(data, _PART)
            except (OSError, ValueError, EOFError, getattr(module, error, OSError)) as fault:
                raise PflowError(f"{act}: its {kind} is damaged: {fault}", exit=BAD_DATA) from fault
            made += len(more)
            check_unpacked(size, made, act)
            if more:  # an empty part would look like the end
                yield more
            data = unpacker.unused_data if unpacker.eof else getattr(unpacker, "unconsumed_tail", b"")
            if unpacker.eof:
                unpacker, more = None, b""
    if unpacker is not None:
        raise PflowError(f"{act}: its {kind} is cut short", exit=BAD_DATA)
