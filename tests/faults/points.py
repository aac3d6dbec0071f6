"""A point of fault: what is checked, in a directory and a process of its own, and what it may not leave behind."""

import atexit
import os
import random
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple, NoReturn

LIMIT = 300
"""Seconds after which a point hangs, on a machine with much else to do."""

LAST = 10
"""Seconds within which what a point started has ended too."""

BIN = Path(sys.executable).parent
OWN = {"HOME": "home", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data", "TMPDIR": "tmp"}
FORGOTTEN = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "NO_COLOR", "CLICOLOR_FORCE", "MAKEFLAGS", "MAKELEVEL")
DRAFTS = (".pflow-*.tmp", "journal.jsonl.tmp")


class Point(NamedTuple):
    """A fault, and what holds pflow to its promises under it; AssertionError is a difference.

    The id, FAMILY/KIND/…, and the seed determine it. It begins in DIRECTORY/work, with home, state, cache, data and tmp
    beside it, all of them empty; what is shared by all points of a run lies in the directory's parent.
    """

    id: str
    check: Callable[[Path], None]


def dice(id: str, seed: int) -> random.Random:
    """Return the chances of one point."""
    return random.Random(f"{seed} {id}")


def series(
    kind: str, names: Iterable[str], seed: int, act: Callable[[Path, str, random.Random], None]
) -> Iterator[Point]:
    """Yield points without end, KIND/NAME/NUMBER, of one name after another; `act` gets directory, name and chances."""
    for number, name in enumerate(cycle(names)):
        id = f"{kind}/{name}/{number}"
        yield Point(id, lambda directory, id=id, name=name: act(directory, name, dice(id, seed)))


def spread(share: int, *kinds: Iterable[Point]) -> Iterator[Point]:
    """Take so many points, from each kind in turn, so that a small share has every kind too."""

    def turns() -> Iterator[Point]:
        left = [iter(kind) for kind in kinds]
        while left:
            for kind in [*left]:
                if (point := next(kind, None)) is None:
                    left.remove(kind)
                else:
                    yield point

    return islice(turns(), share)


def hold(point: Point, directory: Path) -> str:
    """Check the point in a process of its own; return the difference, or nothing."""
    directory.mkdir(parents=True)
    mark = f"{point.id} {os.getpid()} {time.monotonic_ns()}"
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _check(point, directory, mark, writer)
    os.close(writer)
    difference = _difference(reader)
    if difference is None:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(reader)
    left = _end_all(mark)
    if difference is None:
        return f"it hangs: {LIMIT} seconds"
    return difference or left or left_files(directory)


def remove(directory: Path) -> None:
    """Remove what a point made, whatever its mode."""
    for path, _, _ in os.walk(directory):
        os.chmod(path, 0o700)
    shutil.rmtree(directory, ignore_errors=True)


def _check(point: Point, directory: Path, mark: str, writer: int) -> NoReturn:
    found = ""
    atexit._clear()  # what a fork of this process runs at its end is not its parent's
    try:
        for name in ("work", *OWN.values()):
            (directory / name).mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PFLOW_", "XDG_"))}
        own = {name: str(directory / place) for name, place in OWN.items()}
        path = f"{BIN}:{kept.get('PATH', os.defpath)}"
        os.environ.clear()
        os.environ.update({name: value for name, value in kept.items() if name not in FORGOTTEN})
        os.environ.update({**own, "PATH": path, "FAULT_POINT": mark})
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(directory / "work")
        point.check(directory)
    except AssertionError as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        found = f"{error} ({Path(place.filename).name}:{place.lineno}: {place.line})"
    except BaseException:
        found = traceback.format_exc()
    finally:
        os.write(writer, found.encode(errors="replace")[-60_000:] + b"\0")
        os._exit(0)


def _difference(reader: int) -> str | None:
    """Read what the process found; None if it is not done in time."""
    text, end = b"", time.monotonic() + LIMIT
    while select.select([reader], [], [], max(0, end - time.monotonic()))[0]:
        part = os.read(reader, 65536)
        text += part
        if not part or text.endswith(b"\0"):
            return text[:-1].decode() if text else "its process was killed"
    return None


def processes(mark: str) -> list[int]:
    """List the processes that have the mark in the environment that they were started with."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended, or is another user's
        if f"FAULT_POINT={mark}".encode() in words:
            found.append(int(entry.name))
    return found


def _end_all(mark: str) -> str:
    """Wait for what the point started; kill what lives on, and say what it was."""
    end = time.monotonic() + LAST
    while (left := processes(mark)) and time.monotonic() < end:
        time.sleep(0.01)
    names = []
    for pid in left:
        try:
            names.append(Path("/proc", str(pid), "cmdline").read_text().replace("\0", " ")[:200])
            os.kill(pid, signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return f"left behind: {names}" if names else ""


def left_files(directory: Path) -> str:
    drafts = [path for pattern in DRAFTS for path in directory.rglob(pattern)]
    left = [str(path.relative_to(directory)) for path in [*drafts, *(directory / "tmp").glob("*")]]
    return f"left behind: {left}" if left else ""
