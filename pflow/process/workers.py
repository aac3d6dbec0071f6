"""Work in child processes: forked from this one, given numbers, read through pipes, and ended with this one."""

from __future__ import annotations

import _thread
import os
import pickle
import select
import time

from pflow import TYPE_CHECKING, Any, Callable, NoReturn
from pflow.errors import FAILED, OK, PflowError, bug_error, no_memory
from pflow.files.atomic import write_all
from pflow.process.children import GRACE, collect_children, end_with_parent
from pflow.process.signals import HeldSignals, Interrupted, forget_deadlines
from pflow.process.streams import flush_prints
from pflow.terminal import messages

if TYPE_CHECKING:
    import signal as _signal

    Take = Callable[[Any], None]
    Ask = Callable[[str, Any], Any]
    """Passes a request on to the method of this name, and returns the answer."""
    Rescue = Callable[[int, PflowError], Any]
else:
    import _signal  # signal's C part, as in pflow.process.signals

LINE, SAID, ASKED, RESULT, FAILURE = "line", "said", "asked", "result", "failure"


class Died(PflowError):
    """The process that worked on a number ended without an answer."""

    def __init__(self, number: int, code: int) -> None:
        how = f"signal {-code} killed it" if code < 0 else f"it exited with {code}"
        exit = 128 - code if code < 0 else code or FAILED
        super().__init__(f"cannot finish: its process is gone: {how}", exit=exit)
        self.number = number
        self.is_cut = True


class Parent:
    """The process that forked this one: `take` sends it a line, `ask` sends a request and waits for the answer.

    Signals wait meanwhile, so that no message is cut; not for long: a parent that ends us closes its pipes.
    """

    def __init__(self, requests: int, answers: int) -> None:
        self.requests = requests
        self.answers = answers
        self._turn = _thread.allocate_lock()  # a node may have threads

    def take(self, line: Any) -> None:
        self._send(LINE, line)

    def ask(self, name: str, question: Any) -> Any:
        """Return the answer to a request. Raises it if it is a PflowError."""
        kind, value = self._send(ASKED, (name, question))
        if kind == FAILURE:
            raise value
        return value

    def _send(self, kind: str, value: Any) -> Any:
        """Send a message; return the answer if it is a request."""
        held = HeldSignals()
        try:
            with self._turn:
                write_all(self.answers, _framed(pickle.dumps((kind, value))))
                return _receive(self.requests) if kind == ASKED else None
        except (EOFError, BrokenPipeError):
            raise Interrupted(_signal.SIGTERM, "the process that began it is gone") from None
        finally:
            held.release()


if TYPE_CHECKING:
    Serve = Callable[[int, Parent], Any]
    """Does the work of a number in a child process."""


def run_all(
    count: int, serve: Serve, *, jobs: int | None, is_reused: bool, take: Take,
    ask: Ask = lambda name, question: None, rescue: Rescue | None = None,
    done: Callable[[int, Any], None] = lambda number, result: None,
) -> list[Any]:  # fmt: skip
    """Return the results of the numbers 0 to `count` - 1, in order, worked on by at most `jobs` processes at once.

    With `is_reused` a process works on several numbers, else on one. The first failure ends all processes and is
    raised, and so does any exception in this one. A failure that ends the run is raised after the other processes have
    finished their numbers. `take` gets the lines that they send, `ask` answers their requests, `rescue` turns the death
    of a process into a result, and `done` gets each number and its result as it comes.
    """
    collect_children()
    results: list[Any] = [None] * count
    last: PflowError | None = None
    waiting = list(range(count))[::-1]
    workers: list[_Worker] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < (jobs or count):
                _Worker(serve, workers).work_on(waiting.pop())
            for worker in _ready(workers):
                number, (kind, value) = worker.number, _message(worker, rescue)
                if kind == LINE:
                    take(value)
                elif kind == SAID:
                    messages.say_once(value)
                elif kind == ASKED:
                    worker.send(_answer(ask, *value))
                elif kind == FAILURE and not (last or value.ends_run):
                    raise value
                else:
                    if kind == FAILURE:
                        last, waiting = last or value, []
                    else:
                        results[number] = value
                        done(number, value)
                    if is_reused and waiting and worker.pid:
                        worker.work_on(waiting.pop())
                    else:
                        worker.close()
        if last is not None:
            raise last
        return results
    finally:
        _end_all(workers)


def _message(worker: _Worker, rescue: Rescue | None) -> tuple[str, Any]:
    """Return the next message of a worker, or what `rescue` makes of its death. Raises Died."""
    try:
        return worker.read()
    except Died as died:
        if rescue is None:
            raise
        return RESULT, rescue(worker.number, died)


