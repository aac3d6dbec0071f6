"""How a process's work ends: each exception becomes an exit code, or the end of the process."""

from __future__ import annotations

from pflow.errors import PflowError, bug_error
from pflow.process.signals import Interrupted, catch_signals, die_of, die_of_closed_pipe
from pflow.process.stdout import ClosedPipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


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
