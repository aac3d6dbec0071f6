"""How a stage's work ends, whatever comes up: each exception becomes an exit code, or the end of the process."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.process.signals import Interrupted, catch_signals, die_of, die_of_closed_pipe
from pflow.process.stdout import ClosedPipe
from pflow.stage import failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pflow.stage.document import Document
    from pflow.stage.output import Output


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
        code = fail(PflowError(f"cannot finish: {interrupted.message}", exit=interrupted.exit))
        if interrupted.signal:
            die_of(interrupted.signal)
        return code
    except PflowError as error:
        return fail(error)
    except Exception as error:
        bug = failure.from_bug(error)
        bug.__cause__ = error
        return fail(bug)


def hand_on_failed(output: Output, document: Document, step: str, node: str, error: PflowError) -> None:
    """Turn a store into an error document, and hand it on where documents are."""
    failure.mark_failed(document, step, node, error)
    try:
        output.write_document(document)
    except ClosedPipe:
        die_of_closed_pipe()
    except PflowError:
        pass  # stdout cannot be written: that was said, or the exit code has to do
