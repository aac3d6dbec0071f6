"""The time that planning may take: a clock that ends a model's silence, and leaves no thread behind."""

from __future__ import annotations

from contextlib import contextmanager

from pflow.errors import TIMED_OUT, PflowError
from pflow.run.deadlines import TimedOut, set_deadline, take_away

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 1e8
"""Seconds that a clock can be set to, and more than anybody waits."""


@contextmanager
def limited(seconds: float, act: str) -> Iterator[None]:
    """Raise PflowError (124), that it took too long to `act`, once so many seconds have passed.

    Only the main thread is interrupted; in any other what is asked for has to look at the time itself (OutOfTime).
    """
    from pflow.models.talk import OutOfTime

    try:
        with _interrupting(seconds):
            yield
    except OutOfTime:
        what = f"cannot {act}: it took longer than {seconds:g} s"
        raise PflowError(what, hint="--timeout gives it longer", exit=TIMED_OUT) from None


@contextmanager
def _interrupting(seconds: float) -> Iterator[None]:
    """Raise OutOfTime after so many seconds, in the main thread."""
    import threading

    from pflow.models.talk import OutOfTime

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    deadline = set_deadline(min(seconds, _LONGEST))
    try:
        yield
    except TimedOut as error:
        if error.deadline is not deadline:
            raise
        raise OutOfTime from error
    finally:
        take_away(deadline)
