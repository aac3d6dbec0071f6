"""The body of an answer as its reader gets it, unpacked, with a check of each part before the next one comes."""

from collections.abc import AsyncIterator, Callable, Iterator

import httpx2

from pflow.errors import BAD_DATA, PflowError


def check_body(response: httpx2.Response, check: Callable[[bytes], None]) -> None:
    """Let `check` see each part of the unpacked body; what it raises ends the reading. For a hook of a client."""
    packed = httpx2.Response(
        response.status_code, headers=response.headers, stream=response.stream, request=response.request
    )
    response.headers.pop("content-encoding", None)
    response.stream = _Checked(packed, check)


def limit_body(most: int, act: str) -> Callable[[httpx2.Response], None]:
    """Return a hook that lets no answer have more than `most` bytes, unpacked; then `act` fails: PflowError (65)."""

    def limit(response: httpx2.Response) -> None:
        sizes: list[int] = []

        def check(part: bytes) -> None:
            sizes[:] = [sum(sizes) + len(part)]
            if sizes[0] > most:
                raise PflowError(f"{act}: it has more than {most:,} bytes", exit=BAD_DATA, is_permanent=True)

        check_body(response, check)

    return limit


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
