"""A pool of worker processes: forked from this one, given work, heard through sockets, and ended with this one."""

from __future__ import annotations

import _socket  # socket's C part: the module itself loads selectors and enum
import os
import select
import time

from pflow import TYPE_CHECKING, Any, Callable
from pflow.errors import FAILED, NO_MEMORY, TRY_AGAIN, Attempt, PflowError, own_error
from pflow.process.children import GRACE, Child, collect_children, end
from pflow.process.signals import HeldSignals
from pflow.process.start import spawn
from pflow.process.streams import flush_prints
from pflow.process.worker import (
    ANSWER,
    ASKED,
    GONE,
    LINE,
    RESULT,
    SAID,
    WORK,
    Inbox,
    framed,
    own_parent,
    say_once,
    serve_parent,
)

if TYPE_CHECKING:
    import signal as _signal

    from pflow.process.worker import Serve

    Take = Callable[[Any], None]
    AskLater = Callable[[str, Any, Callable[[Any], None]], None]
    """Takes a request and the function for its answer, which it calls now or later; the asker raises a PflowError."""
else:
    import _signal  # signal's C part, as in pflow.process.signals

MOST_ALONE = 8
"""The most processes that work on one piece alone, in a pool whose processes otherwise have several threads."""

_LOOK = 1.0
"""Seconds between two looks at the processes."""


class Lost(PflowError):
    """The failure of work whose process is gone without a result; `is_guilty` if the process had no other work."""

    is_guilty = True


class Died(Lost):
    """The process that worked on it ended without an answer, so that its effects are unknown."""

    def __init__(self, code: int, most_memory: int = 0) -> None:
        how = f"signal {-code} killed it" if code < 0 else f"it exited with {code}"
        exit = 128 - code if code < 0 else code or FAILED
        if most_memory:
            how, exit = f"it grew over {most_memory >> 20} MB", NO_MEMORY
        super().__init__(f"cannot finish: its process is gone: {how}", exit=exit)
        self.is_cut = True  # no record may say that the work failed: a resume asks before it runs it again


