"""The body of an answer as its reader gets it, unpacked, and never more than it may have."""

from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Iterator

import httpx2

from pflow.values.json_input import MOST_VALUES, has_too_many_values


def limit_body(response: httpx2.Response, most: int, failure: Callable[[], Exception], *, line: int = 0) -> None:
    """Raise `failure` while a body is read that has over `most` bytes, or JSON with too many values. For a hook.

    Each line counts for `line` bytes more.
    """
    response.stream = _Limited(response, most, failure, line)
    response.headers.pop("content-encoding", None)


class _Limited(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, most: int, failure: Callable[[], Exception], line: int) -> None:
        about = {"headers": response.headers, "stream": response.stream, "request": response.request}
        self.packed = httpx2.Response(response.status_code, **about)  # type: ignore[arg-type]
        self.most, self.failure, self.line = most, failure, line
        self.body = bytearray()
        self.marks = 0

    def __iter__(self) -> Iterator[bytes]:
        return map(self._counted, self.packed.iter_bytes())

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self.packed.aiter_bytes():
            yield self._counted(part)

    def _counted(self, part: bytes) -> bytes:
        part = part if self.body else part.removeprefix(BOM_UTF8)
        self.body += part
        self.most -= len(part) + (part.count(b"\n") + part.count(b"\r")) * self.line
        self.marks += sum(map(part.count, (b",", b"[", b"{")))
        if self.most < 0:
            raise self.failure()
        if self.marks > MOST_VALUES:  # each look at the whole body takes time
            if has_too_many_values(self.body):
                raise self.failure()
            self.marks = 0
        return part

    def close(self) -> None:
        self.packed.close()

    async def aclose(self) -> None:
        await self.packed.aclose()
