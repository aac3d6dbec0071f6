"""Signals and time limits, as exceptions that unwind the work and end in an exit code."""

from __future__ import annotations

import _thread
import os
import sys
import time

from pflow import TYPE_CHECKING, Callable, NoReturn
from pflow.errors import TIMED_OUT, Ignoring, PflowError, own_error

if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal  # signal's C part: the module itself takes 3 ms for its enums

_NAMES: dict[int, str] = {
    _signal.SIGTERM: "SIGTERM",
    _signal.SIGHUP: "SIGHUP",
    _signal.SIGINT: "SIGINT",
    _signal.SIGQUIT: "SIGQUIT",
}

_SOON = 0.001
"""Seconds in which the current callback returns, so that the exception is not dropped with it."""

_AGAIN = 5.0
"""Seconds after which a time limit passes again if its block still runs: longer than any cleanup takes."""


class ClosedPipe(Exception):
    """The reader of our stdout has gone."""


class Interrupted(BaseException):
    """The stage must end now, because of a signal (`signal` is its number) or --timeout (`signal` is 0)."""

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.signal = signal
        self.message = message
        self.hint = ""
        self.exit = 128 + signal if signal else TIMED_OUT

    def as_error(self) -> PflowError:
        return PflowError(f"cannot finish: {self.message}", hint=self.hint, exit=self.exit)


def die_quietly_of_interrupt() -> None:
    """Let ^C end the process without Python's traceback, until signals are caught."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


_caught: list[int] = []
"""The signals that have come since `catch_signals`."""


def catch_signals() -> None:
    """Make SIGTERM, SIGHUP, SIGINT and SIGQUIT raise Interrupted, unless our parent ignores them, as nohup does."""
    _caught.clear()
    sys.unraisablehook = _send_again
    for signum in _NAMES:
        if _signal.getsignal(signum) != _signal.SIG_IGN:
            _signal.signal(signum, _interrupt)


def _interrupt(signum: int, frame: object) -> None:
    """End the node's work at the first signal, its cleanup at the second; the third ends the process at once."""
    if _holders:
        _hold(lambda: _interrupt(signum, frame))
        return
    stop_timer()  # a time limit that passes during the cleanup would replace the signal's exit code
    _caught.append(signum)
    if len(_caught) > 1:
        stop_catching()
    raise Interrupted(signum, f"it was ended by {_NAMES[signum]}")


def heed_parent(grace: float) -> None:
    """Handle SIGTERM as sent by our parent, and end `grace` seconds after it, even if a node drops the exception.

    A SIGTERM after a ^C, which the terminal has sent to the whole process group, does not count as a second signal: it
    would cut short the cleanup of the commands that we run.
    """

    def end(signum: int, frame: object) -> None:
        _thread.start_new_thread(_exit_after, (grace, 128 + signum))
        if _holders:
            _hold(lambda: None if _caught else _interrupt(signum, frame))
        elif not _caught:
            _interrupt(signum, frame)

    if _signal.getsignal(_signal.SIGTERM) is _interrupt:
        _signal.signal(_signal.SIGTERM, end)


def _exit_after(seconds: float, code: int) -> None:
    time.sleep(seconds)
    os._exit(code)


def _send_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Repeat a signal whose exception Python dropped, as it does in callbacks and imports.

    An exception raised in here would be dropped too, so the signal comes again a little later.
    """
    error = unraisable.exc_value
    if isinstance(error, TimedOut):
        error.deadline.due = error.deadline.at
        _arm()
    elif isinstance(error, Interrupted):
        _caught.remove(error.signal)
        # A thread sends it, since a time limit that begins or ends meanwhile would reset the timer.
        _thread.start_new_thread(_send, (_thread.get_ident(), error.signal))
    else:
        sys.__unraisablehook__(unraisable)


def _send(thread: int, signum: int) -> None:
    time.sleep(_SOON)
    _signal.pthread_kill(thread, signum)


def stop_catching() -> None:
    """Let the signals that we catch end the process at once."""
    for signum in _NAMES:
        if _signal.getsignal(signum) is _interrupt:
            _signal.signal(signum, _signal.SIG_DFL)


def call_after(seconds: float, call: Callable[[], None]) -> None:
    """Call a function after `seconds`, between two bytecodes of what runs then: code in C is not interrupted."""
    _signal.signal(_signal.SIGALRM, lambda signum, frame: call())
    _signal.setitimer(_signal.ITIMER_REAL, min(seconds, 1e8))  # macOS refuses more


def stop_timer() -> None:
    _signal.setitimer(_signal.ITIMER_REAL, 0)


def die_of(signum: int) -> NoReturn:
    """End the process as the signal itself would, so that a shell sees 128+n and its loop stops at ^C.

    Functions registered with atexit run first; another signal ends them.
    """
    import atexit

    stop_catching()
    atexit._run_exitfuncs()
    _signal.signal(signum, _signal.SIG_DFL)
    os.kill(os.getpid(), signum)
    os._exit(128 + signum)


def die_of_closed_pipe() -> NoReturn:
    die_of(_signal.SIGPIPE)


_holders: list[HeldSignals] = []
_held: list[Callable[[], None]] = []


class HeldSignals:
    """Keeps signals and time limits from raising until `release`, or the end of a `with`.

    Blocking them is not enough: the kernel would give a signal to another thread, and Python would still call the
    handler in this one.
    """

    def __init__(self) -> None:
        self.on_held: Callable[[], None] | None = None
        if is_main_thread():  # Python calls signal handlers in no other thread
            _holders.append(self)

    def __enter__(self) -> HeldSignals:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def notify(self, call: Callable[[], None] | None) -> None:
        """Call `call` at once if a signal is held already, and then for each that comes."""
        self.on_held = call
        if _held and call is not None:
            call()

    def release(self) -> None:
        """Let the held signals and time limits raise."""
        if self in _holders:
            _holders.remove(self)
        while _held and not _holders and is_main_thread():
            _held.pop(0)()


def warm_up(warm: Callable[[], None]) -> None:
    """Have a node load its libraries (`warm`), with signals held: some drop a signal's exception while they load.

    A failure is left to the node, which meets it again.
    """
    with HeldSignals(), Ignoring(Exception):
        warm()


def is_main_thread() -> bool:
    """Return True in the thread whose time limits and signals raise."""
    threading = sys.modules.get("threading")  # unless it is loaded, this is the only thread
    return not threading or threading.current_thread() is threading.main_thread()


def _hold(call: Callable[[], None]) -> None:
    _held.append(call)
    for holder in _holders:
        if holder.on_held is not None:
            holder.on_held()


def end_in_order(work: Callable[[], int], fail: Callable[[PflowError], int]) -> int:
    """Do the work with signals caught; return its exit code, or that of `fail` for its error.

    A signal ends the process; no exception leaves this function.
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
    except Exception as error:
        return fail(own_error(error))