class Worker(Child):
    """A child process, our end of the socket to it, and the numbers that it works on. It adds itself to `workers`."""

    is_alone = is_large = False
    is_retired = False
    """True if it gets no more work, and is ended when it has none."""
    abandoned = 0
    """The number of its pieces of work whose results are not wanted any more."""
    changed = 0.0
    """The time at which it last got or ended work."""

    def __init__(
        self, serve: Serve | list[str], workers: list[Worker], *, threads: int, is_foreign: bool = False
    ) -> None:  # fmt: skip
        self.workers = workers
        self.is_foreign = is_foreign
        self.numbers: set[int] = set()
        self.rest = bytearray()
        ours, theirs = _socket.socketpair()
        ours.setblocking(False)  # two that wait for each other to read would wait forever
        self.fd = ours.detach()
        self.read = Inbox(self.fd, is_foreign=is_foreign).read
        with HeldSignals() as held:  # an exception before the child is known would leave it running
            flush_prints()
            if isinstance(serve, list):
                super().__init__(spawn(serve, [theirs.fileno(), 2, 2]), leads_session=True)
            else:
                parent = os.getpid()
                super().__init__(os.fork())
                if self.pid == 0:
                    unused = [worker.fd for worker in [*workers, self]]
                    serve_parent(serve, theirs.fileno(), parent, held, unused=unused, threads=threads)
            workers.append(self)  # before a held signal is let through: its handler ends all workers
            theirs.close()

    def send(self, message: bytes) -> None:
        """Send as much of a message as the socket takes now; the pool sends the rest later."""
        self.rest += message
        try:
            del self.rest[: os.write(self.fd, self.rest)]
        except BlockingIOError:
            pass
        except OSError:  # it has ended; `read` reports that
            self.rest.clear()

    def close(self) -> None:
        """Let the process end, and wait until it has."""
        self.workers.remove(self)
        self.hang_up()
        if self.is_foreign:  # a stranger's code need not end when its socket is closed
            self.signal(9)
        while not self.has_ended():  # it ends as soon as it reads the end of the socket
            time.sleep(0.0005)

    def hang_up(self) -> None:
        """Close the socket."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def memory(self) -> int:
        """Return how many bytes of memory the process uses; 0 if the system does not say."""
        try:
            with open(f"/proc/{self.pid}/statm", "rb") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        except OSError:
            return 0


class Pool:
    """Processes for numbered pieces of work, at most `jobs` at once.

    If `serve` is a function, the processes are forks of this one that call it. This process should then have no
    threads, since a lock that one holds stays locked in the fork. Otherwise `serve` has the words of a program that
    calls serve_parent for the socket that is its stdin. With `threads`, as many processes as there are processors share
    the work. `take` gets the lines of the processes, and `ask` their requests; `ask` also gets a request `lost` with
    the id of each process that dies, so that the calls it had in flight are given up. A process that uses more than
    `memory` bytes is replaced. `is_foreign` processes run a stranger's code (Inbox).
    """

    def __init__(
        self, serve: Serve | list[str], *, jobs: int, ask: AskLater = lambda name, question, reply: reply(None),
        take: Take = lambda line: None, threads: bool = False, memory: int | None = None, is_foreign: bool = False,
    ) -> None:  # fmt: skip
        collect_children()
        self.is_foreign = is_foreign
        self.serve = serve
        self.jobs = jobs
        self.ask = ask
        self.take = take
        self.memory = memory or 0
        self.most = min(os.cpu_count() or 1, jobs) if threads else jobs
        self.threads = -(-jobs // self.most) if threads else 0
        self.places: dict[int, Worker] = {}
        """The worker of each number that is waited for."""
        self.workers: list[Worker] = []
        self._looked = 0.0

    def has_room(self, *, alone: bool = False) -> bool:
        """Return True if it takes one more piece of work now."""
        if alone and sum(worker.is_alone for worker in self.workers) >= max(self.most, MOST_ALONE):
            return False
        return len(self.places) < self.jobs and (alone or self._may_begin() or self._free() is not None)

    def submit(self, number: int, *about: Any, alone: bool = False) -> None:
        """Begin a piece of work; `alone` in a process that works on nothing else, before or after.

        Raises PflowError (75) if the system begins no process.
        """
        worker = None if alone else self._free()
        if worker is None or (worker.numbers and self._may_begin()):
            with Attempt("cannot begin a process", hint="--jobs takes a smaller number", exit=TRY_AGAIN):
                worker = Worker(
                    self.serve, self.workers, threads=0 if alone else self.threads, is_foreign=self.is_foreign
                )
            worker.is_alone = worker.is_retired = alone
        self.places[number] = worker
        worker.changed = time.monotonic()
        worker.numbers.add(number)
        worker.send(framed(WORK, number, about))

    def _may_begin(self) -> bool:
        return sum(not worker.is_retired for worker in self.workers) < self.most

    def _free(self) -> Worker | None:
        """Return the worker with the least work, of those that take more."""
        most = self.threads or 1
        free = (worker for worker in self.workers if not worker.is_retired and len(worker.numbers) < most)
        return min(free, key=lambda worker: len(worker.numbers), default=None)

    def wait(self, seconds: float | None) -> list[tuple[int, Any]]:
        """Return the numbers whose work has ended, each with its result or the PflowError in which it ended.

        Return an empty list after so many seconds, after a request, and if there is nothing to wait for.
        """
        found: list[tuple[int, Any]] = []
        until = time.monotonic() + seconds if seconds is not None else float("inf")
        is_over = seconds is None and not self.places
        parent = own_parent()
        while not (found or is_over):
            self._look(found)
            left = 0 if found else min(self._looked + _LOOK, until) - time.monotonic()
            poll = select.poll()
            if parent is not None:  # answers for the processes below come through it
                poll.register(parent.fd, select.POLLIN)
            by_fd = {worker.fd: worker for worker in self.workers}
            for fd, worker in by_fd.items():
                poll.register(fd, select.POLLIN | (select.POLLOUT if worker.rest else 0))
            for fd, events in poll.poll(1000 * max(left, 0)):
                is_over = True
                if parent is not None and fd == parent.fd:
                    parent.hear()
                    continue
                if events & select.POLLOUT:
                    by_fd[fd].send(b"")
                if events & ~select.POLLOUT:
                    self._hear(by_fd[fd], found)
            is_over = is_over or time.monotonic() >= until
        return found

    def _hear(self, worker: Worker, found: list[tuple[int, Any]]) -> None:
        """Read the messages of a worker."""
        for kind, number, value in worker.read():
            if kind == GONE:
                self._lose(worker, found)
            elif kind == LINE:
                self.take(value)
            elif kind == SAID:
                say_once(*value)
            elif kind == ASKED:
                self._pass_on(worker, number, *value)
            elif kind == RESULT and number in worker.numbers:  # a stranger's process might send a second result
                worker.numbers.remove(number)
                worker.changed = time.monotonic()
                if self.places.pop(number, None) is not None:
                    found.append((number, value))
                else:
                    worker.abandoned -= 1
                if worker.is_retired and not worker.numbers:
                    worker.close()

    def _pass_on(self, worker: Worker, number: int, name: str, question: Any) -> None:
        def reply(value: Any) -> None:
            worker.send(framed(ANSWER, number, value))

        try:
            self.ask(name, question, reply)
        except Exception as error:
            reply(own_error(error))

    def _lose(self, worker: Worker, found: list[tuple[int, Any]]) -> None:
        """Give back the numbers of a worker that is gone."""
        worker.close()
        self.ask("lost", worker.pid, lambda nothing: None)
        for number in worker.numbers & self.places.keys():
            died = Died(worker.code or 0, self.memory if worker.is_large else 0)
            died.is_guilty = len(worker.numbers) == 1  # of several, any may have ended the process
            del self.places[number]
            found.append((number, died))

    def _look(self, found: list[tuple[int, Any]]) -> None:
        """Kill the processes that hang or are too large, and find those that have ended; once a second at most."""
        now = time.monotonic()
        if now < self._looked + _LOOK:
            return
        self._looked = now
        for worker in list(self.workers):
            if worker.code is not None:  # a process that it started may hold its socket open, so no end is read there
                self._lose(worker, found)
            elif not worker.has_ended():
                hangs = 0 < len(worker.numbers) == worker.abandoned and now > worker.changed + GRACE
                worker.is_large |= 0 < self.memory < worker.memory()  # a killed process uses none
                if hangs or worker.is_large:
                    worker.is_retired = True
                    worker.signal(_signal.SIGKILL)

    def abandon(self, number: int) -> None:
        """Forget a number. A process with no other work is ended; one with many abandoned numbers gets no more work."""
        worker = self.places.pop(number, None)
        if worker is not None:
            worker.abandoned += 1
            worker.changed = time.monotonic()
            worker.is_retired = worker.is_retired or 2 * worker.abandoned > self.threads
            if worker.is_alone or not self.threads:
                worker.signal(_signal.SIGTERM)

    def close(self) -> None:
        """End all processes, which give GRACE to what they have started."""
        lost = [worker.pid for worker in self.workers if worker.numbers]
        end(self.workers, 2 * GRACE)
        for worker in list(self.workers):
            worker.close()
        for pid in lost:
            self.ask("lost", pid, lambda nothing: None)
