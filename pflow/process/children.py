"""Child processes: start one, talk to it, and end it with all that it started."""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING, Callable, Iterable, Iterator, Mapping, Sequence
from pflow.errors import Ignoring
from pflow.process.signals import HeldSignals, is_main_thread
from pflow.process.start import Guard, spawn

if TYPE_CHECKING:
    import signal as _signal

    Taker = Callable[[bytes], None]
else:
    import _signal  # signal's C part, as in pflow.process.signals

GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""

_PART = 1 << 16
_WHOLE_PIPE = 1 << 20
"""More bytes than a pipe holds, unless root has enlarged it (pipe(7))."""
_TICK = 0.005
_DEAD = (b"Z", b"X")
_MAY_WRITE = 0o200
_FORKED = 0x40
"""The flag of a process that was forked and has not begun a program of its own (proc_pid_stat(5))."""


class Child:
    """A process that this one started. `code` is its exit code once it has ended: -n if signal n killed it."""

    def __init__(self, pid: int, *, leads_session: bool = False) -> None:
        self.pid = pid
        self.leads_session = leads_session
        self.code: int | None = None

    def has_ended(self) -> bool:
        """Return True if the process has ended."""
        with HeldSignals():  # waitpid tells the code only once: an exception before it is noted would lose it
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG) if self.code is None else (0, 0)
            except ChildProcessError:  # SIGCHLD is ignored: then the kernel keeps no code
                pid, status = self.pid, 0
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def is_left(self) -> bool:
        """Return True if the process, or another one in the session that it leads, still runs."""
        return not self.has_ended() or (self.leads_session and bool(running_groups(self.pid)))

    def signal(self, *signums: int) -> None:
        """Send signals to the process and all others in the session that it leads."""
        if self.leads_session:  # no call signals a session, only its process groups one by one
            for group in running_groups(self.pid):
                for signum in signums:
                    _signal_group(group, signum)
        elif not self.has_ended():
            for signum in signums:
                os.kill(self.pid, signum)

    def hang_up(self) -> None:
        """Close the connection to the process, if there is one, so that neither side waits for the other."""


def end(children: Iterable[Child], grace: float | None = None) -> None:
    """Send SIGTERM to children and what they started, and SIGKILL to what is left after `grace` seconds, else GRACE."""
    children = [*children]
    try:
        for child in children:
            child.signal(_signal.SIGTERM, _signal.SIGCONT)  # a stopped process must go on to get SIGTERM
            child.hang_up()
        wait_for_end(children, GRACE if grace is None else grace)
    finally:  # at once, if a second signal cuts the wait short
        for child in children:
            child.signal(_signal.SIGKILL)
        wait_for_end(children, GRACE)


def wait_for_end(children: Sequence[Child], seconds: float) -> None:
    """Wait until nothing is left of children, but no longer than so many seconds."""
    limit = time.monotonic() + seconds
    while any(child.is_left() for child in children) and time.monotonic() < limit:
        time.sleep(_TICK)  # nothing wakes us when a grandchild ends: it is not our child


