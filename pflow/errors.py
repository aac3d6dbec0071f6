"""What can go wrong: the one error class, and the exit code that each failure ends in."""

from __future__ import annotations

import errno
import os

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

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

# What a second try cannot change.
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


class PflowError(Exception):
    """A failure that pflow can explain.

    `message` is lower case, without a full stop, the failed act first and its subject quoted. `hint` says what to do.
    `exit` is one of EXIT_CODES, or a child's own code. `retry_after` is how many seconds a server asked us to wait.
    `is_permanent` says that another try could not go better; without it, the exit code decides. `details` are further
    members, JSON, of the document that tells other programs of it; `store` is the store document that had come in, to
    be handed on; `usage` is what was asked of models for nothing (pflow.words.usage). No `error` edge and no batch that
    keeps going takes one that `ends_run`: what runs ends in order, and nothing else begins. `is_cut` says that nobody
    knows what was done before it.
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
        self.ends_run = False

    def within(self, act: str) -> PflowError:
        """The same failure as the reason of a larger one: `act` is what could not be done because of it."""
        why = f"{act}: {self.message}"
        about = PflowError(why, hint=self.hint, exit=self.exit, is_permanent=self.is_permanent, details=self.details)
        about.ends_run = self.ends_run
        return about


def retry_after(said: str) -> float | None:
    """The seconds to wait that a Retry-After header names, by a number or a date."""
    import time
    from email.utils import mktime_tz, parsedate_tz

    try:
        seconds = float(said or "nan")
    except ValueError:
        try:
            date = parsedate_tz(said)
            seconds = mktime_tz(date) - time.time() if date else float("nan")
        except (ValueError, OverflowError):  # a day or a year that no calendar has
            return None
    return max(seconds, 0.0) if abs(seconds) < float("inf") else None


def is_permanent(error: BaseException) -> bool:
    """Whether another try could not go better."""
    return error.is_permanent if isinstance(error, PflowError) else exit_code(error) in PERMANENT


def exit_code(error: BaseException) -> int:
    """The code that an exception in a node ends in (DESIGN.md, section 5)."""
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
    """Return the system's words for an error, in lower case; of any other error, its own."""
    return (getattr(error, "strerror", "") or str(error)).lower()


def no_extra(act: str, library: str, extra: str) -> PflowError:
    """The failure of an act for which a library is missing that an extra of pflow-shell brings."""
    hint = f"pip install 'pflow-shell[{extra}]'"
    return PflowError(f"{act}: {library} is not installed", hint=hint, exit=BAD_CONFIG)


def no_memory(act: str, error: BaseException, size: int = 0) -> PflowError:
    """The failure of an act that took so many bytes, where that is known, or as many as the exception says."""
    wanted = f" for {size:,} bytes" if size else f": {error}" if isinstance(error, MemoryError) and str(error) else ""
    return PflowError(f"{act}: not enough memory{wanted}", exit=NO_MEMORY)


def lone_surrogate(act: str) -> PflowError:
    """The failure of an act for which a text has to be UTF-8."""
    return PflowError(f"{act}: a lone surrogate is no character", exit=BAD_DATA)


def node_error(name: str, error: BaseException) -> PflowError:
    """What a node raised, in words and with its exit code."""
    if isinstance(error, PflowError):
        return error
    if isinstance(error, SystemExit):
        return PflowError(f"cannot run {name}: it called exit({error.code})")
    if not isinstance(error, Exception):
        return PflowError(f"cannot run {name}: it raised {type(error).__name__}", hint="--debug shows where")
    if exit_code(error) == NO_MEMORY:
        return no_memory(f"cannot run {name}", error)
    if isinstance(error, OSError) and error.strerror:
        where = f" '{os.fsdecode(error.filename)}'" if isinstance(error.filename, str | bytes) else ""
        what = f"{reason_of(error)}{where}"
    else:
        what = f"{type(error).__name__}: {error}"
    return PflowError(f"cannot run {name}: {what}", hint="--debug shows where", exit=exit_code(error))


def bug_error(error: Exception) -> PflowError:
    """What pflow itself raised, in words: a bug, unless there was more data, or it is nested more deeply, than Python
    can take.
    """
    if isinstance(error, RecursionError):
        found = PflowError("cannot take a value that is nested so deeply", exit=BAD_DATA)
    elif exit_code(error) == NO_MEMORY:
        found = no_memory("cannot go on", error)
    else:
        what = f"a bug in pflow: {type(error).__name__}: {error}"
        found = PflowError(what, hint="--debug shows where; please report it", exit=BUG)
    found.__cause__ = error
    return found


def shorten(text: str) -> str:
    """A text for a message: its first 60 characters."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= 60 else text[:59] + "…"