def _ready(workers: list[_Worker]) -> list[_Worker]:
    poll = select.poll()
    by_fd = {worker.answers: worker for worker in workers}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    return [by_fd[fd] for fd, _ in poll.poll()]


def _end_all(workers: list[_Worker]) -> None:
    """End the remaining workers: with SIGTERM, and later with SIGKILL."""
    for worker in workers:
        if worker.pid:
            os.kill(worker.pid, _signal.SIGTERM)
        worker.hang_up()
    limit = time.monotonic() + 2 * GRACE
    for worker in list(workers):
        while not worker.has_ended() and time.monotonic() < limit:
            time.sleep(0.005)
        if worker.pid:
            os.kill(worker.pid, _signal.SIGKILL)
        worker.close()


class _Worker:
    """A child process, our ends of its two pipes, and its current number. It adds itself to `workers`."""

    def __init__(self, serve: Serve, workers: list[_Worker]) -> None:
        self.workers = workers
        self.number = -1
        self.code = 0
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        self.ends = [self.requests, self.answers]
        held = HeldSignals()  # an exception before the child is known would leave it running
        try:
            flush_prints()
            parent = os.getpid()
            self.pid = os.fork()
            if self.pid == 0:
                unused = [fd for other in [*workers, self] for fd in other.ends]
                _work(lambda: _serve(serve, requests, answers, unused, held, parent))
            workers.append(self)  # before a held signal can end us
            os.close(requests)
            os.close(answers)
        finally:
            held.release()

    def work_on(self, number: int) -> None:
        self.number = number
        self.send(number.to_bytes(4, "big"))

    def send(self, data: bytes) -> None:
        try:
            write_all(self.requests, data)
        except BrokenPipeError:
            pass  # it has ended; `read` reports that

    def read(self) -> tuple[str, Any]:
        """Return the next message: its kind, and a line, a request, a result or an exception. Raises Died."""
        try:
            return _receive(self.answers)
        except EOFError:
            self._wait()
            raise Died(self.number, self.code) from None

    def has_ended(self) -> bool:
        """Return True if it has ended. Signals are held until its end is noted."""
        held = HeldSignals()
        try:
            if self.pid:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.pid, self.code = 0, os.waitstatus_to_exitcode(status)
        finally:
            held.release()
        return not self.pid

    def _wait(self) -> None:
        while not self.has_ended():
            time.sleep(0.0005)

    def close(self) -> None:
        """Let it end and wait for that."""
        self.workers.remove(self)
        self.hang_up()
        self._wait()

    def hang_up(self) -> None:
        """Close our ends of the pipes, so that it does not wait for us."""
        for fd in self.ends:
            os.close(fd)
        self.ends = []


def _framed(message: bytes) -> bytes:
    return len(message).to_bytes(8, "big") + message


def _receive(fd: int) -> tuple[str, Any]:
    """Return the next message: its kind and its value. Raises EOFError, PflowError (71)."""
    size = 0
    try:
        size = int.from_bytes(_read(fd, 8), "big")
        return pickle.loads(_read(fd, size))  # type: ignore[no-any-return]
    except MemoryError as error:
        raise no_memory("cannot take what a process gave", error, size) from error


def _read(fd: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _work(serve: Callable[[], int]) -> NoReturn:
    """Do the work in the child and end the process with its code, so that it never runs the parent's code."""
    code = FAILED
    try:
        code = serve()
    except Interrupted as again:  # a second signal, while the first ended it; a third would kill it
        code = again.exit
    finally:
        os._exit(code)


def _serve(serve: Serve, requests: int, answers: int, unused: list[int], held: HeldSignals, parent: int) -> int:
    """Serve the numbers that come through `requests`, answer through `answers`, and return the exit code."""
    try:
        for fd in unused:
            os.close(fd)
        forget_deadlines()
        end_with_parent(parent)
        held.release()
        above = Parent(requests, answers)
        vars(messages)["say_once"] = lambda text: above._send(SAID, text)
        while number := os.read(requests, 4):
            write_all(answers, _answer(serve, int.from_bytes(number, "big"), above))
        return OK
    except Interrupted as interrupted:
        return interrupted.exit
    except BaseException:
        return FAILED
    finally:
        flush_prints()


def _answer(work: Callable[..., Any], *about: Any) -> bytes:
    """Return a message with the result of the work, or its failure."""
    try:
        return _framed(pickle.dumps((RESULT, work(*about))))
    except Interrupted:
        raise
    except Exception as error:
        return _framed(pickle.dumps((FAILURE, error if isinstance(error, PflowError) else bug_error(error))))
    except BaseException as error:
        return _framed(pickle.dumps((FAILURE, PflowError(f"it raised {type(error).__name__}"))))
