"""Running a program: feeding it, reading its output as it comes, and ending it with all its children."""

from __future__ import annotations

import os
import sys

from pflow import TYPE_CHECKING, Any, Callable, Iterator, Mapping
from pflow.files.beneath import CONFINED
from pflow.process.guard import Guard
from pflow.process.signals import HeldSignals

if TYPE_CHECKING:
    import signal as _signal

    Taker = Callable[[bytes], None]
else:
    import _signal  # signal's C part, as in pflow.process.signals

GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""

_PART = 1 << 16
_WHOLE_PIPE = 1 << 20
_TICK = 50
_DEAD = (b"Z", b"X")
_MAY_WRITE = 0o200


def run(
    argv: list[str | bytes],
    *,
    on_stdout: Taker | int,
    on_stderr: Taker,
    input: bytes | None = None,
    env: Mapping[str, str] | None = None,
    on_start: Callable[[int], None] | None = None,
) -> int:
    """Run a program to its end and return its exit code, -n if signal n killed it.

    `input` goes to its stdin (None: /dev/null); the program need not read it. The takers get its output in parts as
    they come; if `on_stdout` is a descriptor, the program writes to that itself. `on_start` gets its process id. It
    returns when the program ends, even if others still hold its stdout open. On any exception, a signal handler's
    included, its whole session is ended first, and by a guard after kill -9 of us or a second signal. Raises OSError if
    it does not start.
    """
    collect_children()
    held = HeldSignals()  # an exception before the child is known would leave it running
    try:
        with Guard() as guard:
            child = _Child(argv, env, input, (on_stdout, on_stderr))
            try:
                guard.watch(child.pid)
                held.release()
                if on_start:
                    on_start(child.pid)
                return child.talk()
            except BaseException:
                child.end()
                raise
            finally:
                child.close()
    finally:
        held.release()


def collect_children() -> None:
    """Make sure to get exit codes of children even if our parent ignores SIGCHLD."""
    if _signal.getsignal(_signal.SIGCHLD) == _signal.SIG_IGN:
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)


def end_with_parent(parent: int) -> None:
    """Make this child process end when its parent does, even by kill -9; exit if the parent is gone already."""
    if sys.platform == "linux":
        import ctypes

        set_parent_death_signal = 1  # prctl(2)
        ctypes.CDLL(None).prctl(set_parent_death_signal, int(_signal.SIGTERM))
    if os.getppid() != parent:
        os._exit(143)


class _Child:
    """A running program, our ends of its pipes and, once it has ended, its exit code."""

    def __init__(
        self,
        argv: list[str | bytes],
        env: Mapping[str, str] | None,
        input: bytes | None,
        outputs: tuple[Taker | int, Taker | int],
    ) -> None:
        self.code: int | None = None
        self.open: set[int] = set()
        self.takers: dict[int, Taker] = {}
        self.rest = memoryview(input or b"")
        theirs: list[int] = []
        try:
            self.stdin = None if input is None else self._pipe(theirs, ours=1)
            for output in outputs:
                if isinstance(output, int):
                    theirs.append(os.dup(output))
                else:
                    self.takers[self._pipe(theirs, ours=0)] = output
            self.pid = _spawn(argv, env, theirs)
        except BaseException:
            self.close()
            raise
        finally:
            for fd in theirs:
                os.close(fd)

    def _pipe(self, theirs: list[int], ours: int) -> int:
        ends = os.pipe()
        theirs.append(ends[1 - ours])
        self.open.add(ends[ours])
        os.set_blocking(ends[ours], False)
        return ends[ours]

    def close(self, *fds: int) -> None:
        """Close some of our ends, or all."""
        for fd in fds or list(self.open):
            self.open.remove(fd)
            os.close(fd)

    def talk(self) -> int:
        """Feed it and read it until it has ended."""
        end = self._watch_end()
        while self.code is None:
            for fd in self._ready(end):
                if fd == self.stdin:
                    self._feed(fd)
                elif fd != end:
                    self._take(fd, self.takers[fd], _PART)
            self._has_ended()
        assert self.code is not None
        for fd in self.takers.keys() & self.open:
            # Its output is in the pipe by now. Waiting for the pipe's end would be waiting for its daemons.
            self._take(fd, self.takers[fd], _WHOLE_PIPE)
        return self.code

    def _watch_end(self) -> int | None:
        """Open a descriptor that becomes readable when the program ends, if the system has such."""
        try:
            end = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            return None
        self.open.add(end)
        return end

    def _ready(self, end: int | None) -> list[int]:
        import select

        poll = select.poll()
        for fd in self.open:
            poll.register(fd, select.POLLOUT if fd == self.stdin else select.POLLIN)
        return [fd for fd, _ in poll.poll(_TICK if end is None else None)]

    def _feed(self, fd: int) -> None:
        try:
            self.rest = self.rest[os.write(fd, self.rest[:_PART]) :]
        except BrokenPipeError:
            self.rest = self.rest[:0]  # the program need not read it
        if not self.rest:
            self.close(fd)

    def _take(self, fd: int, taker: Taker, size: int) -> None:
        try:
            part = os.read(fd, size)
        except BlockingIOError:
            return
        if part:
            taker(part)
        else:
            self.close(fd)

    def _has_ended(self) -> bool:
        if self.code is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # a signal interrupted the last call after it had collected the child
                pid, status = self.pid, 0
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def end(self) -> None:
        """Send SIGTERM to its whole session, and SIGKILL to the rest after GRACE."""
        try:
            signal_session(self.pid, _signal.SIGTERM, _signal.SIGCONT)  # it may be stopped
            self._wait_for_end()
        finally:
            signal_session(self.pid, _signal.SIGKILL)
            self._wait_for_end()

    def _wait_for_end(self) -> None:
        import time

        limit = time.monotonic() + GRACE
        while not (self._has_ended() and not running_groups(self.pid)) and time.monotonic() < limit:
            time.sleep(0.01)


