"""Running a program in a new directory with a home of its own: what it wrote, changed and left running."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from pflow.process.children import running_groups, signal_session
from pflow.process.signals import HeldSignals

ALL, GONE, EARLY = "all", "gone", "early"
"""Who reads stdout: somebody to its end, nobody, or somebody who goes away after the first byte."""

LATE = "it did not end in time (--timeout gives it longer)"
ENDLESS = "it did not end, and wrote more than 256 MB"

_CANNOT_START = 126
_LARGEST_FILE = 256 << 20
_MOST_SAID = 1 << 20
_SHOWN = {"work": "", "home": "$HOME/", "tmp": "$TMPDIR/"}
"""The directories that a program may write into, and how a report calls them."""
_DROPPED = ("PFLOW_NODE", "PFLOW_NODES", "PFLOW_TRACE", "TRACEPARENT", "LC_ALL")


@dataclass
class Sent:
    """What a run is given. `stdin` None is /dev/null; with `grace` its children may run on for so many seconds."""

    words: list[str]
    stdin: bytes | None
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    reader: str = ALL
    grace: float | None = None


@dataclass
class Ended:
    """How a run ended: its exit code (-n for signal n; None where it did not end, which `unended` explains).

    `changed` are the files that it touched; `left_running` says whether something that it started outlived it.
    """

    code: int | None
    stdout: bytes
    stderr: bytes
    unended: str = ""
    left_running: bool = False
    changed: tuple[str, ...] = ()


def limit_files() -> None:
    """Limit the size of files, ours and our children's: a program that never stops would fill the disk."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    soft = _LARGEST_FILE if most == resource.RLIM_INFINITY else min(most, _LARGEST_FILE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, most))


def run_in(parent: Path, argv: list[str], sent: Sent, timeout: float) -> Ended:
    """Run a program in a new directory in `parent`, and end whatever it started.

    Raises OSError where the directory cannot be made.
    """
    with TemporaryDirectory(dir=parent, ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        _furnish(place, sent.files)
        before = _snapshot(place)
        ended = _run(place, argv, sent, timeout)
        after = _snapshot(place)
    ended.changed = tuple(name for name in sorted({*before, *after}) if before.get(name) != after.get(name))
    return ended


def _run(place: Path, argv: list[str], sent: Sent, timeout: float) -> Ended:
    home = str(place / "home")
    held = HeldSignals()  # an exception before the process is known would leave it running
    try:
        process = _start(place, argv, sent)
    except (OSError, ValueError) as error:
        held.release()
        return Ended(_CANNOT_START, b"", f"cannot start it: {getattr(error, 'strerror', error)}".encode())
    try:
        held.release()
        threading.Thread(target=_feed, args=(process.stdin, sent.stdin), daemon=True).start()
        process.wait(timeout)
        left_running = sent.grace is not None and not _ends_soon(process.pid, home, sent.grace)
    except subprocess.TimeoutExpired:
        return Ended(None, b"", _said(place), LATE)
    finally:
        signal_session(process.pid, 9)
        for pid in _strays(home):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, 9)
        process.wait()
    if os.path.getsize(place / "stdout") >= _LARGEST_FILE:
        return Ended(None, b"", _said(place), ENDLESS)
    return Ended(process.returncode, (place / "stdout").read_bytes(), _said(place), left_running=left_running)


def _feed(pipe: IO[bytes] | None, data: bytes | None) -> None:
    with suppress(OSError):  # a program need not read its input
        if pipe is not None:
            with pipe:
                pipe.write(data or b"")


def _start(place: Path, argv: list[str], sent: Sent) -> subprocess.Popen[bytes]:
    with _stdout(place, sent.reader) as stdout, open(place / "stderr", "wb") as stderr:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL if sent.stdin is None else subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            cwd=place / "work",
            env={**_environment(place), **sent.environment},
            start_new_session=True,
        )


@contextmanager
def _stdout(place: Path, reader: str) -> Iterator[int]:
    """Where a program writes: a file, or a pipe that nobody reads to its end."""
    with open(place / "stdout", "wb") as file:
        if reader == ALL:
            yield file.fileno()
            return
    ours, theirs = os.pipe()
    if reader == GONE:
        os.close(ours)
    else:
        threading.Thread(target=_read_one_byte, args=(ours,), daemon=True).start()
    try:
        yield theirs
    finally:
        os.close(theirs)


def _read_one_byte(fd: int) -> None:
    os.read(fd, 1)
    os.close(fd)


def _said(place: Path) -> bytes:
    """The last of what was said on stderr."""
    with open(place / "stderr", "rb") as file:
        file.seek(max(0, os.path.getsize(file.name) - _MOST_SAID))
        return file.read()


def _ends_soon(session: int, home: str, grace: float) -> bool:
    """Whether nothing of a run runs any more, now or before `grace` is over."""
    end = time.monotonic() + grace
    while running_groups(session) or _strays(home):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def _strays(home: str) -> list[int]:
    """The processes of a run, sessions of their own included: those with its HOME. None on a system without /proc."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it ended meanwhile, or belongs to another user
            if f"HOME={home}".encode() in file.read_bytes().split(b"\0"):
                found.append(int(file.parent.name))
    return found


def _furnish(place: Path, files: Mapping[str, str]) -> None:
    for name in (*_SHOWN, "xdg"):
        (place / name).mkdir(parents=True)
    for name, text in files.items():
        file = place / "work" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _environment(place: Path) -> dict[str, str]:
    """Our environment with home and temporary directory in `place`, and with the settings of models as they are."""
    kept = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    config = kept.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    models = kept.get("LLM_USER_PATH") or os.path.join(config, "io.datasette.llm")
    if "LLM_USER_PATH" in kept or os.path.isdir(models):
        kept["LLM_USER_PATH"] = os.path.abspath(models)
    ours = [os.path.dirname(os.path.abspath(program)) for program in (sys.argv[0], sys.executable)]
    return {
        **kept,
        **{f"XDG_{name}_HOME": str(place / "xdg") for name in ("CONFIG", "DATA", "STATE", "CACHE")},
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "PWD": str(place / "work"),
        "PATH": os.pathsep.join([kept.get("PATH", os.defpath), *ours]),
    }


def _snapshot(place: Path) -> dict[str, str]:
    """Every file that a program could have touched: its mode and digest."""
    found = {}
    for top, shown in _SHOWN.items():
        for folder, folders, files in os.walk(place / top):
            for path in (os.path.join(folder, name) for name in [*folders, *files]):
                found[shown + os.path.relpath(path, place / top)] = _state(path)
    return found


def _state(path: str) -> str:
    mode = ""
    with suppress(OSError):  # it is gone again, or may not be read
        mode = f"{os.lstat(path).st_mode:o}"
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, "rb") as file:
                return f"{mode} {hashlib.file_digest(file, 'sha256').hexdigest()}"
    return mode
