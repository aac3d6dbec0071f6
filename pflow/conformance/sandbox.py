"""One run of a node in a new directory and home: its input, its output, and demands on the output."""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from pflow.conformance.samples import FILES, OutputDocument
from pflow.errors import EXIT_CODES, reason_of
from pflow.files.directories import llm_directory
from pflow.process.children import GRACE, Program, children_of, end, end_orphans, wait_for_end
from pflow.process.confine import restrict_to
from pflow.process.signals import Deadline, TimedOut

ALL, GONE, EARLY = "", " | true", " | head -c 1"
"""The reader of stdout, as a shell's words: one that reads to the end, none, or one that leaves after a byte."""

_LATE = "it did not end in time (--timeout gives it longer)"
_ENDLESS = "it did not end, and wrote more than 256 MB"
_CANNOT_START = 126
_LARGEST_FILE = 256 << 20
_GRACE = GRACE / 2
"""The seconds that a node's own children may outlive it."""

_WATCHED = {"work": "", "home": "$HOME/", "tmp": "$TMPDIR/"}
"""The directories that a program may write into, with their names in a report."""
_DIRECTORIES = (*_WATCHED, "xdg")
_KEPT = ("PATH", "LANG", "TZ", "TERM")
"""The variables that a confined run keeps, besides LC_*."""

_DROPPED = ("PFLOW_NODE", "PFLOW_NODES", "PFLOW_TRACE", "TRACEPARENT", "LC_ALL")


class Failed(Exception):
    """A demand that a run (None: the file) did not meet: what came, what was expected, what to change."""

    def __init__(self, run: NodeRun | None, came: str, expected: str, change: str = "") -> None:
        super().__init__(came)
        self.run, self.came, self.expected, self.change = run, came, expected, change