def _spawn(argv: list[str | bytes], env: Mapping[str, str] | None, theirs: list[int]) -> int:
    """Start a program in its own session: without a terminal, since asking there from the background would stop it.

    Inheritable files stay open in it, as with any shell. One that a run within bounds starts is confined to them.
    """
    files: list[Any] = [] if len(theirs) == 3 else [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    files += [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate(theirs, 3 - len(theirs))]

    def start() -> int:
        return os.posix_spawnp(
            argv[0],
            argv,
            environment() if env is None else env,
            file_actions=files,
            setsid=True,
            setsigdef=(_signal.SIGPIPE, _signal.SIGXFSZ),  # which Python ignores
        )

    if not os.environ.get(CONFINED):
        return start()
    from pflow.process.confine import start_restricted

    return start_restricted(start)


def environment() -> Mapping[str, str]:
    """Return our environment without the LC_CTYPE that Python sets when it is started in the C locale."""
    if os.environ.get("LC_CTYPE") != "C.UTF-8":
        return os.environ
    try:
        with open("/proc/self/environ", "rb") as environ:
            was_set = b"\0LC_CTYPE=" in b"\0" + environ.read()
    except OSError:
        was_set = True
    return os.environ if was_set else {name: value for name, value in os.environ.items() if name != "LC_CTYPE"}


def running_groups(session: int) -> set[int]:
    """Return the running process groups of a session: its leader's, and those of `timeout` and job control.

    Zombies do not count.
    """
    if os.path.exists("/proc/self/stat"):
        return {int(fields[2]) for _, _, fields in _processes(session) if fields[0] not in _DEAD}
    return {session} if _signal_group(session, 0) else set()


def signal_session(session: int, *signums: int) -> None:
    for group in running_groups(session):
        for signum in signums:
            _signal_group(group, signum)


def holder(file: str) -> str:
    """Return the other process that opened a file first, `4711 (sleep)`; empty if the system has no /proc."""
    found = [(int(fields[19]), f"{pid} ({name.decode(errors='replace')})") for pid, name, fields, _ in _holders(file)]
    return min(found, default=(0, ""))[1]


def writers(fd: int) -> list[str]:
    """Return the processes that can write to a pipe, the newest first, `4711 (sleep)`; empty without /proc."""
    found = [(int(about[19]), f"{pid} ({name.decode(errors='replace')})") for pid, name, about, mode in _holders(fd)
             if mode & _MAY_WRITE]  # fmt: skip
    return [each for _, each in sorted(found, reverse=True)]


def _holders(file: str | int) -> Iterator[tuple[int, bytes, list[bytes], int]]:
    """Yield each other process that opened a file, as `_processes` does, with the mode of its descriptor's link."""
    for pid, name, fields in _processes() if os.path.isdir("/proc") else ():
        try:
            for link in descriptors(pid, file) if pid != os.getpid() else ():
                yield pid, name, fields, os.lstat(link).st_mode
        except OSError:
            pass  # it has ended, or belongs to another user


def descriptors(pid: int, file: str | int) -> Iterator[str]:
    """Yield the link to each descriptor of a process that is of this file. Raises OSError."""
    about = os.stat(file)
    for fd in os.listdir(f"/proc/{pid}/fd"):
        link = f"/proc/{pid}/fd/{fd}"
        if os.path.samestat(os.stat(link), about):
            yield link


def _processes(session: int = 0) -> Iterator[tuple[int, bytes, list[bytes]]]:
    """Yield each process's number, its name, which may contain anything, and the fields after it (proc_pid_stat(5)).

    Among these fields 0 is the state, 2 the group, 19 the start. With a session only its processes are read, since
    reading all takes milliseconds.
    """
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if session and os.getsid(int(pid)) != session:
                continue
            with open(f"/proc/{pid}/stat", "rb") as file:
                about, _, fields = file.read().rpartition(b") ")
        except OSError:
            continue  # it has ended
        if fields:
            yield int(pid), about.partition(b" (")[2], fields.split()


def _signal_group(group: int, signum: int) -> bool:
    """Send a signal; return True if a process got it. Processes of other users do not."""
    try:
        os.killpg(group, signum)
    except (ProcessLookupError, PermissionError):
        return False
    return True
