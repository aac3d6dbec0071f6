"""`make faults`: break everything on purpose, at some thousand points, and lose nothing.

One oracle for all: the final store or ledger is an undisturbed run's, finished work is never done again, what may not
repeat never does unasked, nothing is left behind, and a hang is a failure.
"""

import argparse
import importlib
import os
import pkgutil
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from glob import glob
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from pflow.process.confine import has_landlock
from tests.faults import families
from tests.faults.points import Point, hold, remove
from tests.peers.warm import load_pflow

POINTS = 2000
MANY = 1_000_000
MOST = 3000
"""Characters of a difference that are shown."""


def _has_namespaces() -> bool:
    return not subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode


TOOLS: dict[str, tuple[str, Callable[[], object]]] = {
    "git": ("no git", lambda: shutil.which("git")),
    "cc": ("no C compiler", lambda: shutil.which("cc")),
    "faketime": ("no libfaketime", lambda: glob("/usr/lib/*/faketime/libfaketime.so.1")),
}
"""What .ci/tools installs that a family may need, and the word where it is missing."""

RIGHTS: dict[str, tuple[str, Callable[[], object]]] = {
    "root": ("not root", lambda: os.geteuid() == 0),
    "landlock": ("no Landlock", has_landlock),
    "namespaces": ("no namespaces of mounts and processes", lambda: os.geteuid() == 0 and _has_namespaces()),
}
"""What a machine may not give."""


class Family(NamedTuple):
    """One file in families/: its name, weight and points, and the word why it is skipped."""

    name: str
    module: ModuleType
    skipped: str

    def points(self, share: int, seed: int) -> Iterator[Point]:
        return self.module.points(share, seed)


def find_families() -> list[Family]:
    """Find the families by their files. Raises RuntimeError in CI where a tool is missing."""
    found = []
    for file in sorted(pkgutil.iter_modules(families.__path__)):
        module = importlib.import_module(f"{families.__name__}.{file.name}")
        missing = {
            need: word for need, (word, has) in {**TOOLS, **RIGHTS}.items() if need in module.NEEDS and not has()
        }
        if os.environ.get("CI") and missing.keys() & TOOLS.keys():
            raise RuntimeError(f"{file.name}: {missing}; .ci/tools installs it")
        found.append(Family(file.name, module, ", ".join(missing.values())))
    return found


def share_out(found: list[Family], count: int, seed: int) -> Iterator[Point]:
    """Share so many points among the families, by their weight; each has one at least."""
    weights = sum(family.module.WEIGHT for family in found)
    for family in found:
        if not family.skipped:
            yield from family.points(max(1, round(count * family.module.WEIGHT / weights)), seed)


def find_point(found: list[Family], id: str, seed: int) -> Point:
    """Find the point of this id. Raises StopIteration if there is none."""
    family = next(family for family in found if family.name == id.partition("/")[0])
    return next(point for point in family.points(MANY, seed) if point.id == id)


class Result(NamedTuple):
    """How a point ended, and how long it took."""

    difference: str
    seconds: float


_points: list[Point] = []


def _hold(number: int, place: Path) -> Result:
    directory, began = place / str(number), time.monotonic()
    difference = hold(_points[number], directory)
    remove(directory)
    return Result(difference, time.monotonic() - began)


def hold_all(points: list[Point], jobs: int, seed: int) -> list[Result]:
    """Check the points, and print each difference at once with the command that repeats it."""
    _points[:] = points
    load_pflow()  # once, before the forks
    with (
        tempfile.TemporaryDirectory(prefix="pflow-faults-") as place,
        ProcessPoolExecutor(jobs, get_context("fork")) as pool,
    ):
        futures = {pool.submit(_hold, number, Path(place)): number for number in range(len(points))}
        for future in as_completed(futures):
            if future.result().difference:
                options = shlex.quote(f"--seed {seed} --point {points[futures[future]].id}")
                print(f"\n{future.result().difference.strip()[:MOST]}\n  make faults FAULTS={options}", flush=True)
        return [future.result() for future in futures]


def print_table(found: list[Family], points: list[Point], results: list[Result]) -> None:
    """Print how many points each family had, how many differ, and the seconds that they took."""
    print(f"{'family':12} points  differ  seconds")
    for family in found:
        own = [result for point, result in zip(points, results, strict=True) if point.id.startswith(f"{family.name}/")]
        if own or family.skipped:
            _print_row(family.name, own, family.skipped)
    _print_row("all", results, "")


def _print_row(name: str, own: list[Result], skipped: str) -> None:
    differ, seconds = sum(bool(result.difference) for result in own), sum(result.seconds for result in own)
    print(f"{name:12} {len(own):6}  {differ:6}  {seconds:7.0f}" + (f"  skipped: {skipped}" if skipped else ""))


def main() -> int:
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--points", type=int, default=POINTS, help="about how many in all")
    parser.add_argument("--only", metavar="FAMILY", help="the points of one family")
    parser.add_argument("--point", metavar="ID", help="one point")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1)
    chosen = parser.parse_args()
    found = find_families()
    if chosen.point:
        points = [find_point(found, chosen.point, chosen.seed)]
    else:
        points = list(share_out(found, chosen.points, chosen.seed))
    if chosen.only:
        points = [point for point in points if point.id.startswith(f"{chosen.only}/")]
    print(f"seed {chosen.seed}, {len(points)} points", flush=True)
    results = hold_all(points, chosen.jobs, chosen.seed)
    print_table(found, points, results)
    return any(result.difference for result in results)


if __name__ == "__main__":
    sys.exit(main())
