"""HTTP requests by httpx2, with redirects, limits and keys, and their unpacked responses."""

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import printable
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
from httpx2._decoders import SUPPORTED_DECODERS

from pflow import __version__
from pflow.errors import BAD_DATA, CANNOT_WRITE, DENIED, PflowError, Within
from pflow.files.members import unpack_members
from pflow.process.signals import time_left
from pflow.terminal.messages import say
from pflow.values.jsontext import encode
from pflow.values.secrets import Secrets, masked
from pflow.web.address import parse_url, show
from pflow.web.hosts import let_signals_end_lookups
from pflow.web.response import Response, cut, explain
from pflow.web.route import route, via

MAX_SIZE = 100_000_000
"""The most bytes of an unpacked response."""
MAX_SILENCE = 60.0
"""The most seconds without any data."""

_CONNECT = 30.0
_LONG = 8
_REDIRECTS = 20
_OF_AN_ORIGIN = {"authorization", "cookie", "proxy-authorization", "host"}
_OURS = {"content-length", "transfer-encoding"}
_OF_A_BODY = ("content-", "transfer-encoding")

_GZIP = ("gzip", "x-gzip")
_LIBRARIES = {"br": "brotli", "zstd": "backports.zstd"}
"""The libraries by which httpx2 unpacks these codings, if they are installed."""
_MAGIC = b"\x1f\x8b"
_DEEPEST = 5


@dataclass(frozen=True)
class _Request:
    method: str
    url: httpx2.URL
    headers: Mapping[str, str]
    body: bytes | None
    secrets: Collection[str]
    max_size: int
    max_silence: float | None
    glance: int | None
    keeps_method: bool
    cookies: httpx2.Cookies = field(default_factory=httpx2.Cookies)

    @property
    def act(self) -> str:
        return f"cannot {self.method} '{show(str(self.url))}'"


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    query: Sequence[tuple[str, str]] = (),
    body: Any = None,
    form: Sequence[tuple[str, str]] = (),
    secrets: Collection[str] = (),
    follow: bool = True,
    keeps_method: bool = False,
    max_size: int = MAX_SIZE,
    max_silence: float | None = MAX_SILENCE,
    glance: int | None = None,
) -> Response:
    """Send a request and return the response, whatever its status; pflow.web.response.check raises for a failure.

    A body of text or bytes is sent unchanged, any other value as JSON, and `form` as a form, with a Content-Type unless
    `headers` has one. A header with one of the `secrets` goes only to the URL's own origin, and neither messages nor
    the response show a secret. With `follow`, up to 20 redirects are followed, but none from https to http; after
    301 and 302 a POST becomes a GET, as in browsers, unless the request `keeps_method`. With a `glance`, only about so
    many bytes of the body are read.

    Raises PflowError: 65 for an invalid URL or header, 69 without a connection, 73 for more than `max_size` bytes, 75
    for a late or cut response, 77 for a redirect from https to http.
    """
    secrets = [secret for secret in secrets if secret]
    try:
        kind, content = _content(body, form)
        sent = {"content-type": kind} if kind else {}
        sent |= {name.lower(): value for name, value in _checked(headers or {}).items()}
        limits = (max_size, max_silence, glance, keeps_method)
        first = _Request(method, _with_query(parse_url(url), query), sent, content, secrets, *limits)
        return _follow(first, _REDIRECTS if follow else 0)
    except PflowError as error:
        raise masked(error, *secrets) from error.__cause__


def _content(body: Any, form: Sequence[tuple[str, str]]) -> tuple[str, bytes | None]:
    """Return the Content-Type, empty without a body, and the body's bytes."""
    if form:
        return "application/x-www-form-urlencoded", urlencode(form).encode()
    if body is None:
        return "", None
    if isinstance(body, bytes):
        return "application/octet-stream", body
    if isinstance(body, str):
        return "text/plain; charset=utf-8", body.encode()
    return "application/json", encode(body, escape=False)


