"""The inside of a worker process: its messages to and from the process that forked it, and the work that it does."""

from __future__ import annotations

import _queue
import _thread
import gc
import os
import pickle
import sys
from _io import BytesIO
from itertools import count

from pflow import TYPE_CHECKING, Any, Callable, NoReturn, Sequence
from pflow.errors import FAILED, PflowError, no_memory, own_error
from pflow.files.atomic import write_all
from pflow.process.children import GRACE
from pflow.process.signals import HeldSignals, Interrupted, forget_deadlines, heed_parent, is_main_thread
from pflow.process.streams import flush_prints, wait_for
from pflow.terminal import messages

if TYPE_CHECKING:
    import signal as _signal

    Serve = Callable[..., Any]
    """Does a piece of work in a worker process. Its arguments describe the work; the last one is the Parent."""
    Message = tuple[str, int, Any]
    """A kind, the number of the work or the request, and a value."""
    Box = _queue.SimpleQueue[Any]
else:
    import _signal  # signal's C part, as in pflow.process.signals

LINE, SAID, ASKED, ANSWER, WORK, RESULT, GONE = "line", "said", "asked", "answer", "work", "result", "gone"

_PART = 1 << 16
_MOST = 1 << 30
"""The most bytes of a message from a stranger's process."""
_STACK = 1 << 21
"""Bytes of a thread's stack: Python's limit of recursion comes before its end."""


class _Plain(pickle.Unpickler):
    """Reads only texts, numbers, lists and the like: a pickle that names a class or function could call anything."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


class Inbox:
    """Reads messages from a socket. A process that `is_foreign` runs a stranger's code: what it sends must be plain."""

    def __init__(self, fd: int, *, is_foreign: bool = False) -> None:
        self.fd = fd
        self.is_foreign = is_foreign
        self._data = bytearray()

    def read(self) -> list[Message]:
        """Read once; return the messages that are whole now, at the end GONE. Raises PflowError (71)."""
        found: list[Message] = []
        size = 8
        try:
            part = os.read(self.fd, _PART)
            self._data += part
            while len(self._data) >= 8 and len(self._data) >= (size := 8 + int.from_bytes(self._data[:8], "big")):
                message = self._data[8:size]
                found.append(_plain_message(message) if self.is_foreign else pickle.loads(message))
                del self._data[:size]
                if found[-1][0] == GONE:
                    return found
            if self.is_foreign and size > _MOST:
                part = b""
        except MemoryError as error:
            raise no_memory("cannot take what a process gave", error, size) from error
        except ConnectionResetError:  # it died before it read all that we sent
            part = b""
        return found if part else [(GONE, 0, None)]


def _plain_message(data: bytes | bytearray) -> Message:
    """Return a stranger's message: a line, a request or its result; GONE for anything else."""
    try:
        kind, number, value = _Plain(BytesIO(data)).load()
        is_request = kind == ASKED and isinstance(value, tuple) and len(value) == 2
        is_known = is_request or (kind == LINE and isinstance(value, str | bytes)) or (kind == RESULT and number == 1)
    except Exception:  # a forged pickle can raise anything
        is_known = False
    return (kind, number, value) if is_known else (GONE, 0, None)


def framed(kind: str, number: int, value: Any) -> bytes:
    """Return a message as it travels: its length in 8 bytes, then a pickle."""
    message = pickle.dumps((kind, number, value))
    return len(message).to_bytes(8, "big") + message


def _result_message(number: int, serve: Serve, about: tuple[Any, ...], parent: Parent) -> bytes:
    """Return a message with the result of a piece of work, or the PflowError in which it ended."""
    try:
        return framed(RESULT, number, serve(*about, parent))
    except Interrupted as interrupted:
        if is_main_thread():
            raise
        failure = interrupted.as_error()
    except Exception as error:
        failure = own_error(error)
    except BaseException as error:
        failure = PflowError(f"it raised {type(error).__name__}")
    return framed(RESULT, number, failure)


