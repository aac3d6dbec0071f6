"""What gzip packed, unpacked in small parts, so that a bomb takes no memory, and held to its end."""

import zlib
from collections.abc import Callable, Iterable, Iterator

_PART = 1 << 18
_GZIP = zlib.MAX_WBITS | 16


def gunzip(packed: Iterable[bytes], failure: Callable[[str], Exception]) -> Iterator[bytes]:
    """The unpacked parts. Raises `failure`, told why, where the data is broken or has no end.

    httpx2's own decoder takes a cut stream for a whole one, and reads only the first of several.
    """
    inflater = None
    try:
        for data in packed:
            part = b""
            while data or part:  # with no data left, there may be more to come out of it
                inflater = inflater or zlib.decompressobj(_GZIP)
                part = inflater.decompress(data, _PART)
                yield part
                data = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
                if inflater.eof:
                    inflater, part = None, b""
    except zlib.error as error:
        raise failure(f"its gzip data is broken: {error}") from error
    if inflater is not None:
        raise failure("its gzip data has no end")
