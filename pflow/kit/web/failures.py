"""What httpx2 raises, in words and with exit codes."""

import ssl
from collections.abc import Iterator

import httpx2

from pflow.errors import BAD_DATA, TRY_AGAIN, UNAVAILABLE, PflowError
from pflow.words.printable import clause, one_line

HINTS = {
    UNAVAILABLE: "is the server up, its address right, and a proxy that the environment names?",
    TRY_AGAIN: "try again, or let --retries do it",
}


def explain(error: Exception, act: str, silence: float | None) -> PflowError:
    """The PflowError for what httpx2 raised."""
    if isinstance(error, httpx2.ConnectTimeout):
        return _failure(f"{act}: no connection in time", TRY_AGAIN)
    if isinstance(error, httpx2.TimeoutException):
        return _failure(f"{act}: nothing came for {silence:g} s", TRY_AGAIN)
    if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
        return _failure(f"{act}: {_cause(error)}", UNAVAILABLE)
    if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError):
        return cut(act, one_line(str(error) or type(error).__name__))
    what = "its host is no name" if isinstance(error, UnicodeError) else one_line(str(error))
    return PflowError(f"{act}: {what}", exit=BAD_DATA, is_permanent=True)


def cut(act: str, why: str) -> PflowError:
    """An answer that did not come whole."""
    return _failure(f"{act}: the answer was cut: {clause(why)}", TRY_AGAIN)


def _failure(message: str, exit: int) -> PflowError:
    return PflowError(message, hint=HINTS[exit], exit=exit)


def _cause(error: BaseException) -> str:
    """What the system said of a connection."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"no TLS: {(cause.reason or str(cause)).lower().replace('_', ' ')}"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
    return one_line(str(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
