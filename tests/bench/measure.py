"""What the rooms of `make bench` share: programs and pipes that are timed, and the lines of a table.

CPU time is user and system time of the processes themselves and of those that they waited for.
"""

import os
import shutil
import signal
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

BIN = Path(sys.executable).parent
BARE = [sys.executable, "-c", "pass"]
HEADER = '{"$pflow":{"v":1,"by":"bench","run":"01J00000000000000000000000","last":"text","steps":[]},\n'
MEGABYTE = 1_000_000
NOTHING = Path(os.devnull)


def is_missing(program: str) -> bool:
    """Return True if a program is not installed, and say so."""
    missing = shutil.which(program) is None
    if missing:
        print(f"make bench: {program} is not installed, and its rows are skipped", file=sys.stderr)
    return missing


class Row(NamedTuple):
    """One line of the table: what runs, as processes in a pipe, and how many times bare Python it may cost.

    `variables` are for its environment; `forgotten` is removed before each turn.
    """

    title: str
    pipe: list[list[str]]
    limit: float
    stdin: Path
    variables: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    forgotten: Path | None = None


class Pair(NamedTuple):
    """Two commands, each with its environment: how many times its base a row may cost."""

    title: str
    row: tuple[list[str], dict[str, str]]
    base: tuple[list[str], dict[str, str]]
    limit: float


class Line(NamedTuple):
    """One line of the printed table: `ratio` is `value` against its base, `enough` a value that is fast in itself."""

    what: str
    value: float
    unit: str
    ratio: float
    limit: float
    enough: float = 0

    def __str__(self) -> str:
        verdict = "ok" if self.ratio <= self.limit or self.value <= self.enough else "over"
        return f"{self.what:36}{self.value:8.1f} {self.unit}{self.ratio:7.2f}x{self.limit:6.1f}x  {verdict}"


class Usage(NamedTuple):
    """What a pipe took: CPU seconds of all its processes, seconds on the clock, peak memory of each in bytes."""

    cpu: float
    wall: float
    peaks: list[int]


def measure_pair(pair: Pair, rounds: int) -> Line:
    samples: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 1):
        for sample, (command, variables) in zip(samples, (pair.row, pair.base), strict=True):
            usage = run([command], Path(os.devnull), variables)
            if turn:  # the first fills the caches
                sample.append(usage.cpu)
    row, base = map(statistics.median, samples)
    return Line(pair.title, row * 1000, "ms", row / base, pair.limit)


def program(name: str) -> str:
    path = BIN / name
    if not os.access(path, os.X_OK):
        raise SystemExit(f"make bench: cannot find '{name}' in {BIN}")
    return str(path)


def run(pipe: list[list[str]], stdin: Path, environment: Mapping[str, str] = os.environ) -> Usage:
    """Run a pipe from a file to nowhere. Whatever fails ends the bench.

    A child's peak memory counts from what this process had at the fork: it stays small.
    """
    began = time.perf_counter()
    source = os.open(stdin, os.O_RDONLY)
    children = []
    for at, command in enumerate(pipe):
        after, sink = (None, os.open(os.devnull, os.O_WRONLY)) if at == len(pipe) - 1 else os.pipe()
        wiring = [(os.POSIX_SPAWN_DUP2, source, 0), (os.POSIX_SPAWN_DUP2, sink, 1)]
        children.append(
            os.posix_spawnp(command[0], command, environment, file_actions=wiring, setsigdef=[signal.SIGPIPE])
        )
        os.close(source)
        os.close(sink)
        source = after
    results = [os.wait4(child, 0) for child in children]
    wall = time.perf_counter() - began
    for command, (_, status, _) in zip(pipe, results, strict=True):
        if status:
            raise SystemExit(f"make bench: {command} ended with {os.waitstatus_to_exitcode(status)}")
    specs = [usage for _, _, usage in results]
    unit = 1 if sys.platform == "darwin" else 1024
    return Usage(sum(u.ru_utime + u.ru_stime for u in specs), wall, [u.ru_maxrss * unit for u in specs])
