"""Unpacking an answer as its Content-Encoding says."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import httpx2
from httpx2._decoders import SUPPORTED_DECODERS

from pflow.errors import BAD_DATA, PflowError
from pflow.files.members import unpack_members
from pflow.web.answer import cut

_GZIP = ("gzip", "x-gzip")
_LIBRARIES = {"br": "brotli", "zstd": "backports.zstd"}
"""Who unpacks these for httpx2."""
_MAGIC = b"\x1f\x8b"
_DEEPEST = 5


def unpack(packed: Iterator[bytes], codings: str, act: str) -> Iterator[bytes]:
    """Undo the codings that a Content-Encoding header lists, the last one first.

    As in browsers, a name that is not a coding, such as utf-8, changes nothing. Raises PflowError, which begins with
    `act`: 65 for what is not packed so or needs a library that is missing, 75 for what is cut or broken.
    """
    listed = [name for each in codings.lower().split(",") if (name := each.strip()) in (*_GZIP, "deflate", *_LIBRARIES)]
    if len(listed) > _DEEPEST:
        raise _refusal(f"{act}: its answer is packed {len(listed)} times")
    for coding in reversed(listed):
        if coding not in _LIBRARIES:
            packed = inflate(packed, coding, act)
        elif coding in SUPPORTED_DECODERS:
            packed = httpx2.Response(200, headers={"content-encoding": coding}, content=packed).iter_bytes()
        else:
            what = f"{act}: its answer is packed as '{coding}', for which a library is missing"
            raise _refusal(what, f"pip install {_LIBRARIES[coding]}")
    return packed


def inflate(packed: Iterable[bytes], coding: str, act: str) -> Iterator[bytes]:
    """Yield gzip or deflate data unpacked; data of one kind that is called the other is read, too.

    As gzip(1) does, read all members, and ignore what else follows them. httpx2's own decoder accepts a cut stream, and
    reads only the first member.
    """
    is_gzip = False

    def begin(data: bytes, is_first: bool) -> Any:
        nonlocal is_gzip
        is_gzip = data.startswith(_MAGIC)
        if not (is_first or is_gzip):
            return None
        # Some servers send deflate data without the two bytes of zlib's header.
        has_header = coding in _GZIP or is_gzip or (data[0] & 15 == 8 and int.from_bytes(data[:2]) % 31 == 0)
        return zlib.decompressobj(zlib.MAX_WBITS | 32 if has_header else -zlib.MAX_WBITS)

    try:
        for _, part in unpack_members(packed, begin):
            yield part
    except EOFError as error:
        raise cut(act, f"its {coding} data has no end") from error
    except ValueError as error:
        if is_gzip:
            raise cut(act, f"its gzip data is broken: {str(error).rpartition(': ')[2]}") from error
        hint = "--header='Accept-Encoding: identity' asks for it unpacked"
        raise _refusal(f"{act}: its answer is called {coding}, and is not", hint) from error


def _refusal(what: str, hint: str = "") -> PflowError:
    return PflowError(what, hint=hint, exit=BAD_DATA, is_permanent=True)
