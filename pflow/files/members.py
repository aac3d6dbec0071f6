"""Packed data: members, one after another, that are unpacked in small parts, so that no bomb fills the memory."""

from __future__ import annotations

from itertools import chain

from pflow import Any, Callable, Iterable, Iterator

HEAD, _PART = 10, 1 << 18
"""The first bytes of a member, which tell its kind; the most bytes that are unpacked at once."""


def unpack_members(parts: Iterable[bytes], begin: Callable[[bytes, bool], Any]) -> Iterator[tuple[int, bytes]]:
    """Yield the data of all members in parts, each after the number of packed bytes that were read for it so far.

    `begin` is called with the first bytes of a member, and True for the first member. It returns an unpacker, as zlib
    and bz2 have them, or None if these bytes begin no member: then the rest is ignored. Zeros may pad the members.
    Raises ValueError, and EOFError if the last member is cut short.
    """
    unpacker, data, is_first, size = None, b"", True, 0
    for part in chain(parts, [b""]):
        size += len(part)
        data, more = data + part, b""
        while data or more:  # an unpacker may hold output back after its last input
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
            except Exception as error:  # zlib, lzma and zstandard each raise a class of their own
                raise ValueError(error) from error
            if more:  # for a reader an empty part is the end of the data
                yield size, more
            data = unpacker.unused_data if unpacker.eof else getattr(unpacker, "unconsumed_tail", b"")
            if unpacker.eof:
                unpacker, more = None, b""
    if unpacker is not None:
        raise EOFError