def _checked(headers: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in headers.items():
        if not name or not (name.isascii() and name.replace("-", "").replace("_", "").replace(".", "").isalnum()):
            raise PflowError(f"cannot send the header '{name}': the name is not valid", exit=BAD_DATA)
        if name.lower() in _OURS:
            raise PflowError(f"cannot send the header '{name}': it follows from the body", exit=BAD_DATA)
        if not value.isascii() or not value.replace("\t", "").isprintable():
            why = "it has characters that are not printable ASCII"
            raise PflowError(f"cannot send the header '{name}': {why}", exit=BAD_DATA)
    return headers


def _with_query(url: httpx2.URL, query: Sequence[tuple[str, str]]) -> httpx2.URL:
    parts = [url.query, urlencode(query).encode()]
    return url.copy_with(query=b"&".join(filter(None, parts))) if query else url


def _follow(first: _Request, most: int) -> Response:
    """Return the response after at most `most` redirects; with 0, the first response."""
    asked = _ask(first, follow=most > 0)
    for _ in range(most):
        asked = asked if isinstance(asked, Response) else _ask(asked, follow=True)
    if isinstance(asked, Response):
        return asked
    raise _refusal(f"{first.act}: it redirects more than {_REDIRECTS} times", "is it a loop?")


def _ask(request: _Request, *, follow: bool) -> Response | _Request:
    """Send a request; return the response, or the next request if the response redirects."""
    let_signals_end_lookups()
    timeout = httpx2.Timeout(time_left(request.max_silence), connect=time_left(_CONNECT))
    headers = {"user-agent": f"pflow/{__version__}", "accept-encoding": "gzip", **request.headers}
    try:
        with Within(request.act):
            client = httpx2.Client(**route(str(request.url)), timeout=timeout, cookies=request.cookies)
        sent = client.stream(request.method, request.url, headers=headers, content=request.body)
        with client, sent as response:
            request.cookies.update(client.cookies)
            return (_next(request, response) if follow else None) or _answer(request, response)
    except (httpx2.RequestError, UnicodeError) as error:
        raise explain(error, request.act + via(str(request.url)), request.max_silence) from error


def _next(request: _Request, response: httpx2.Response) -> _Request | None:
    """Return the request that follows a redirect, as browsers make it; None for any other response."""
    places = response.headers.get_list("location")
    if not response.has_redirect_location or not places[0].strip():
        return None
    # Servers send UTF-8 in this header, against the rules, and httpx2 reads it as Latin-1.
    place = quote(places[0], printable, "latin-1") if response.headers.encoding == "iso-8859-1" else places[0]
    url = parse_url(place.replace("\t", ""), base=request.url, act=f"{request.act}: it redirects")
    if request.url.scheme == "https" and url.scheme == "http":
        what = f"{request.act}: it redirects from https to '{show(str(url))}'"
        raise PflowError(what, hint="request that URL directly if you trust it", exit=DENIED)
    headers, made = request.headers, replace(request, url=url)
    if url.origin != request.url.origin:
        bound = {name for name, value in headers.items() if any(secret in value for secret in request.secrets)}
        headers = {name: value for name, value in headers.items() if name not in _OF_AN_ORIGIN | bound}
    is_post = request.method == "POST" and not request.keeps_method
    if response.status_code == 303 or (response.status_code in (301, 302) and is_post):
        headers = {name: value for name, value in headers.items() if not name.startswith(_OF_A_BODY)}
        made = replace(made, method="HEAD" if request.method == "HEAD" else "GET", body=None)
        if response.status_code != 303:
            say("warning", f"a POST was answered with {response.status_code}, and so a GET followed, without the body")
    return replace(made, headers=headers)


def _answer(request: _Request, response: httpx2.Response) -> Response:
    body = b"" if request.method == "HEAD" else _read(request, response)
    headers = {name.lower(): value for name, value in response.headers.items()}
    known = Secrets()
    known.add([secret for secret in request.secrets if len(secret) >= _LONG])  # a shorter one may be a common word
    if known:
        headers, body = known.masked(headers), known.mask(body.decode("latin-1")).encode("latin-1")
    return Response(response.status_code, response.reason_phrase, headers, body, request.method, str(request.url))


def _read(request: _Request, response: httpx2.Response) -> bytes:
    body, most = bytearray(), request.max_size
    for part in unpack(response.iter_raw(), response.headers.get("content-encoding", ""), request.act):
        time_left()
        if len(body) + len(part) > most:
            what = f"{request.act}: its answer has more than {most:,} bytes"
            raise PflowError(what, hint="--max-size allows more", exit=CANNOT_WRITE, is_permanent=True)
        body += part
        if request.glance and len(body) >= request.glance:
            break
    return bytes(body)


def unpack(packed: Iterator[bytes], codings: str, act: str) -> Iterator[bytes]:
    """Undo the codings that a Content-Encoding header lists, the last one first.

    As in browsers, a name that is not a coding, such as utf-8, is ignored. Raises PflowError, which begins with `act`:
    65 for data in another coding or a missing library, 75 for data that is cut or broken.
    """
    listed = [name for each in codings.lower().split(",") if (name := each.strip()) in (*_GZIP, "deflate", *_LIBRARIES)]
    if len(listed) > _DEEPEST:
        raise _refusal(f"{act}: its answer is packed {len(listed)} times")
    for coding in reversed(listed):
        if coding not in _LIBRARIES:
            packed = inflate(packed, coding, act)
        elif coding in SUPPORTED_DECODERS:
            packed = httpx2.Response(200, headers={"content-encoding": coding}, content=packed).iter_bytes()
        else:
            what = f"{act}: its answer is packed as '{coding}', for which a library is missing"
            raise _refusal(what, f"pip install {_LIBRARIES[coding]}")
    return packed


def inflate(packed: Iterable[bytes], coding: str, act: str) -> Iterator[bytes]:
    """Yield unpacked gzip or deflate data, even if the server mixes up the two names.

    Read all members and ignore what follows them, as gzip(1) does. httpx2's own decoder does not notice a cut stream,
    and reads only the first member.
    """
    is_gzip = False

    def begin(data: bytes, is_first: bool) -> Any:
        nonlocal is_gzip
        is_gzip = data.startswith(_MAGIC)
        if not (is_first or is_gzip):
            return None
        # Some servers send deflate data without the two bytes of zlib's header.
        has_header = coding in _GZIP or is_gzip or (data[0] & 15 == 8 and int.from_bytes(data[:2]) % 31 == 0)
        return zlib.decompressobj(zlib.MAX_WBITS | 32 if has_header else -zlib.MAX_WBITS)

    try:
        for _, part in unpack_members(packed, begin):
            yield part
    except EOFError as error:
        raise cut(act, f"its {coding} data has no end") from error
    except ValueError as error:
        if is_gzip:
            raise cut(act, f"its gzip data is broken: {str(error).rpartition(': ')[2]}") from error
        hint = "--header='Accept-Encoding: identity' asks for it unpacked"
        raise _refusal(f"{act}: its answer is called {coding}, and is not", hint) from error


def _refusal(what: str, hint: str = "") -> PflowError:
    return PflowError(what, hint=hint, exit=BAD_DATA, is_permanent=True)
