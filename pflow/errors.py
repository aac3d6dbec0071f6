"""The one error class, and the exit code of each failure."""

from __future__ import annotations

import errno
import os

from pflow import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")
    D = TypeVar("D")
    Kinds = type[Exception] | tuple[type[Exception], ...]

OK = 0
FAILED = 1
USAGE = 2
BAD_STDIN = 64
BAD_DATA = 65
MISSING = 66
UNAVAILABLE = 69
BUG = 70
NO_MEMORY = 71
CANNOT_WRITE = 73
TRY_AGAIN = 75
DENIED = 77
BAD_CONFIG = 78
OVER_BUDGET = 79
TIMED_OUT = 124
NOT_FOUND = 127
CLOSED_PIPE = 141

EXIT_CODES = {
    OK: "done",
    FAILED: "the node failed",
    USAGE: "wrong flags",
    BAD_STDIN: "stdin is not usable here",
    BAD_DATA: "bad document, flow or data",
    MISSING: "a value or file is missing or empty",
    UNAVAILABLE: "service unavailable",
    BUG: "a bug in pflow",
    NO_MEMORY: "not enough memory",
    CANNOT_WRITE: "cannot write the output",
    TRY_AGAIN: "try again later (429, 5xx, a cut answer, a lock)",
    DENIED: "not allowed, or no key",
    BAD_CONFIG: "bad or missing configuration",
    OVER_BUDGET: "the budget of the run is reached",
    TIMED_OUT: "--timeout ran out",
    NOT_FOUND: "no such node",
    CLOSED_PIPE: "closed pipe",
}

# A second try would fail the same way, so --retries makes none.
PERMANENT = frozenset({USAGE, BAD_STDIN, MISSING, DENIED, BAD_CONFIG})

_BY_ERRNO = {
    errno.ENOENT: MISSING,
    errno.EISDIR: MISSING,
    errno.ENOTDIR: MISSING,
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
    errno.ENOMEM: NO_MEMORY,
    errno.ENOSPC: CANNOT_WRITE,
    errno.EDQUOT: CANNOT_WRITE,
    errno.EFBIG: CANNOT_WRITE,
    errno.EROFS: CANNOT_WRITE,
}

_OF_THE_MACHINE = frozenset({errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EROFS})


