"""Work in child processes: forked from this one, fed with numbers, read through pipes, and ended when we are."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from pflow.errors import FAILED, PflowError
from pflow.process.children import GRACE
from pflow.process.signals import HeldSignals
from pflow.run.engine.child import LINE, RESULT, read_message, work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.run.engine.child import Serve, Take

    Rescue = Callable[[int, PflowError], Any]


class Died(PflowError):
    """The process of a number is gone without an answer."""

    def __init__(self, number: int, error: PflowError) -> None:
        super().__init__(error.message, exit=error.exit)
        self.number = number


def drop(line: bytes) -> None:
    """A Take for lines that nobody wants."""


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
    try:
        while waiting or workers:
            while waiting and len(workers) < min(count, jobs or count):
                _Worker(serve, workers).ask(waiting.pop())
            for worker in _ready(workers):
                number = worker.number
                try:
                    kind, value = worker.read()
                except Died as died:
                    if rescue is None:
                        raise
                    kind, value = RESULT, rescue(number, died)
                if kind == LINE:
                    take(value)
                elif kind != RESULT:
                    raise value
                else:
                    results[number] = value
                    if is_reused and waiting and worker.pid:
                        worker.ask(waiting.pop())
                    else:
                        worker.close()
        return results
    finally:
        _end_all(workers)


def _ready(workers: list[_Worker]) -> list[_Worker]:
    poll = select.poll()
    by_fd = {worker.answers: worker for worker in workers}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    return [by_fd[fd] for fd, _ in poll.poll()]


class _Worker:
    """A child process: our ends of its two pipes, and the number that it works on. It puts itself among `workers`."""

    def __init__(self, serve: Serve, workers: list[_Worker]) -> None:
        self.workers = workers
        self.number = -1
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        held = HeldSignals()  # an exception before the child is known would leave it running
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            self.pid = os.fork()
            if self.pid == 0:
                for other in [*workers, self]:
                    os.close(other.requests)
                    os.close(other.answers)
                work(serve, requests, answers, held)
            workers.append(self)  # before a signal that came meanwhile ends us
            os.close(requests)
            os.close(answers)
        finally:
            held.release()

    def ask(self, number: int) -> None:
        self.number = number
        os.write(self.requests, number.to_bytes(4, "big"))

    def read(self) -> tuple[str, Any]:
        """The next message. Raises Died."""
        try:
            return read_message(self.answers)
        except EOFError:
            pass
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        code = os.waitstatus_to_exitcode(status)
        how = f"signal {-code} killed it" if code < 0 else f"it exited with {code}"
        exit = 128 - code if code < 0 else code or FAILED
        raise Died(self.number, PflowError(f"cannot finish: its process is gone: {how}", exit=exit))

    def close(self) -> None:
        """Let it end: it has nothing more to do."""
        self.workers.remove(self)
        os.close(self.requests)
        os.close(self.answers)
        if self.pid:
            os.waitpid(self.pid, 0)


def _end_all(workers: list[_Worker]) -> None:
    """End what still works: with SIGTERM, and at last with SIGKILL."""
    for worker in workers:
        if worker.pid:
            os.kill(worker.pid, signal.SIGTERM)
    limit = time.monotonic() + 2 * GRACE
    while any(worker.pid for worker in workers) and time.monotonic() < limit:
        for worker in workers:
            if worker.pid and os.waitpid(worker.pid, os.WNOHANG)[0]:
                worker.pid = 0
        time.sleep(0.005)
    for worker in list(workers):
        if worker.pid:
            os.kill(worker.pid, signal.SIGKILL)
        worker.close()
