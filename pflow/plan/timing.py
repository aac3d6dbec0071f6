"""The time that planning may take: a clock that ends a model's silence, and leaves no thread behind."""

from __future__ import annotations

from contextlib import contextmanager

from pflow.run.deadlines import TimedOut, set_deadline, take_away

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 1e8
"""Seconds that a clock can be set to, and more than anybody waits."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise OutOfTime once so many seconds have passed; in the main thread alone, for no other is interrupted."""
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
