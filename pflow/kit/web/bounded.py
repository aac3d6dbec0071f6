"""The body of an answer as its reader gets it, unpacked, with a check of each part before the next one comes."""

from collections.abc import AsyncIterator, Callable, Iterator

import httpx2


def check_body(response: httpx2.Response, check: Callable[[bytes], None]) -> None:
    """Let `check` see each part of the unpacked body; what it raises ends the reading. For a hook of a client."""
    packed = httpx2.Response(
        response.status_code, headers=response.headers, stream=response.stream, request=response.request
    )
    response.headers.pop("content-encoding", None)
    response.stream = _Checked(packed, check)


class _Checked(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, packed: httpx2.Response, check: Callable[[bytes], None]) -> None:
        self.packed, self.check = packed, check

    def __iter__(self) -> Iterator[bytes]:
        for part in self.packed.iter_bytes():
            self.check(part)
            yield part

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self.packed.aiter_bytes():
            self.check(part)
            yield part

    def close(self) -> None:
        self.packed.close()

    async def aclose(self) -> None:
        await self.packed.aclose()
