"""Work in child processes: forked from this one, fed with numbers, heard through pipes, and ended when we are."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from pflow.errors import FAILED, PflowError
from pflow.process.children import GRACE
from pflow.process.signals import HeldSignals
from pflow.run.child import work
from pflow.run.frames import FAILURE, LINE, loads, revived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Take = Callable[[bytes], None]
    Serve = Callable[[int, Take], Any]
    """Does the work of a number; what it hands to Take arrives in the parent at once. Its result is marshalled."""
    Rescue = Callable[[int, PflowError], Any]

_PART = 1 << 20


def run_all(
    count: int, serve: Serve, *, jobs: int | None, is_reused: bool, take: Take, rescue: Rescue | None = None
) -> list[Any]:
    """The results of the numbers 0 to `count` - 1, in order, worked on by at most `jobs` processes at once.

    With `is_reused` a process goes on to the next number, else it does one only. The first failure ends the others and
    is raised; so does any exception in this process. `rescue` makes a result of the death of a number's process.
    """
    results: list[Any] = [None] * count
    waiting = list(range(count))[::-1]
    workers: list[_Worker] = []
    limit = min(count, jobs or count)
    try:
        while waiting or any(worker.number is not None for worker in workers):
            while waiting and (idle := _idle(workers, serve, limit, is_reused)) is not None:
                idle.ask(waiting.pop())
            for worker in _ready(workers):
                _hear(worker, workers, results, take, rescue, is_reused=is_reused)
        return results
    finally:
        end_all(workers)


def _hear(
    worker: _Worker, workers: list[_Worker], results: list[Any], take: Take, rescue: Rescue | None, *, is_reused: bool
) -> None:
    """Take what a worker says. Raises its failure, with the number that it is of."""
    number = worker.number
    assert number is not None
    try:
        messages = worker.hear()
    except PflowError as error:
        if rescue is None:
            raise Died(number, error) from None
        results[number] = rescue(number, error)
        _dismiss(worker, workers)
        return
    for kind, payload in messages:
        if kind == LINE:
            take(payload)
        elif kind == FAILURE:
            raise revived(payload)
        else:
            results[number] = loads(payload)
            worker.number = None
            if not is_reused:
                _dismiss(worker, workers)


def _dismiss(worker: _Worker, workers: list[_Worker]) -> None:
    worker.number = None
    worker.close()
    workers.remove(worker)


class Died(PflowError):
    """The process of a number is gone without a word."""

    def __init__(self, number: int, error: PflowError) -> None:
        super().__init__(error.message, exit=error.exit)
        self.number = number


def drop(line: bytes) -> None:
    """A Take for what nobody wants to hear."""


def _idle(workers: list[_Worker], serve: Serve, limit: int, is_reused: bool) -> _Worker | None:
    for worker in workers:
        if worker.number is None and is_reused:
            return worker
    if len(workers) >= limit:
        return None
    return _Worker(serve, workers)


def _ready(workers: list[_Worker]) -> list[_Worker]:
    poll = select.poll()
    by_fd = {worker.answers: worker for worker in workers if worker.number is not None}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    return [by_fd[fd] for fd, _ in poll.poll()]


class _Worker:
    """A child process: our ends of its two pipes, and the number that it works on. It puts itself among `workers`."""

    def __init__(self, serve: Serve, workers: list[_Worker]) -> None:
        self.number: int | None = None
        self.rest = bytearray()
        self.is_closed = False
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        held = HeldSignals()  # an exception before the child is known would leave it running
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            self.pid = os.fork()
            if self.pid == 0:
                for other in workers:
                    os.close(other.requests)
                    os.close(other.answers)
                os.close(self.requests)
                os.close(self.answers)
                work(serve, requests, answers, held)
            workers.append(self)  # before a signal that came meanwhile ends us
            os.close(requests)
            os.close(answers)
        finally:
            held.release()

    def ask(self, number: int) -> None:
        self.number = number
        os.write(self.requests, number.to_bytes(4, "big"))

    def hear(self) -> list[tuple[bytes, bytes]]:
        """The whole messages that have come. Raises PflowError where the child died."""
        part = os.read(self.answers, _PART)
        if not part:
            raise self._died()
        self.rest += part
        messages = []
        at = 0
        while len(self.rest) >= at + 5:
            end = at + 5 + int.from_bytes(self.rest[at + 1 : at + 5], "big")
            if len(self.rest) < end:
                break
            messages.append((bytes(self.rest[at : at + 1]), bytes(self.rest[at + 5 : end])))
            at = end
        del self.rest[:at]
        return messages

    def _died(self) -> PflowError:
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        code = os.waitstatus_to_exitcode(status)
        how = f"signal {-code} killed it" if code < 0 else f"it exited with {code}"
        return PflowError(f"cannot finish: its process is gone: {how}", exit=128 - code if code < 0 else code or FAILED)

    def close(self) -> None:
        """Let it end: there is nothing more to do."""
        if not self.is_closed:
            self.is_closed = True
            os.close(self.requests)
            os.close(self.answers)
            self._collect()

    def _collect(self) -> None:
        if self.pid:
            os.waitpid(self.pid, 0)
            self.pid = 0


def end_all(workers: list[_Worker]) -> None:
    """End what still runs: at once where it is idle, with SIGTERM where it works, and at last with SIGKILL."""
    busy = [worker for worker in workers if worker.number is not None and worker.pid]
    for worker in busy:
        os.kill(worker.pid, signal.SIGTERM)
    _wait_for(busy)
    for worker in busy:
        if worker.pid:
            os.kill(worker.pid, signal.SIGKILL)
    for worker in workers:
        worker.close()


def _wait_for(workers: list[_Worker]) -> None:
    limit = time.monotonic() + 2 * GRACE
    while any(worker.pid for worker in workers) and time.monotonic() < limit:
        for worker in workers:
            if worker.pid and os.waitpid(worker.pid, os.WNOHANG)[0]:
                worker.pid = 0
        time.sleep(0.005)
