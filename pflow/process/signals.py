"""Signals and time limits: each becomes an exception that unwinds the work, and at its end an exit code."""

from __future__ import annotations

import os
import sys
import time

from pflow import TYPE_CHECKING
from pflow.errors import TIMED_OUT, PflowError, bug_error

if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from typing import Any, NoReturn
else:
    import _signal  # signal's C part: the module itself takes 3 ms, for the names of its enums

_NAMES: dict[int, str] = {
    _signal.SIGTERM: "SIGTERM",
    _signal.SIGHUP: "SIGHUP",
    _signal.SIGINT: "SIGINT",
    _signal.SIGQUIT: "SIGQUIT",
}


class ClosedPipe(Exception):
    """The reader of our stdout has gone."""


class Interrupted(BaseException):
    """The stage must end now: of a signal (`signal` is its number) or of --timeout (`signal` is 0)."""

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.signal = signal
        self.message = message
        self.exit = 128 + signal if signal else TIMED_OUT

    def as_error(self) -> PflowError:
        return PflowError(f"cannot finish: {self.message}", exit=self.exit)


def die_quietly_of_interrupt() -> None:
    """Until signals are caught, let ^C end the process without Python's traceback."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def catch_signals() -> None:
    """Make SIGTERM, SIGHUP, SIGINT and SIGQUIT raise Interrupted. What our parent ignores (nohup, &) stays ignored."""
    for signum in _NAMES:
        if _signal.getsignal(signum) != _signal.SIG_IGN:
            _signal.signal(signum, _interrupt)


def _interrupt(signum: int, frame: object) -> None:
    """The first signal ends the node's work, the second what it does to end in order; a third ends us at once."""
    stop_timer()  # or --timeout could run out while the work is being undone, and take the signal's place
    _hand_over(_interrupt_again if _signal.getsignal(signum) is _interrupt else _signal.SIG_DFL)
    raise Interrupted(signum, f"it was ended by {_NAMES[signum]}")


def _interrupt_again(signum: int, frame: object) -> None:
    _interrupt(signum, frame)


def _hand_over(handler: Any) -> None:
    for signum in _NAMES:
        if _signal.getsignal(signum) in (_interrupt, _interrupt_again):
            _signal.signal(signum, handler)


def start_timer(seconds: float) -> None:
    """Raise Interrupted once so many seconds have passed."""
    call_after(seconds, lambda: _time_out(seconds))


def _time_out(seconds: float) -> NoReturn:
    raise Interrupted(0, f"it took longer than the {seconds:g} s of --timeout")


def call_after(seconds: float, call: Callable[[], None]) -> None:
    """Call once so many seconds have passed, between two steps of whatever is running then."""
    _signal.signal(_signal.SIGALRM, lambda signum, frame: call())
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def stop_timer() -> None:
    _signal.setitimer(_signal.ITIMER_REAL, 0)


def die_of(signum: int) -> NoReturn:
    """End the process as the signal itself would, so that a shell sees 128+n and a loop of its stops at ^C.

    Functions registered with atexit run first; one more signal ends them.
    """
    import atexit

    _hand_over(_signal.SIG_DFL)
    atexit._run_exitfuncs()
    _signal.signal(signum, _signal.SIG_DFL)
    os.kill(os.getpid(), signum)
    os._exit(128 + signum)


def die_of_closed_pipe() -> NoReturn:
    die_of(_signal.SIGPIPE)


class HeldSignals:
    """Keeps every signal handler from running until `release`.

    To block the signals would not do: with another thread about, the system gives them to that one, and Python still
    calls the handler in ours.
    """

    def __init__(self) -> None:
        self.handlers: dict[int, Any] = {}
        self.noted: list[tuple[int, Any]] = []
        threading = sys.modules.get("threading")  # nobody has another thread where it is not loaded
        if threading and threading.current_thread() is not threading.main_thread():  # no handler is called in another
            return
        try:
            for signum in _signal.valid_signals():
                if callable(handler := _signal.getsignal(signum)):
                    self.handlers[signum] = handler
                    _signal.signal(signum, self._note)
        except BaseException:  # of a handler that was not yet taken
            self.noted.clear()
            self.release()
            raise

    def _note(self, signum: int, frame: object) -> None:
        self.noted.append((signum, self.handlers[signum]))

    def release(self) -> None:
        """Put the handlers back, and call those whose signals came meanwhile."""
        for signum in list(self.handlers):
            _signal.signal(signum, self.handlers[signum])
            self.handlers.pop(signum, None)
        while self.noted:
            signum, handler = self.noted.pop(0)
            handler(signum, None)


def end_in_order(work: Callable[[], int], fail: Callable[[PflowError], int]) -> int:
    """Do the work with signals caught; its exit code, or what `fail` makes of its error.

    Nothing gets out but the end of the process by a signal.
    """
    try:
        return _work_or_fail(work, fail)
    except Interrupted as again:
        die_of(again.signal)


def _work_or_fail(work: Callable[[], int], fail: Callable[[PflowError], int]) -> int:
    try:
        catch_signals()
        return work()
    except ClosedPipe:
        die_of_closed_pipe()
    except Interrupted as interrupted:
        code = fail(interrupted.as_error())
        if interrupted.signal:
            die_of(interrupted.signal)
        return code
    except PflowError as error:
        return fail(error)
    except Exception as error:
        return fail(bug_error(error))


class Deadline:
    """So many seconds from now. Who set it takes it away; once it has passed, Interrupted carries it to them."""

    __slots__ = ("at", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.at = time.monotonic() + seconds


class TimedOut(Interrupted):
    """A deadline has passed."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__(0, f"it took longer than the {deadline.seconds:g} s of its timeout")
        self.deadline = deadline


_open: list[Deadline] = []


def set_deadline(seconds: float) -> Deadline:
    """Raise TimedOut in the main thread once so many seconds have passed, unless it is taken away before."""
    deadline = Deadline(seconds)
    _open.append(deadline)
    _arm()
    return deadline


def take_away(deadline: Deadline) -> None:
    stop_timer()
    _open.remove(deadline)
    _arm()


def forget_deadlines() -> None:
    """In a child process: they are the parent's to watch."""
    _open.clear()
    stop_timer()


def _arm() -> None:
    if _open:
        nearest = min(_open, key=lambda deadline: deadline.at)
        call_after(max(nearest.at - time.monotonic(), 0.000_001), lambda: _pass(nearest))


def _pass(deadline: Deadline) -> NoReturn:
    raise TimedOut(deadline)
