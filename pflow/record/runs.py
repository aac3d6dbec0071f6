"""The runs on this machine: found, listed and pruned.

TAB lists them, so this module stays lean.
"""

from __future__ import annotations

import os
import time
from itertools import islice, takewhile

from pflow import Callable, Iterator
from pflow.errors import MISSING, PflowError, result_of
from pflow.files.atomic import open_private
from pflow.files.reading import Opened
from pflow.record.log import PRUNED, TRACE, noted_order, runs_directory
from pflow.record.records import JOURNAL
from pflow.record.run import Run, is_locked, is_ulid, time_of

DAYS, SIZE = 30, 200 << 20
"""The greatest age of runs, and the bytes that all of them may take."""


def list_runs(
    limit: int | None = None, *, since: float = 0.0, is_wanted: Callable[[Run], bool] = lambda run: True
) -> list[Run]:  # fmt: skip
    """Return the runs, newest first, that began since a moment (in seconds) and are wanted."""
    newer = takewhile(lambda run: run[0] >= since, _with_files())
    return list(islice(filter(is_wanted, (Run(directory) for _, directory in newer)), limit))


def find_run(word: str = "last") -> Run:
    """Return the run of an id or its beginning; `last` or `@1` is the newest, `@2` the next. Raises PflowError (66)."""
    directories = list(run_directories())
    if not directories:
        raise PflowError(
            f"cannot find the run '{word}': there are no runs yet", hint="pflow run makes one", exit=MISSING
        )
    number = "1" if word == "last" else word[1:] if word[:1] == "@" else ""
    if number.isdecimal():
        fitting = directories[int(number) - 1 : int(number)] if number != "0" else []
    else:
        fitting = [each for each in directories if word and os.path.basename(each).startswith(word.upper())]
    if len(fitting) == 1:
        return Run(fitting[0])
    if fitting:
        ids = ", ".join(map(os.path.basename, fitting[:3]))
        raise PflowError(f"cannot find the run '{word}': {len(fitting)} ids begin with it", hint=ids, exit=MISSING)
    raise PflowError(f"cannot find the run '{word}'", hint="pflow runs lists them", exit=MISSING)


def run_directories() -> Iterator[str]:
    """Yield the directory of each run that has a log or a journal, newest first."""
    return (directory for _, directory in _with_files())


def _with_files() -> Iterator[tuple[float, str]]:
    for begun, directory in _runs_in(runs_directory() or ""):
        if any(os.path.lexists(os.path.join(directory, name)) for name in (TRACE, JOURNAL)):
            yield begun, directory


def _runs_in(place: str) -> list[tuple[float, str]]:
    """Return when each run in a place began, and its directory, newest first; an unreadable place has none."""
    ids = filter(is_ulid, result_of(os.listdir, place, otherwise=[]))
    noted = noted_order(place)
    orders = sorted(((*_order(id, noted), id) for id in ids), reverse=True)
    return [(time_of(known), os.path.join(place, id)) for known, _, id in orders]


def _order(id: str, noted: dict[str, str]) -> tuple[str, int]:
    """Return what a run is sorted by: its id and 0.

    If it began while the clock was ahead: the id of the first later run that did not, and minus the steps to that one.
    """
    steps = 0
    while is_ulid(after := noted.get(id, "")) and after < id:
        id, steps = after, steps - 1
    return id, steps


def prune(place: str, *, days: float = DAYS, size: int = SIZE) -> None:
    """Remove runs that are older than so many days, then the oldest until the rest takes so many bytes.

    The newest and those that go on stay. A run that cannot be removed is left for the next time.
    """
    oldest = time.time() - days * 86_400
    taken = 0
    try:
        with Opened(open_private(os.path.join(place, PRUNED))) as file:
            os.utime(file)
    except OSError:
        return
    for number, (begun, directory) in enumerate(_runs_in(place)):
        taken += _size_of(directory)
        if number and (begun < oldest or taken > size) and not is_locked(directory):
            import shutil

            shutil.rmtree(directory, ignore_errors=True)


def _size_of(directory: str) -> int:
    """Return the bytes that the files of a run take on the disk."""
    try:
        with os.scandir(directory) as entries:
            return sum(entry.stat(follow_symlinks=False).st_blocks * 512 for entry in entries)
    except OSError:
        return 0