class Parent(Inbox):
    """The process that forked this one: `take` sends it a line, `ask` sends a request and waits for the answer.

    Several threads may ask at once. A signal ends the wait for an answer, but cuts no message. `ask_later` passes on
    the request of a process below this one without waiting, since the others below must be heard meanwhile; their pool
    calls `hear` when something comes.
    """

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.child = os.getpid()
        self._sending = _thread.allocate_lock()
        self._reading = _thread.allocate_lock()
        self._numbers = count(1)
        self._work: Box = _queue.SimpleQueue()
        self._answers: dict[int, Callable[[Any], None]] = {}
        self._threads = 0

    def take(self, line: Any) -> None:
        self._send(framed(LINE, 0, line))

    def say_once(self, text: str, is_for_logs: bool) -> None:
        self._send(framed(SAID, 0, (text, is_for_logs)))

    def ask(self, name: str, question: Any) -> Any:
        """Return the answer to a request. Raises it if it is a PflowError."""
        box: Box = _queue.SimpleQueue()
        number = self.ask_later(name, question, box.put)
        try:
            answer = self._next(box)
        finally:
            self._answers.pop(number, None)
        if isinstance(answer, PflowError):
            raise answer
        return answer

    def ask_later(self, name: str, question: Any, reply: Callable[[Any], None]) -> int:
        """Send a request, and call `reply` when its answer, or a PflowError, is read; return the request's number."""
        number = next(self._numbers)
        self._answers[number] = reply
        self._send(framed(ASKED, number, (name, question)))
        return number

    def hear(self) -> None:
        """Read what has come, unless another thread does."""
        if not self._threads and self._reading.acquire(blocking=False):
            try:
                if wait_for(self.fd, seconds=0):
                    self._read()
            finally:
                self._reading.release()

    def serve(self, serve: Serve) -> None:
        """Do the work that comes, a piece at a time. It ends with an exception."""
        while True:
            number, about = self._next(self._work)
            message = _result_message(number, serve, about, self)
            flush_prints()
            self._send(message)

    def serve_in_threads(self, serve: Serve, most: int) -> None:
        """Do the work that comes in up to so many threads, begun one by one, while this thread reads for all."""
        import threading

        threading.stack_size(_STACK)
        while True:
            for _ in range(min(self._read(), most - self._threads)):
                self._threads += 1
                threading.Thread(target=self.serve, args=(serve,), daemon=True).start()

    def _send(self, message: bytes) -> None:
        with HeldSignals(), self._sending:  # half a message would make the rest of the stream unreadable
            try:
                write_all(self.fd, message)
            except (BrokenPipeError, ConnectionResetError):
                raise _parent_is_gone() from None

    def _next(self, box: Box) -> Any:
        """Return what comes into a box. Threads that wait take turns to read, unless one thread reads for all."""
        if not self._threads:
            with self._reading:
                while box.empty():
                    self._read()
        return box.get()

    def _read(self) -> int:
        """Wait for messages and put each into its box; return how many bring work."""
        wait_for(self.fd)
        with HeldSignals():  # each message that was read must reach its box, since it is sent only once
            for kind, number, value in self.read():
                if kind == GONE:
                    raise _parent_is_gone()
                if kind == WORK:
                    self._work.put((number, value))
                elif (reply := self._answers.pop(number, None)) is not None:
                    reply(value)
        return self._work.qsize()


_parents: list[Parent] = []
"""The Parent of this process, after the Parents of the processes that it descends from."""

_said: set[str] = set()


def say_once(text: str, is_for_logs: bool = False) -> None:
    """Print a notice once per process; a process that was forked for work passes it on to its parent.

    A text that `is_for_logs` is printed even under -q if there is no terminal: under cron it is all that a person gets.
    """
    is_silent = messages.is_quiet and not (is_for_logs and not any(map(os.isatty, (0, 1, 2))))
    if _parents:
        _parents[-1].say_once(text, is_for_logs)
    elif not is_silent and text not in _said:
        _said.add(text)
        messages.say("pflow", text)


def own_parent() -> Parent | None:
    """Return the Parent of a process that was forked for work; None in any other process."""
    return _parents[-1] if _parents else None


def line_of_descent() -> list[int]:
    """Return the ids of the processes from the first that was forked for work to this one."""
    return [parent.child for parent in _parents]


def _parent_is_gone() -> BaseException:  # SystemExit ends a thread in silence
    return Interrupted(_signal.SIGTERM, "the process that began it is gone") if is_main_thread() else SystemExit()


def end_with_parent(parent: int) -> None:
    """Make this child process end when its parent does, even by kill -9."""
    if sys.platform == "linux":
        import ctypes

        set_parent_death_signal = 1  # prctl(2); it is sent after kill -9 too, where the parent can tell us nothing
        ctypes.CDLL(None).prctl(set_parent_death_signal, int(_signal.SIGTERM))
    if os.getppid() != parent:  # it ended before the call, so no signal will come
        os._exit(143)


def serve_parent(
    serve: Serve, fd: int, parent: int, held: HeldSignals, *, unused: Sequence[int] = (), threads: int = 0
) -> NoReturn:
    """Do the work that comes through a socket, and end the process, so that it never runs the parent's code."""
    code = FAILED
    try:
        try:
            gc.freeze()  # or a collection would finalize objects of the parent, and close its files
            for other in unused:
                os.close(other)
            forget_deadlines()  # the parent watches them
            heed_parent(2 * GRACE)
            end_with_parent(parent)
            held.release()
            above = Parent(fd)
            _parents.append(above)
            above.serve_in_threads(serve, threads) if threads else above.serve(serve)
        except Interrupted as interrupted:
            code = interrupted.exit
        finally:
            flush_prints()
    except Interrupted as again:  # a second signal during the cleanup after the first; a third kills the process
        code = again.exit
    finally:
        os._exit(code)  # without the parent's atexit functions and buffers
