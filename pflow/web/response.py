"""The response of a web server: its text, a limit for its size, and the failure of a bad status or of no response."""

import re
import ssl
from codecs import BOM_UTF8
from codecs import lookup as find_codec
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from dataclasses import dataclass

import httpx2
import webencodings

from pflow.errors import BAD_DATA, TRY_AGAIN, UNAVAILABLE, PflowError, causes, result_of, wait_asked
from pflow.text.printable import clause, foreign_line
from pflow.values.encoding import codec_of, recognize
from pflow.values.json_input import MOST_VALUES, has_too_many_values
from pflow.values.jsontext import decode
from pflow.values.secrets import masked
from pflow.web.address import show
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


def content_of(response: Response) -> str | bytes:
    """Decode the body as browsers do; return bytes that are not text."""
    return decode_body(response.body, response.headers.get("content-type", ""))


def check(response: Response, secrets: Collection[str] = ()) -> Response:
    """Return the response unless its status is a failure. Raises PflowError with the server's own words."""
    status = response.status
    if status < 400:
        return response
    exit = meaning_of_status(status).exit
    said = ": ".join(filter(None, (f"{status} {response.reason}".strip(), _words_of(response))))
    what = f"cannot {response.method} '{show(response.url)}': {said}"
    error = PflowError(what, hint=HINTS.get(exit, ""), exit=exit, is_permanent=exit != TRY_AGAIN)
    if exit == TRY_AGAIN:
        error.retry_after = wait_asked(response.headers)
    raise masked(error, *secrets)


def _words_of(response: Response) -> str:
    """Return the server's words for a failure, on one line: the message in JSON, or a plain text."""
    kind, text = response.headers.get("content-type", ""), content_of(response)
    text = text if isinstance(text, str) else text.decode(errors="replace")
    if "json" in kind:
        return result_of(lambda: foreign_line(Reason().read(decode(text.encode()))), of=ValueError, otherwise="")
    return foreign_line(text[:100_000]) if kind.startswith("text/plain") else ""


def explain(error: Exception, act: str, silence: float | None) -> PflowError:
    """Convert an exception of httpx2 to a PflowError; `silence` is the number of seconds that it waited for data."""
    if isinstance(error, httpx2.ConnectTimeout):
        return _failure(f"{act}: no connection in time", TRY_AGAIN)
    if isinstance(error, httpx2.TimeoutException):
        return _failure(f"{act}: nothing came for {silence:g} s", TRY_AGAIN)
    if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
        return _failure(f"{act}: {_cause(error)}", UNAVAILABLE)
    if what := malformed(error):
        return PflowError(f"{act}: {what}", hint=HINTS[UNAVAILABLE], exit=UNAVAILABLE, is_permanent=True)
    if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError):
        said = foreign_line(str(error) or type(error).__name__)
        if "buffer too long" not in said:
            return cut(act, said)
        return PflowError(f"{act}: the headers of its answer are too large", exit=BAD_DATA, is_permanent=True)
    what = "its host is not a valid name" if isinstance(error, UnicodeError) else foreign_line(str(error))
    return PflowError(f"{act}: {what}", exit=BAD_DATA, is_permanent=True)


def malformed(error: BaseException) -> str:
    """Return what is wrong with a response that is not HTTP, in h11's words; "" for a cut one and other errors."""
    why = str(error).partition(": bytearray(")[0]
    is_cut = any(word in why for word in ("closed", "disconnected", "too long"))
    return "" if is_cut or type(error).__name__ != "RemoteProtocolError" else f"its answer is not valid HTTP: {why}"


def cut(act: str, why: str) -> PflowError:
    """Return the failure of a response that was cut."""
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
    return foreign_line(str(error))


_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_BINARY = ("audio/", "video/", "image/", "font/", "application/octet-stream")
_IN_HEADER = re.compile(r"""charset\s*=\s*["']?([^\s;,"']+)""")
_IN_PAGE = re.compile(
    r"""(?is)<\?xml\b[^>]*\bencoding\s*=\s*["']([^"'>]+)|<meta\b[^>]*?\bcharset\s*=["'\s]*([^\s"'/>;]+)"""
)
_GLANCE = 4096
_WIDER = {"gbk": "gb18030", "euc-jp": "euc_jis_2004", "iso-2022-jp": "iso2022_jp_ext"}
"""The codecs for these charsets: Python's codecs of the same name lack some characters that browsers read."""
_AS_CONTROLS = {0xDC00 + byte: byte for byte in range(0x80, 0xA0)}
"""The control characters that browsers read for the bytes that Windows' charsets leave undefined."""


