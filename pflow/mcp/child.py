"""A program that asyncio waits for: a thread talks to it, and a cancelled wait ends it with all that it started."""

import asyncio
import math

import anyio
from anyio.to_thread import run_sync

from pflow.process.children import Program, end


async def talk(program: Program, grace: float) -> int:
    """Talk to a program until it ends, and return its exit code. The takers are called in a thread."""
    threads = anyio.CapacityLimiter(math.inf)
    talking = asyncio.ensure_future(run_sync(program.talk, limiter=threads))
    try:
        return await asyncio.shield(talking)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await run_sync(end, [program], grace, limiter=threads)
            await asyncio.gather(talking, return_exceptions=True)
        raise
