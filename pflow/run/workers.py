"""Work in child processes: forked from this one, fed with numbers, heard through pipes, and ended when we are."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from pflow.children import GRACE
from pflow.errors import FAILED, PflowError
from pflow.held import HeldSignals
from pflow.run.deadlines import forget_deadlines
from pflow.run.failure import StepFailed
from pflow.run.parent import Parent
from pflow.stage.signals import Interrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    Take = Callable[[bytes], None]
    Serve = Callable[[int, Take], Any]
    """Does the work of a number; what it hands to Take arrives in the parent at once. Its result is marshalled."""
    Rescue = Callable[[int, PflowError], Any]

_LINE, _RESULT, _FAILURE = b"L", b"R", b"F"
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
        if kind == _LINE:
            take(payload)
        elif kind == _FAILURE:
            raise _revived(payload)
        else:
            results[number] = _loads(payload)
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
                _work(serve, requests, answers, held)
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


def _work(serve: Serve, requests: int, answers: int, held: HeldSignals) -> NoReturn:
    """The life of a child process: from each number to its result, until there are no more."""
    code = 0
    parent = Parent(requests)
    try:
        forget_deadlines()
        parent.watch()
        held.release()

        def take(line: bytes) -> None:
            _send(answers, _LINE, line)

        while number := os.read(requests, 4):
            parent.is_needed = True
            _answer(serve, int.from_bytes(number, "big"), answers, take)
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


def _answer(serve: Serve, number: int, answers: int, take: Take) -> None:
    import marshal

    try:
        _send(answers, _RESULT, marshal.dumps(serve(number, take)))
    except Interrupted:
        raise
    except BaseException as error:
        _send(answers, _FAILURE, marshal.dumps(_described(error)))


def _send(fd: int, kind: bytes, payload: bytes) -> None:
    data = memoryview(kind + len(payload).to_bytes(4, "big") + payload)
    while data:
        data = data[os.write(fd, data) :]


def _loads(payload: bytes) -> Any:
    import marshal

    return marshal.loads(payload)


def _described(error: BaseException) -> tuple[Any, ...]:
    from pflow.stage.failure import from_bug

    if isinstance(error, StepFailed):
        about = (error.step, error.node, error.message, error.hint, error.exit, error.is_permanent)
        return (*about, {"journal": error.journal})
    if not isinstance(error, PflowError):
        bug = from_bug(error) if isinstance(error, Exception) else PflowError(f"it raised {type(error).__name__}")
        return ("", "", bug.message, bug.hint, bug.exit, bug.is_permanent, {})
    return ("", "", error.message, error.hint, error.exit, error.is_permanent, {"reads": error.reads})


def _revived(payload: bytes) -> PflowError:
    step, node, message, hint, exit, is_permanent, more = _loads(payload)
    error = PflowError(message, hint=hint, exit=exit, is_permanent=is_permanent)
    if step:
        error = StepFailed(step, node, error)
    for name, value in more.items():
        setattr(error, name, value)
    return error