class PflowError(Exception):
    """A failure that pflow can explain.

    `message` is lower case, without a full stop, the failed act first and its subject quoted. `hint` says what to do.
    `exit` is one of EXIT_CODES, or a child's own code. `retry_after` is the number of seconds that a server asked us to
    wait. `is_permanent` means that another try would fail too; by default the exit code decides. `details` are further
    JSON members of the error document. `store` is the store document that came in, to be handed on. `usage` is that of
    the failed calls of models (pflow.values.usage). `ends_run` means that no `error` edge catches the failure and no
    batch keeps going: running steps end in order, and no other begins. `is_cut` means that the step was interrupted, so
    that its effects are unknown. `refusal`, such as `429 from HOST`, is set if the server got too many requests and did
    nothing. `status` is the HTTP status of a provider's refusal; None if it may have done the work and bill it.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        exit: int = FAILED,
        retry_after: float | None = None,
        is_permanent: bool | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit = exit
        self.retry_after = retry_after
        self.is_permanent = exit in PERMANENT if is_permanent is None else is_permanent
        self.details = details or {}
        self.store: Any = None
        self.usage: Any = None
        self.is_cut = False
        self.refusal = ""
        self.status: int | None = None
        self.ends_run = False

    def within(self, act: str) -> PflowError:
        """Return the failure of a larger act, of which this failure is the reason."""
        why = f"{act}: {self.message}"
        about = PflowError(why, hint=self.hint, exit=self.exit, is_permanent=self.is_permanent, details=self.details)
        about.retry_after, about.ends_run = self.retry_after, self.ends_run
        return about


def retry_after(said: str) -> float | None:
    """Read a Retry-After header, a number or a date, as seconds to wait."""
    import time
    from email.utils import mktime_tz, parsedate_tz

    try:
        seconds = float(said or "nan")
    except ValueError:
        try:
            date = parsedate_tz(said)
            seconds = mktime_tz(date) - time.time() if date else float("nan")
        except (ValueError, OverflowError):  # a server may send day 32 or the year 10000
            return None
    return max(seconds, 0.0) if abs(seconds) < float("inf") else None


def wait_asked(headers: Any) -> float | None:
    """Return the seconds to wait that the headers of an answer ask for, in milliseconds or as Retry-After."""
    milliseconds = retry_after(headers.get("retry-after-ms") or "")
    return retry_after(headers.get("retry-after") or "") if milliseconds is None else milliseconds / 1000


def is_permanent(error: BaseException) -> bool:
    """Return True if another try would fail too."""
    return error.is_permanent if isinstance(error, PflowError) else exit_code(error) in PERMANENT


def exit_code(error: BaseException) -> int:
    """Return the exit code for an exception in a node."""
    if isinstance(error, PflowError):
        return error.exit
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if isinstance(error, TimeoutError):
        return TRY_AGAIN
    if isinstance(error, ConnectionError):
        return UNAVAILABLE
    if isinstance(error, OSError) and error.errno is not None:
        return _BY_ERRNO.get(error.errno, FAILED)
    return FAILED


def reason_of(error: BaseException) -> str:
    """Return the system's words for an OSError, or an error's own words, in lower case."""
    return str(getattr(error, "strerror", "") or error).lower()


def reason_with_file(error: OSError) -> str:
    """Return the system's words for an error, and the file that it is about."""
    return reason_of(error) + (f": '{os.fsdecode(error.filename)}'" if isinstance(error.filename, str | bytes) else "")


def not_written(act: str, error: OSError, hint: str = "") -> PflowError:
    """Return the failure of an act that writes: 77 if it is not permitted, else 73."""
    exit = DENIED if exit_code(error) == DENIED else CANNOT_WRITE
    return PflowError(f"{act}: {reason_of(error)}", hint=hint, exit=exit)


class Attempt:
    """A context that turns an error into a PflowError with the `act` that failed and the reason.

    It turns each OSError, or each error of the kinds in `of`; a PflowError stays as it is.

    `failure` makes the PflowError, if `hint` and `exit` are not enough. Without an `exit`, the error decides the code.
    """

    def __init__(
        self,
        act: str,
        failure: Callable[[str, Any], PflowError] | None = None,
        *,
        of: type[Exception] | tuple[type[Exception], ...] = OSError,
        hint: str = "",
        exit: int | None = None,
    ) -> None:
        self.act, self.failure, self.of, self.hint, self.exit = act, failure, of, hint, exit

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, frames: object) -> None:
        if not isinstance(error, self.of) or isinstance(error, PflowError):
            return
        if self.failure is not None:
            raise self.failure(self.act, error) from error
        why = reason_of(error) if isinstance(error, OSError) else error
        exit = exit_code(error) if self.exit is None else self.exit
        raise PflowError(f"{self.act}: {why}", hint=self.hint, exit=exit) from error


class Within(Attempt):
    """A context for a larger act: a PflowError in it becomes the reason why the act failed (`PflowError.within`)."""

    def __exit__(self, kind: object, error: BaseException | None, frames: object) -> None:
        if isinstance(error, PflowError):
            raise error.within(self.act) from error


class Ignoring:
    """A context that ignores errors of these kinds. To import contextlib.suppress costs a stage half a millisecond."""

    def __init__(self, *kinds: type[Exception]) -> None:
        self.kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, frames: object) -> bool:
        return isinstance(error, self.kinds)


