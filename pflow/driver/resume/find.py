"""The unfinished run that `pflow run --resume` goes on with: the newest of the same flow, store, flags and place."""

from __future__ import annotations

import os
from contextlib import contextmanager

from pflow import TYPE_CHECKING
from pflow.driver.begin import is_same
from pflow.driver.resume.choices import Choices
from pflow.driver.resume.reopen import Reopened
from pflow.errors import CANNOT_WRITE, PflowError, reason_of
from pflow.files.atomic import open_private, take_turn
from pflow.files.xdg import make_private, state_key
from pflow.record.journal.lines import JOURNAL, read_lines
from pflow.record.journal.seal import seal
from pflow.record.log import FLOW, runs_directory
from pflow.record.runs import Run, run_directories

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.driver.arguments import RunFlags
    from pflow.driver.begin import Beginning, Record


@contextmanager
def alone() -> Iterator[None]:
    """Keep others from looking while this process looks, and begins a run where it finds none."""
    place = runs_directory()
    if place is None:
        yield
        return
    try:
        make_private(place)
        fd = open_private(os.path.join(place, ".resuming"))
    except OSError as error:
        what = f"cannot look for an unfinished run in '{place}': {reason_of(error)}"
        raise PflowError(what, exit=CANNOT_WRITE) from None
    try:
        take_turn(fd)
        yield
    finally:
        os.close(fd)


def find_unfinished(beginning: Beginning, flags: RunFlags) -> Reopened | None:
    """Reopen the run; None if there is no unfinished one. Raises PflowError as `Reopened` does."""
    wanted, record = beginning.flow_text(), beginning.record(flags)
    seal(record, beginning.secrets, state_key())
    for directory in run_directories():
        if _first_line(directory, FLOW) != wanted:
            continue
        before = _begin_of(directory)
        if before is not None and {"begin", "store"} <= before.keys() and is_same(before, record):
            run = Run(directory)
            if run.exit != 0:
                return Reopened(run, Choices(), beginning.secrets)
    return None


def _begin_of(directory: str) -> Record | None:
    """What a run began with; None where it has no journal, or was ended before that began. Raises PflowError (65)."""
    try:
        return next(iter(read_lines(_first_line(directory, JOURNAL))[0]), None)
    except PflowError as error:
        raise error.within(f"cannot resume the run {os.path.basename(directory)}") from None


def _first_line(directory: str, name: str) -> bytes:
    try:
        with open(os.path.join(directory, name), "rb") as file:
            return file.readline()
    except OSError:
        return b""