class Program(Child):
    """A program in a session of its own: `with Program(…):` ends the session on any exception, a signal handler's too.

    A guard ends the session after a kill -9 of this process or a second signal. `input` goes to the program's stdin,
    which it need not read; without `input`, stdin is /dev/null. `on_stdout` and `on_stderr` get its output in parts as
    they arrive. A descriptor in place of any of these is passed to the program. `restrict` confines the thread that
    starts it. Raises OSError if it does not start.
    """

    def __init__(
        self,
        argv: Sequence[str | bytes],
        *,
        on_stdout: Taker | int,
        on_stderr: Taker | int,
        input: bytes | int | None = None,
        env: Mapping[str, str] | None = None,
        directory: str | None = None,
        restrict: Callable[[], None] | None = None,
    ) -> None:
        collect_children()
        self.stdin = -1
        self.rest = memoryview(input if isinstance(input, bytes) else b"")
        self.takers: dict[int, Taker] = {}
        self.open: set[int] = set()
        theirs: list[int] = []
        self._held = HeldSignals()  # an exception before the child is known would leave it running
        try:
            self._guard = Guard()  # started first, so that the program is never without a guard
        except BaseException:
            self._held.release()
            raise
        try:
            files = [self._file(end, theirs) for end in (input, on_stdout, on_stderr)]
            super().__init__(spawn(argv, files, env, directory, restrict=restrict), leads_session=True)
        except BaseException:
            self._close(ends_session=False)
            self._held.release()
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        self._guard.watch(self.pid)

    def _file(self, end: bytes | int | Taker | None, theirs: list[int]) -> int:
        """Return the program's descriptor for `end`: `end` itself, or an end of a new pipe, which `theirs` gets."""
        if end is None or isinstance(end, int):
            return -1 if end is None else end
        ours, other = os.pipe()
        if isinstance(end, bytes):
            ours, other = other, ours
            self.stdin = ours
        else:
            self.takers[ours] = end
        self.open.add(ours)
        os.set_blocking(ours, False)
        theirs.append(other)
        return other

    def __enter__(self) -> Program:
        try:
            self._held.release()
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def __exit__(self, error: type[BaseException] | None, *about: object) -> None:
        """End the session after an exception; otherwise leave the processes that the program left in the background."""
        try:
            if error is not None:
                end([self])
        finally:
            self._close(ends_session=error is not None)

    def _close(self, *, ends_session: bool) -> None:
        for fd in [*self.open]:
            self._close_pipe(fd)
        self._guard.close(ends_session=ends_session)

    def _close_pipe(self, fd: int) -> None:
        self.open.remove(fd)
        os.close(fd)

    def hand_over_stdin(self) -> int:
        """Return our end of its stdin, which the caller then feeds and closes."""
        self.open.remove(self.stdin)
        return self.stdin

    def talk(self) -> int:
        """Feed it and read it until it ends, even if others still have its stdout open, and return its exit code."""
        end = self._watch_end()
        while not self.has_ended():
            for fd in self._ready(end):
                if fd == self.stdin:
                    self._feed(fd)
                elif fd != end:
                    self._take(fd, _PART)
        for fd in self.takers.keys() & self.open:
            # Its output is in the pipe by now. Waiting for the pipe's end would be waiting for its daemons.
            self._take(fd, _WHOLE_PIPE)
        assert self.code is not None
        return self.code

    def _watch_end(self) -> int | None:
        """Open a descriptor that becomes readable when the program ends; None where the system has no pidfd."""
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
        return [fd for fd, _ in poll.poll(50 if end is None else None)]  # in ms: without a pidfd, look for its end

    def _feed(self, fd: int) -> None:
        try:
            self.rest = self.rest[os.write(fd, self.rest[:_PART]) :]
        except BrokenPipeError:
            self.rest = self.rest[:0]  # it read as much as it wanted, as head does
        if not self.rest:
            self._close_pipe(fd)

    def _take(self, fd: int, size: int) -> None:
        try:
            part = os.read(fd, size)
        except BlockingIOError:  # the pipe is empty, and a daemon of the program keeps it open
            return
        if part:
            self.takers[fd](part)
        else:
            self._close_pipe(fd)


def run(
    argv: Sequence[str | bytes],
    *,
    on_stdout: Taker | int,
    on_stderr: Taker | int,
    input: bytes | None = None,
    env: Mapping[str, str] | None = None,
    directory: str | None = None,
    restrict: Callable[[], None] | None = None,
) -> int:
    """Run a Program to its end and return its exit code, -n if signal n killed it. Raises OSError."""
    about = {"input": input, "env": env, "directory": directory, "restrict": restrict}
    with Program(argv, on_stdout=on_stdout, on_stderr=on_stderr, **about) as program:  # type: ignore[arg-type]
        return program.talk()


