"""Packed data, whose members are unpacked one after another, in small parts, so that a bomb fills no memory."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

HEAD = 10
"""Bytes that tell what a member is."""
_PART = 1 << 18


def unpack_members(parts: Iterable[bytes], begin: Callable[[bytes, bool], Any]) -> Iterator[tuple[int, bytes]]:
    """Yield the data of all members in parts, each after the number of packed bytes that were read for it so far.

    `begin` is called with the first bytes of a member, and True for the first one. It returns what unpacks it: an
    object like those of zlib and bz2, or None if this is not a member and the rest is to be ignored. Zeros may stand
    between members. Raises ValueError, and EOFError for a last one that is cut short.
    """
    unpacker, data, is_first, size = None, b"", True, 0
    for part in chain(parts, [b""]):
        size += len(part)
        data, more = data + part, b""
        while data or more:  # more may come out after the last data went in
            if unpacker is None:
                data = data if is_first else data.lstrip(b"\0")
                if not data or (part and len(data) < HEAD):
                    break
                unpacker, is_first = begin(data, is_first), False
                if unpacker is None:
                    return
            try:
                more = unpacker.decompress(data, _PART)
            except MemoryError:
                raise
            except Exception as error:  # each library has its own
                raise ValueError(error) from error
            if more:  # an empty part would look like the end
                yield size, more
            data = unpacker.unused_data if unpacker.eof else getattr(unpacker, "unconsumed_tail", b"")
            if unpacker.eof:
                unpacker, more = None, b""
    if unpacker is not None:
        raise EOFError
