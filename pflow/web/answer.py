"""A web server's answer: its text, the failure that its status means, and the reasons for no answer."""

import ssl
from collections.abc import Collection
from dataclasses import dataclass

import httpx2

from pflow.errors import BAD_DATA, TRY_AGAIN, UNAVAILABLE, PflowError, causes, result_of, wait_asked
from pflow.text.printable import clause, one_line
from pflow.values.jsontext import decode
from pflow.values.secrets import masked
from pflow.web.address import show
from pflow.web.charsets import decode_body
from pflow.web.reasons import Reason, meaning_of_status

HINTS = {
    UNAVAILABLE: "is the server up, its address right, and a proxy that the environment names?",
    TRY_AGAIN: "try again, or let --retries do it",
}


@dataclass(frozen=True)
class Response:
    """A response: the status, the headers by lower-case name, the unpacked body, the URL that answered."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes
    method: str
    url: str

    @property
    def kind(self) -> str:
        """The media type of the body, in lower case and without parameters; empty if no header names it."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


def content_of(answer: Response) -> str | bytes:
    """Decode the body as browsers do; return bytes that are not text."""
    return decode_body(answer.body, answer.headers.get("content-type", ""))


def check(answer: Response, secrets: Collection[str] = ()) -> Response:
    """Return the answer unless its status is a failure. Raises PflowError with the server's own words."""
    status = answer.status
    if status < 400:
        return answer
    exit = meaning_of_status(status).exit
    said = ": ".join(filter(None, (f"{status} {answer.reason}".strip(), _words_of(answer))))
    what = f"cannot {answer.method} '{show(answer.url)}': {said}"
    error = PflowError(what, hint=HINTS.get(exit, ""), exit=exit, is_permanent=exit != TRY_AGAIN)
    if exit == TRY_AGAIN:
        error.retry_after = wait_asked(answer.headers)
    raise masked(error, *secrets)


def _words_of(answer: Response) -> str:
    """Return the server's words for a failure, on one line: the message in JSON, or a plain text."""
    kind, text = answer.headers.get("content-type", ""), content_of(answer)
    text = text if isinstance(text, str) else text.decode(errors="replace")
    if "json" in kind:
        return result_of(lambda: one_line(Reason().read(decode(text.encode()))), of=ValueError, otherwise="")
    return one_line(text[:100_000]) if kind.startswith("text/plain") else ""


def explain(error: Exception, act: str, silence: float | None) -> PflowError:
    """Convert an exception of httpx2 to a PflowError."""
    if isinstance(error, httpx2.ConnectTimeout):
        return _failure(f"{act}: no connection in time", TRY_AGAIN)
    if isinstance(error, httpx2.TimeoutException):
        return _failure(f"{act}: nothing came for {silence:g} s", TRY_AGAIN)
    if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
        return _failure(f"{act}: {_cause(error)}", UNAVAILABLE)
    if what := malformed(error):
        return PflowError(f"{act}: {what}", hint=HINTS[UNAVAILABLE], exit=UNAVAILABLE, is_permanent=True)
    if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError):
        said = one_line(str(error) or type(error).__name__)
        if "buffer too long" not in said:
            return cut(act, said)
        return PflowError(f"{act}: the headers of its answer are too large", exit=BAD_DATA, is_permanent=True)
    what = "its host is not a valid name" if isinstance(error, UnicodeError) else one_line(str(error))
    return PflowError(f"{act}: {what}", exit=BAD_DATA, is_permanent=True)


def malformed(error: BaseException) -> str:
    """Return what is wrong with an answer that is not HTTP, in h11's words; "" for a cut one and other errors."""
    why = str(error).partition(": bytearray(")[0]
    is_cut = any(word in why for word in ("closed", "disconnected", "too long"))
    return "" if is_cut or type(error).__name__ != "RemoteProtocolError" else f"its answer is not valid HTTP: {why}"


def cut(act: str, why: str) -> PflowError:
    """Return the failure of an answer that was cut."""
    return _failure(f"{act}: the answer was cut: {clause(why)}", TRY_AGAIN)


def _failure(message: str, exit: int) -> PflowError:
    return PflowError(message, hint=HINTS[exit], exit=exit)


def _cause(error: BaseException) -> str:
    """Return the system's reason for a failed connection."""
    for cause in causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"no TLS: {(cause.reason or str(cause)).lower().replace('_', ' ')}"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
    return one_line(str(error))