class Deadline:
    """A time limit: `with Deadline(5):` raises TimedOut in the main thread after 5 seconds, `Deadline(None)` never.

    With an `act`, such as "cannot finish", the block ends with a PflowError of that act and `exit` instead. Code that
    drops the exception or raises another for it, as some libraries do while they are imported, changes nothing. In any
    other thread the code in the block has to end in time, by `time_left`; its failure after the limit becomes TimedOut.
    """

    __slots__ = ("act", "at", "due", "exit", "seconds", "what")

    def __init__(
        self, seconds: float | None, what: str = "its timeout", *, act: str = "", exit: int = TIMED_OUT
    ) -> None:  # fmt: skip
        self.seconds = seconds
        self.what = what
        self.act = act
        self.exit = exit
        self.at = self.due = 0.0
        """The moment of the limit, and that of the next exception."""

    def __enter__(self) -> Deadline:
        if self.seconds is not None:
            (_open if is_main_thread() else _of_thread.open).append(self)
        self.restart()
        return self

    def restart(self) -> None:
        """Begin anew, with all its seconds."""
        if self.seconds is not None:
            self.at = self.due = time.monotonic() + self.seconds
        if self in _open:
            _arm()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self in _open:
            stop_timer()
            _open.remove(self)
            _arm()
        elif self in _of_thread.open:
            _of_thread.open.remove(self)
            if isinstance(error, Exception) and self.left() <= 0:
                self.due = self.at + _AGAIN
        passed = TimedOut(self) if self.due > self.at and not isinstance(error, Interrupted) else error
        if self.act and isinstance(passed, TimedOut) and passed.deadline is self:
            raise PflowError(f"{self.act}: {passed.message}", exit=self.exit) from passed
        if passed is not None and passed is not error:
            raise passed

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.at - time.monotonic()


class TimedOut(Interrupted):
    """A deadline has passed."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__(0, f"it took longer than the {deadline.seconds:g} s of {deadline.what}")
        self.deadline = deadline


_open: list[Deadline] = []


class _ThreadDeadlines(_thread._local):
    """The deadlines of a thread other than the main one."""

    def __init__(self) -> None:
        self.open: list[Deadline] = []


_of_thread = _ThreadDeadlines()


def time_left(most: float | None = None) -> float | None:
    """Return the seconds that work may take in a thread which no signal can interrupt, but at most `most`.

    In the main thread that is `most`, since signals end the work. Raises TimedOut if a deadline has passed.
    """
    nearest = min(_of_thread.open, key=lambda deadline: deadline.at, default=None)
    if nearest is None:
        return most
    if nearest.left() <= 0:
        raise TimedOut(nearest)
    return nearest.left() if most is None else min(nearest.left(), most)


def sleep(seconds: float) -> None:
    """Sleep, or raise TimedOut as soon as a deadline passes."""
    time.sleep(time_left(seconds) or 0)
    time_left()


class Paused:
    """A pause that no deadline counts: `with Paused():`."""

    def __enter__(self) -> None:
        self.deadlines = _open if is_main_thread() else _of_thread.open
        if self.deadlines is _open and _open:
            stop_timer()
        self.begun = time.monotonic()

    def __exit__(self, *about: object) -> None:
        waited = time.monotonic() - self.begun
        for deadline in self.deadlines:
            deadline.at += waited
            deadline.due += waited
        if self.deadlines is _open and _open:
            _arm()


def forget_deadlines() -> None:
    """Drop all deadlines in a child process: the parent watches them."""
    _open.clear()
    stop_timer()


def _arm() -> None:
    if _open:
        nearest = min(_open, key=lambda deadline: deadline.due)
        call_after(max(nearest.due - time.monotonic(), _SOON), lambda: _pass(nearest))
    else:
        _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)


def _pass(deadline: Deadline) -> None:
    if _holders:
        _hold(lambda: _pass(deadline))
    elif deadline in _open:
        deadline.due = time.monotonic() + _AGAIN  # in case a library drops the exception
        _arm()
        raise TimedOut(deadline)