def output_of(argv: Sequence[str | bytes], env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Run a program as `run` does, and return its exit code, its stdout and its stderr."""
    stdout, stderr = bytearray(), bytearray()
    code = run(argv, on_stdout=stdout.extend, on_stderr=stderr.extend, env=env)
    return code, stdout.decode(errors="replace"), stderr.decode(errors="replace")


def adopt_orphans(*, is_on: bool) -> None:
    """Become the parent of every process that our children leave behind, even in another session; or stop that."""
    import ctypes

    set_child_subreaper = 36  # prctl(2)
    ctypes.CDLL(None).prctl(set_child_subreaper, int(is_on), 0, 0, 0)


def end_orphans(known: set[int], grace: float) -> bool:
    """End all children of this process that are not `known`. Return True if one still ran after `grace` seconds."""
    limit, is_late = time.monotonic() + grace, False
    while (there := children_of(os.getpid()) - known) and time.monotonic() < limit + GRACE:
        is_late = is_late or time.monotonic() >= limit
        for pid in there:
            with Ignoring(ProcessLookupError, ChildProcessError):
                if is_late:
                    os.kill(pid, _signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(_TICK)
    return is_late


def children_of(parent: int) -> set[int]:
    return {pid for pid, _, fields in _processes() if int(fields[1]) == parent}


def collect_children() -> None:
    """Make the kernel keep the exit codes of children. A parent that ignores SIGCHLD hands this down through exec."""
    if _signal.getsignal(_signal.SIGCHLD) == _signal.SIG_IGN and is_main_thread():
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)


def running_groups(session: int) -> set[int]:
    """Return the running process groups of a session: its leader's, and those of `timeout` and job control.

    Zombies do not count.
    """
    if os.path.exists("/proc/self/stat"):
        return {int(fields[2]) for _, _, fields in _processes(session) if fields[0] not in _DEAD}
    return {session} if _signal_group(session, 0) else set()


def holder(file: str) -> str:
    """Return the oldest other process that has a file open, as `4711 (sleep)`; empty if the system has no /proc."""
    return min(_holders(file), default=(0, ""))[1]


def writers(fd: int) -> list[str]:
    """Return the processes that can write to a pipe, the newest first, `4711 (sleep)`; empty without /proc."""
    return [who for _, who in sorted(_holders(fd, _MAY_WRITE), reverse=True)]


def feeds_pflow(fd: int) -> bool:
    """Return True if only programs of pflow, and the shells that run them, have a pipe as stdin; False without /proc.

    A program with -n does not count: the loop of a shell around it may read the pipe. Wait up to a second for a process
    that was forked and has not begun its program yet.
    """
    for _ in range(100):
        readers = dict(_readers(fd))
        if all(takes is not None for _, takes in readers.values()):
            break
        time.sleep(0.01)
    parents = {parent for parent, _ in readers.values()}
    return bool(readers) and all(takes or pid in parents for pid, (_, takes) in readers.items())


def _holders(file: str | int, mode: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the start time and name of each other process that has opened a file, in this `mode` if it is given."""
    for pid, name, fields in _processes():
        with Ignoring(OSError):  # it has ended, or belongs to another user
            for link in descriptors(pid, file) if pid != os.getpid() else ():
                if os.lstat(link).st_mode & mode == mode:
                    yield int(fields[19]), f"{pid} ({name.decode(errors='replace')})"


def _readers(fd: int) -> Iterator[tuple[int, tuple[int, bool | None]]]:
    """Yield each process whose stdin is this pipe, with its parent and the result of `_takes_stdin`."""
    for pid, name, fields in _processes():
        with Ignoring(OSError):  # it has ended, or belongs to another user
            if os.path.samestat(os.stat(f"/proc/{pid}/fd/0"), os.fstat(fd)):
                yield pid, (int(fields[1]), _takes_stdin(name, _words(pid), fields))


def _takes_stdin(name: bytes, words: list[bytes], fields: list[bytes]) -> bool | None:
    """Return True for a program of pflow that takes its stdin, False for others, None for one yet to be executed."""
    if words and (name.startswith(b"pflow-") or name.partition(b".")[0] == b"pflow"):
        letters = [word for word in words if word.startswith(b"-") and not word.startswith(b"--")]
        return b"--no-stdin" not in words and not any(b"n" in word for word in letters)
    is_forked = int(fields[6]) & _FORKED and fields[0] in (b"R", b"D")
    return None if is_forked or not words else False


def _words(pid: int) -> list[bytes]:
    """Return the words of a process's command, without its name. Raises OSError."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().split(b"\0")[1:]


def descriptors(pid: int, file: str | int) -> Iterator[str]:
    """Yield the link in /proc of each descriptor by which a process has this file open. Raises OSError."""
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
    for pid in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        try:
            if session and os.getsid(int(pid)) != session:
                continue
            with open(f"/proc/{pid}/stat", "rb") as file:
                about, _, fields = file.read().rpartition(b") ")
            name = about.partition(b" (")[2]
            if name.startswith(b"python"):  # where the locale is not UTF-8, a stage starts again as python -X utf8
                words = (word for word in _words(int(pid)) if not word.startswith(b"-") and word != b"utf8")
                script = os.path.basename(next(words, b""))
                name = script if script.startswith(b"pflow") else name
        except OSError:
            continue  # it ended after it was listed
        if fields:
            yield int(pid), name, fields.split()


def _signal_group(group: int, signum: int) -> bool:
    """Send a signal; return True if a process got it. Processes of other users do not."""
    try:
        os.killpg(group, signum)
    except (ProcessLookupError, PermissionError):
        return False
    return True