@dataclass
class NodeRun:
    """A run of a node: its input (`stdin` None is /dev/null), and after `start` how it ended.

    `code` is -n for signal n, and None if the node did not end, which `unended` explains. `changed` are the files that
    it touched; after several `times`, those whose size the last one changed. `left_running` is True if a process
    that it started outlived it. A `confined` run has a bare environment, writes only into its own directories, and has
    no TCP without `has_network`.
    """

    argv: list[str]
    stdin: bytes | None
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    reader: str = ALL
    times: int = 1
    code: int | None = None
    unended: str = ""
    confined: bool = False
    has_network: bool = True
    stdout: bytes = b""
    stderr: str = ""
    changed: tuple[str, ...] = ()
    left_running: bool = False

    def start(self, parent: Path, timeout: float) -> None:
        """Run the node in a new directory in `parent`. Raises OSError if that cannot be made."""
        with TemporaryDirectory(dir=parent, ignore_cleanup_errors=True) as folder:
            place = Path(folder)
            for name in (*_DIRECTORIES, "work/folder"):
                (place / name).mkdir()
            for name, text in {**FILES, **self.files}.items():
                (place / "work" / name).write_text(text, encoding="utf-8")
            for n in range(self.times):
                before = _snapshot(place, is_again=n > 0)
                self._run(place, timeout)
            after = _snapshot(place, is_again=n > 0)
        self.changed = tuple(name for name in sorted({*before, *after}) if before.get(name) != after.get(name))

    def _run(self, place: Path, timeout: float) -> None:
        known = children_of(os.getpid()) if self.confined else set()
        try:
            with self._start(place) as node:
                with Deadline(timeout):
                    code = node.talk()
                wait_for_end([node], _GRACE)
                self.code, self.left_running = code, node.is_left()
                end([node], 0)
        except TimedOut:
            self.unended = _LATE
        except (OSError, ValueError) as error:
            self.code, self.stderr = _CANNOT_START, f"cannot start it: {reason_of(error)}"
            return
        finally:
            self.left_running |= self.confined and end_orphans(known, _GRACE)
        with open(place / "stderr", encoding="utf-8", errors="replace") as said:
            self.stderr = said.read(1 << 20)
        if os.path.getsize(place / "stdout") >= _LARGEST_FILE:
            self.code, self.unended = None, _ENDLESS
        elif self.code is not None:
            self.stdout = (place / "stdout").read_bytes()

    def _start(self, place: Path) -> Program:
        env, work = {**_environment(place, bare=self.confined), **self.environment}, str(place / "work")
        own = [str(place / name) for name in _DIRECTORIES]
        restrict = partial(restrict_to, own, has_network=self.has_network) if self.confined else None
        with open(place / "stderr", "wb") as stderr, open(place / "stdout", "wb") as file:
            ours, theirs = os.pipe()
            if self.reader == EARLY:
                threading.Thread(target=_read_one_byte, args=(ours,), daemon=True).start()
            else:
                os.close(ours)
            output = file.fileno() if self.reader == ALL else theirs
            try:
                return Program(
                    self.argv, input=self.stdin, on_stdout=output, on_stderr=stderr.fileno(), env=env, directory=work,
                    restrict=restrict,
                )  # fmt: skip
            finally:
                os.close(theirs)

    @cached_property
    def answer(self) -> OutputDocument:
        return OutputDocument(self.stdout)

    def writes(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the values that the node wrote to these keys, and the action that it returned."""
        found = {name: self.answer.members[name] for name in names if name in self.answer.members}
        return {} if self.answer.fault else {**found, "$action": self.answer.action}

    @property
    def ending(self) -> str:
        """The exit code, and the line of stderr that says why."""
        if self.code is None:
            return self.unended
        said = self.stderr.strip().splitlines()
        code = f"signal {-self.code} ({signal.strsignal(-self.code)})" if self.code < 0 else f"exit code {self.code}"
        if self.code in (126, 127) and not said:
            return f"{code}: its interpreter, or a program that it runs, is missing"
        why = [line for line in said if re.match(r"pflow-|pflow: |[\w.]*(Error|Exception)\b", line)]
        return f"{code}: {(why or said)[-1]}" if said else code

    def fail(self, came: str, expected: str, change: str = "") -> NoReturn:
        raise Failed(self, came, expected, change)

    def expect_exit(self, code: int, change: str = "") -> None:
        if self.code != code:
            self.fail(self.ending, f"exit code {code} ({EXIT_CODES.get(code, 'as the document says')})", change)

    def expect_refusal(self, code: int, change: str = "") -> None:
        """Raise Failed unless the node ended with this code and touched nothing."""
        self.expect_exit(code, change)
        if self.changed:
            self.fail(f"it changed {', '.join(self.changed)}", "nothing is done", "look at the input before you act")

    def expect_answer(self, change: str = "") -> OutputDocument:
        """Return the document that the node wrote. Raises Failed unless it ended with 0 and without an error."""
        self.expect_exit(0, change)
        if self.answer.fault:
            self.fail(f"on stdout: {self.answer.fault}", "one store document", change)
        if self.answer.error:
            self.fail(f"an error document: {self.answer.error.get('message')}", "a document without an error", change)
        return self.answer


def limit_files() -> None:
    """Limit the size of files of this process and its children: a program that never stops would fill the disk."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    soft = _LARGEST_FILE if most == resource.RLIM_INFINITY else min(most, _LARGEST_FILE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, most))


def _read_one_byte(fd: int) -> None:
    os.read(fd, 1)
    os.close(fd)


def _environment(place: Path, *, bare: bool) -> dict[str, str]:
    """Return our environment with the home and temporary directories in `place`, and with our settings for models.

    A `bare` environment has only what an installed node gets, and keeps Python from writing bytecode beside modules.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    models = llm_directory()
    if bare:
        kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("LC_")}
        kept["PYTHONDONTWRITEBYTECODE"] = "1"
    elif os.path.isdir(models):
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


def _snapshot(place: Path, *, is_again: bool) -> dict[str, tuple[int, ...]]:
    """Return every file that a program could have touched, with its size, and unless `is_again` its time."""
    found = {}
    for top, shown in _WATCHED.items():
        for path in (place / top).rglob("*"):
            with suppress(OSError):  # a program that still runs may remove it meanwhile
                status = path.lstat()
                touched = () if path.is_dir() else (status.st_size, 0 if is_again else status.st_mtime_ns)
                found[shown + str(path.relative_to(place / top))] = (status.st_mode, *touched)
    return found
