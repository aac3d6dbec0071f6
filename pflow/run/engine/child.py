"""The life of a worker process: from each number that it is asked for to its result, until there are no more."""

from __future__ import annotations

import fcntl
import os
import pickle
import select
import signal
import sys

from pflow.atomic import write_all
from pflow.errors import FAILED, PflowError, bug_error
from pflow.process.signals import Interrupted
from pflow.run.engine.deadlines import forget_deadlines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from pflow.process.signals import HeldSignals

    Take = Callable[[bytes], None]
    Serve = Callable[[int, Take], Any]
    """Does the work of a number; what it hands to Take arrives in the parent at once."""

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
