"""The codings in which servers pack their answers, undone."""

import zlib
from collections.abc import Iterable, Iterator

import httpx2
from httpx2._decoders import SUPPORTED_DECODERS

from pflow.errors import BAD_DATA, PflowError
from pflow.kit.web.answer import cut

_GZIP = ("gzip", "x-gzip")
_LIBRARIES = {"br": "brotli", "zstd": "backports.zstd"}
"""Who unpacks these for httpx2."""
_READ = {*_GZIP, "deflate", *_LIBRARIES}
_MAGIC = b"\x1f\x8b"
_PART = 1 << 18
_DEEPEST = 5


def unpack(packed: Iterator[bytes], codings: str, act: str) -> Iterator[bytes]:
    """Undo the codings that a Content-Encoding header lists, the last one first.

    As in browsers, a name that is no coding, such as utf-8, changes nothing. Raises PflowError, which begins with
    `act`: 65 for what is not packed so or needs a library that is missing, 75 for what is cut or broken.
    """
    listed = [name for each in codings.lower().split(",") if (name := each.strip()) in _READ]
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
    """Yield gzip or deflate data unpacked in small parts, so that a bomb takes no memory.

    As gzip(1) does, read all members, and ignore what else follows them. Data of one kind that is called the other is
    read, too. httpx2's own decoder accepts a cut stream, and reads only the first member.
    """
    is_gzip, inflater, left, has_ended = coding in _GZIP, None, b"", False
    try:
        for data in packed:
            left, part = left + data, b""
            while left or part:  # more may come out after the last data went in
                if inflater is None:
                    if len(left) < len(_MAGIC):
                        break
                    if has_ended and not (is_gzip and left.startswith(_MAGIC)):
                        return
                    is_so = left.startswith(_MAGIC)
                    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32 if is_gzip or is_so else _window(left))
                part = inflater.decompress(left, _PART)
                yield part
                left = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
                if inflater.eof:
                    inflater, part, has_ended = None, b"", True
    except zlib.error as error:
        if is_so:
            raise cut(act, f"its gzip data is broken: {str(error).rpartition(': ')[2]}") from error
        hint = "--header='Accept-Encoding: identity' asks for it unpacked"
        raise _refusal(f"{act}: its answer is called {coding}, and is not", hint) from error
    if inflater is not None or (left and not has_ended):
        raise cut(act, f"its {coding} data has no end")


def _window(data: bytes) -> int:
    """Return zlib's argument for deflate data: some servers send it without the two bytes of zlib's header."""
    return zlib.MAX_WBITS if data[0] & 15 == 8 and int.from_bytes(data[:2]) % 31 == 0 else -zlib.MAX_WBITS


def _refusal(what: str, hint: str = "") -> PflowError:
    return PflowError(what, hint=hint, exit=BAD_DATA, is_permanent=True)