def decode_body(body: bytes, kind: str) -> str | bytes:
    """Decode a body as browsers do, by its Content-Type (`kind`); return bytes that are not text unchanged.

    A byte order mark counts first, then the charset in `kind`, then UTF-8 if the body is valid, then the charset that
    a page names. A plain text without a charset may be windows-1252. Packed data and images are never text.
    """
    kind = kind.lower()
    is_packed = recognize(body)[0] or kind.startswith(_BINARY)
    named = not is_packed and _IN_HEADER.search(kind)
    is_page = "html" in kind or "xml" in kind or (not kind and body.lstrip()[:1] == b"<")
    in_page = _label_in(body[:_GLANCE].decode("latin-1")) if is_page else ""
    is_plain = kind.startswith("text/") and not (is_packed or is_page or named or b"\0" in body)
    usual = (is_plain and codec_of(body)) or "utf-8"
    for label in filter(None, (named and named[1], "" if body.isascii() else "utf-8", in_page, usual)):
        try:
            text = _decode(body, label)
            text.encode()  # some codecs return lone surrogates, which no document can hold
        except (LookupError, ValueError):
            continue
        return text
    return body


def _label_in(head: str) -> str:
    """Return the charset that a page names. UTF-16 does not count: in UTF-16 the name could not be read as ASCII."""
    found = _IN_PAGE.search(re.sub(r"(?s)<!--.*?-->", "", head))
    label = (found[1] or found[2]) if found else ""
    return "" if label.lower().startswith("utf-16") else label


def _decode(body: bytes, label: str) -> str:
    found = webencodings.lookup("utf-8" if body.startswith(_MARKS) else label)
    if found is None or found.name == "replacement":  # browsers know no such charset, or refuse to read it
        if find_codec(label).name == "utf-7":  # browsers refuse it, since it can hide tags in what looks like text
            raise LookupError(label)
        return body.decode(label)
    if found.name in _WIDER:
        return body.decode(_WIDER[found.name])
    errors = "surrogateescape" if found.name.startswith("windows-") else "strict"
    return str(webencodings.decode(body, found, errors)[0]).translate(_AS_CONTROLS)


def limit_body(response: httpx2.Response, most: int, failure: Callable[[], Exception], *, line: int = 0) -> None:
    """Limit the body of a response: reading it raises `failure` after `most` bytes, or for JSON with too many values.

    Each line counts for `line` bytes more. This is for a hook of httpx2.
    """
    response.stream = _Limited(response, most, failure, line)
    response.headers.pop("content-encoding", None)


class _Limited(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, most: int, failure: Callable[[], Exception], line: int) -> None:
        about = {"headers": response.headers, "stream": response.stream, "request": response.request}
        self.packed = httpx2.Response(response.status_code, **about)  # type: ignore[arg-type]
        self.most, self.failure, self.line = most, failure, line
        self.body = bytearray()
        self.marks = 0

    def __iter__(self) -> Iterator[bytes]:
        return map(self._counted, self.packed.iter_bytes())

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self.packed.aiter_bytes():
            yield self._counted(part)

    def _counted(self, part: bytes) -> bytes:
        part = part if self.body else part.removeprefix(BOM_UTF8)
        self.body += part
        self.most -= len(part) + (part.count(b"\n") + part.count(b"\r")) * self.line
        self.marks += sum(map(part.count, (b",", b"[", b"{")))
        if self.most < 0:
            raise self.failure()
        if self.marks > MOST_VALUES:  # only then, since a look at the whole body takes time
            if has_too_many_values(self.body):
                raise self.failure()
            self.marks = 0
        return part

    def close(self) -> None:
        self.packed.close()

    async def aclose(self) -> None:
        await self.packed.aclose()
