"""Work in child processes: forked from this one, fed with numbers, read through pipes, and ended when we are."""

from __future__ import annotations

import fcntl
import os
import pickle
import select
import signal
import sys
import time

from pflow import TYPE_CHECKING
from pflow.atomic import write_all
from pflow.errors import FAILED, PflowError, bug_error
from pflow.process.children import GRACE
from pflow.process.signals import HeldSignals, Interrupted, forget_deadlines

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from pflow.process.signals import HeldSignals

    Take = Callable[[bytes], None]
    Serve = Callable[[int, Take], Any]
    """Does the work of a number; what it hands to Take arrives in the parent at once."""
    from typing import Any

    Rescue = Callable[[int, PflowError], Any]

LINE, RESULT, FAILURE = "line", "result", "failure"


def read_message(fd: int) -> tuple[str, Any]:
    """The next message of a child: its kind, and a line, a result or an exception. Raises EOFError."""
    return pickle.loads(_read(fd, int.from_bytes(_read(fd, 8), "big")))  # type: ignore[no-any-return]


def _read(fd: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _send(fd: int, kind: str, value: Any) -> None:
    message = pickle.dumps((kind, value))
    write_all(fd, len(message).to_bytes(8, "big") + message)


def work(serve: Serve, requests: int, answers: int, held: HeldSignals) -> NoReturn:
    """Serve what comes through `requests`, answer through `answers`, and end the process."""
    code = 0
    parent = _Parent(requests)
    try:
        forget_deadlines()
        parent.watch()
        held.release()
        while number := os.read(requests, 4):
            parent.is_needed = True
            _answer(serve, int.from_bytes(number, "big"), answers)
            parent.is_needed = False
    except Interrupted as interrupted:
        code = interrupted.exit
    except BaseException:
        code = FAILED
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, AttributeError, ValueError):
                pass
        os._exit(code)


def _answer(serve: Serve, number: int, answers: int) -> None:
    try:
        _send(answers, RESULT, serve(number, lambda line: _send(answers, LINE, line)))
    except Interrupted:
        raise
    except PflowError as error:
        _send(answers, FAILURE, error)
    except Exception as error:
        _send(answers, FAILURE, bug_error(error))
    except BaseException as error:
        _send(answers, FAILURE, PflowError(f"it raised {type(error).__name__}"))


class _Parent:
    """The process at the other end of the pipe that a child's work comes through: one that kill -9 ends takes us along.

    The system sends SIGIO when there is news of that pipe, and when nobody can write to it any more. While the parent
    `is_needed`, the latter raises Interrupted, which unwinds the work and ends what it has started.
    """

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.is_needed = False

    def watch(self) -> None:
        if hasattr(os, "O_ASYNC"):
            signal.signal(signal.SIGIO, self._look)
            fcntl.fcntl(self.pipe, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(self.pipe, fcntl.F_SETFL, fcntl.fcntl(self.pipe, fcntl.F_GETFL) | os.O_ASYNC)

    def _look(self, signum: int, frame: object) -> None:
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        if self.is_needed and any(event & select.POLLHUP for _, event in poll.poll(0)):
            raise Interrupted(signal.SIGTERM, "its parent is gone")


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