def result_of(call: Callable[..., T], *arguments: Any, otherwise: D, of: Kinds = OSError) -> T | D:
    """Return the result of a call, or `otherwise` if it raises an error of these kinds."""
    try:
        return call(*arguments)
    except of:
        return otherwise


def no_memory(act: str, error: BaseException, size: int = 0) -> PflowError:
    """Return the failure of an act that ran out of memory; `size` is how many bytes it needed, if known."""
    wanted = f" for {size:,} bytes" if size else f": {error}" if isinstance(error, MemoryError) and str(error) else ""
    return PflowError(f"{act}: not enough memory{wanted}", exit=NO_MEMORY)


def lone_surrogate(act: str) -> PflowError:
    """Return the failure of an act whose text cannot be encoded as UTF-8."""
    return PflowError(f"{act}: the text has a lone surrogate", exit=BAD_DATA)


def nonblank(text: str, act: str, what: str, hint: str = "") -> str:
    """Return `text`. Raises PflowError (66), which begins with `act`, if it is empty or blank."""
    if not text.strip():
        raise PflowError(f"{act}: the {what} is empty", hint=hint, exit=MISSING)
    return text


def check_positive(flag: str, value: float | None) -> None:
    """Check that a param is above 0 if it is set. Raises PflowError (2)."""
    if value is not None and not value > 0:
        raise PflowError(f"cannot take {flag}={value}: it must be more than 0", exit=USAGE)


def check_natural(flag: str, value: float | None) -> None:
    """Check that a param is 0 or more if it is set. Raises PflowError (2)."""
    if value is not None and not value >= 0:
        raise PflowError(f"cannot take {flag}={value}: it must be 0 or more", exit=USAGE)


def encode_text(text: str, act: str, errors: str = "strict") -> bytes:
    """Encode a text as UTF-8. Raises PflowError (65), which begins with `act`, for a lone surrogate."""
    try:
        return text.encode("utf-8", errors)
    except UnicodeEncodeError:
        raise lone_surrogate(act) from None


def node_error(name: str, error: BaseException) -> PflowError:
    """Convert an exception in a node to a PflowError."""
    if isinstance(error, PflowError):
        return error
    if isinstance(error, SystemExit):
        return PflowError(f"cannot run {name}: it called exit({error.code})")
    if not isinstance(error, Exception):
        return PflowError(f"cannot run {name}: it raised {type(error).__name__}", hint="--debug shows where")
    if exit_code(error) == NO_MEMORY:
        return no_memory(f"cannot run {name}", error)
    if isinstance(error, OSError) and error.strerror:
        what = reason_with_file(error)
    else:
        what = f"{type(error).__name__}: {error}"
    return PflowError(f"cannot run {name}: {what}", hint="--debug shows where", exit=exit_code(error))


def own_error(error: Exception) -> PflowError:
    """Convert an exception in pflow itself to a PflowError: a bug, unless the data was too large or nested too deeply
    for Python, or the machine lacks something (room, descriptors, a sound disk).
    """
    if isinstance(error, PflowError):
        return error
    if isinstance(error, RecursionError):
        found = PflowError("cannot process the value: it is nested too deeply", exit=BAD_DATA)
    elif exit_code(error) == NO_MEMORY:
        found = no_memory("cannot go on", error)
    elif isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
        act = f"cannot open '{os.fsdecode(error.filename)}'" if error.filename else "cannot go on"
        found = PflowError(f"{act}: {reason_of(error)}", exit=exit_code(error))
    else:
        what = f"a bug in pflow: {type(error).__name__}: {error}"
        found = PflowError(what, hint="--debug shows where; please report it", exit=BUG)
    found.__cause__ = error
    return found


def causes(error: BaseException | None) -> list[BaseException]:
    """Return an exception and the exceptions that caused it, the first cause last."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def shorten(text: str, most: int = 60) -> str:
    """Cut a text to `most` characters for a message, with a … at the cut."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= most else text[: most - 1] + "…"
