"""What goes through a worker's pipe: lines, results and failures, each with its kind and its length before it."""

from __future__ import annotations

from pflow.atomic import write_all
from pflow.errors import PflowError
from pflow.run.failure import StepFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LINE, RESULT, FAILURE = b"L", b"R", b"F"


def send(fd: int, kind: bytes, payload: bytes) -> None:
    write_all(fd, kind + len(payload).to_bytes(4, "big") + payload)


def loads(payload: bytes) -> Any:
    import marshal

    return marshal.loads(payload)


def described(error: BaseException) -> tuple[Any, ...]:
    from pflow.errors import bug_error

    if isinstance(error, StepFailed):
        about = (error.step, error.node, error.message, error.hint, error.exit, error.is_permanent)
        return (*about, {"journal": error.journal})
    if not isinstance(error, PflowError):
        bug = bug_error(error) if isinstance(error, Exception) else PflowError(f"it raised {type(error).__name__}")
        return ("", "", bug.message, bug.hint, bug.exit, bug.is_permanent, {})
    return ("", "", error.message, error.hint, error.exit, error.is_permanent, {"reads": error.reads})


def revived(payload: bytes) -> PflowError:
    step, node, message, hint, exit, is_permanent, more = loads(payload)
    error = PflowError(message, hint=hint, exit=exit, is_permanent=is_permanent)
    if step:
        error = StepFailed(step, node, error)
    for name, value in more.items():
        setattr(error, name, value)
    return error
