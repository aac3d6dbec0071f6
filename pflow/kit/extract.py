"""Text from the web: the readable text of a page, by trafilatura, and the transcript of a YouTube video."""

import os
import re
import time
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, MISSING, TRY_AGAIN, UNAVAILABLE, PflowError, nonblank, shorten
from pflow.files import atomic
from pflow.files.directories import cache_directory, make_private
from pflow.files.installation import needs
from pflow.terminal.messages import silence
from pflow.web.address import show
from pflow.web.client import request
from pflow.web.hosts import let_signals_end_lookups
from pflow.web.response import check, content_of
from pflow.web.route import check_bundle, via

Page = tuple[str, str]
"""The text and title of a page."""

_FORMATS = {"markdown": "markdown", "text": "txt"}
_HTML = ("text/html", "application/xhtml+xml")
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml")


def fetch(url: str, format: str, *, links: bool, max_size: int) -> Page:
    """Fetch the readable text at a URL. Raises PflowError: 65 if it is not a page, 66 if the page has no text."""
    response = check(request("GET", url, headers={"Accept": "text/html, text/*;q=0.9, */*;q=0.5"}, max_size=max_size))
    content, act = content_of(response), f"cannot read '{show(response.url)}' as a page"
    kind = response.kind
    if kind in _HTML or (not kind and response.body.lstrip()[:1] == b"<"):
        return _read(content, response.url, act, output_format=_FORMATS[format], include_links=links)
    if isinstance(content, str) and (not kind or kind.startswith(_TEXTS)):
        return content, ""
    hint = "pflow-http gets it, and pflow-llm --attachment=URL sends it to a model"
    raise PflowError(f"{act}: it is {kind or 'not text'}", hint=hint, exit=BAD_DATA, is_permanent=True)


def _read(html: str | bytes, url: str, act: str, **manner: Any) -> Page:
    with needs(act, "trafilatura", "web"):
        import trafilatura
    silence("trafilatura", "htmldate", "courlan")
    tree = trafilatura.load_html(html)
    title = "" if tree is None else " ".join((tree.findtext(".//title") or "").split())
    text = None if tree is None else trafilatura.extract(tree, url=url, include_comments=False, **manner)
    if not text:
        raise PflowError(f"{act}: it has no text", hint="does it need a browser's scripts?", exit=MISSING)
    return str(text), title


MAX_SILENCE = 30.0
"""The most seconds that YouTube may send nothing."""

_SITE = "https://www.youtube.com"
_ID_LENGTH = 11
_HOSTS = ("youtube.com", "youtube-nocookie.com")
_PREFIXES = ("www.", "m.", "music.")
_FOLDERS = ("shorts", "embed", "live", "v", "e")
_FORMS = "https://www.youtube.com/watch?v=ID, https://youtu.be/ID or ID"

_BLOCKED = "wait some hours, slow down with --delay=SECONDS, or use another address with --proxy=URL"
_NEWER = "a newer version of the library youtube-transcript-api may support it"
_OTHER_FORM = (UNAVAILABLE, "YouTube's answer has another form", _NEWER)
_FAILURES: dict[str, tuple[int, str, str]] = {
    "TranscriptsDisabled": (MISSING, "the video has no transcript", ""),
    "VideoUnavailable": (MISSING, "there is no such video", ""),
    "AgeRestricted": (DENIED, "only adults who are logged in may see the video", ""),
    "RequestBlocked": (UNAVAILABLE, "YouTube blocks requests from this address", _BLOCKED),
    "PoTokenRequired": (UNAVAILABLE, "YouTube requires a token that only its players have", _NEWER),
    "FailedToCreateConsentCookie": (UNAVAILABLE, "YouTube asks for a consent that cannot be given", _NEWER),
    "Timeout": (TRY_AGAIN, "YouTube does not answer", ""),
    "ProxyError": (UNAVAILABLE, "the proxy refuses the connection", ""),
    "InvalidSchema": (BAD_CONFIG, "the proxy's URL is not usable", "http://HOST:PORT"),
    "InvalidURL": (BAD_CONFIG, "the proxy's URL is not usable", "http://HOST:PORT"),
    "SSLError": (UNAVAILABLE, "the certificate is not YouTube's", ""),
    "ChunkedEncodingError": (TRY_AGAIN, "the answer was cut", ""),
    "JSONDecodeError": _OTHER_FORM,
    "RequestException": (UNAVAILABLE, "YouTube cannot be reached", ""),
}
"""Exit code, reason and hint for exceptions of youtube-transcript-api and of requests, by the name of a class."""


def video_of(url: str) -> str:
    """Return the ID of the video in a URL, or the ID itself. Raises PflowError (66 if it is empty, 65)."""
    text = nonblank(url, "cannot get a transcript", "URL").strip()
    is_id = len(text) == _ID_LENGTH and _is_id(text)
    if found := text if is_id else _id_in(text if "://" in text else f"https://{text}"):
        return found
    act = f"cannot get the transcript of '{shorten(text)}'"
    raise PflowError(f"{act}: it is not a YouTube video", hint=f"write {_FORMS}", exit=BAD_DATA, is_permanent=True)


def _is_id(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text) is not None


def _id_in(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return ""
    host = next((host[len(each) :] for each in _PREFIXES if host.startswith(each)), host)
    if parts.scheme.lower() not in ("http", "https") or host not in ("youtu.be", *_HOSTS):
        return ""
    found, _, rest = parts.path.lstrip("/").partition("/")
    if host != "youtu.be":
        found = rest.partition("/")[0] if found in _FOLDERS else parse_qs(parts.query).get("v", [""])[0]
    return found if _is_id(found) else ""


def fetch_segments(video: str, languages: list[str], proxy: str | None) -> list[dict[str, Any]]:
    """Return the transcript in the first language that exists: text, start and duration of each segment, in seconds.

    A person's transcript comes before a machine's; `en` stands for `en-GB` too, as a last resort.
    Raises PflowError: 66 without such a video or transcript, 69, 75, 77, 78 without the library.
    """
    act = f"cannot get the transcript of '{video}'"
    check_bundle()
    with needs(act, "youtube-transcript-api", "youtube"):
        import requests
        from defusedxml.ElementTree import ParseError
        from youtube_transcript_api import CouldNotRetrieveTranscript, YouTubeTranscriptApi
    raised = (CouldNotRetrieveTranscript, requests.RequestException, ParseError, LookupError)
    try:
        with _session(proxy) as session:
            found = YouTubeTranscriptApi(http_client=session).list(video)
            codes = [transcript.language_code for transcript in found]
            variants = {each: [code for code in codes if code.startswith(f"{each}-")] for each in languages}
            wanted = [code for each in languages for code in (each, *variants[each])]
            if not {*wanted} & {*codes}:
                there = ", ".join(dict.fromkeys(codes))
                what = f"{act}: it does not exist in '{', '.join(languages)}'"
                raise PflowError(what, hint=f"--language takes {there}", exit=MISSING)
            return found.find_transcript(wanted).fetch().to_raw_data()
    except (*raised, AttributeError, RecursionError, TypeError, ValueError) as error:
        raise _explain(act if proxy else act + via(_SITE), error) from error


def _session(proxy: str | None) -> Any:
    """Return a client that waits at most MAX_SILENCE, and uses this proxy, else that of the environment."""
    import requests

    let_signals_end_lookups()
    session: Any = requests.Session()
    proxies = {"http": proxy, "https": proxy} if proxy else None  # Session.proxies would yield to the environment's
    session.request = partial(session.request, timeout=MAX_SILENCE, proxies=proxies)
    return session


def _explain(act: str, error: Any) -> PflowError:
    """Convert an exception to a short message; the library's own fills a page."""
    name = type(error).__name__
    if name == "VideoUnplayable":
        why = " ".join(str(error.reason or "it gives no reason").split()).rstrip(".")
        return PflowError(f"{act}: the video cannot be played: {shorten(why)}", exit=MISSING)
    if name == "YouTubeRequestFailed":
        status = getattr(getattr(error.__context__, "response", None), "status_code", 0)
        exit = TRY_AGAIN if status >= 500 else UNAVAILABLE
        return PflowError(f"{act}: YouTube answers {status or error.reason}", exit=exit)
    known = (_FAILURES[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _FAILURES)
    exit, why, hint = next(known, _OTHER_FORM)
    return PflowError(f"{act}: {why}", hint=hint, exit=exit)


def wait_turn(delay: float) -> None:
    """Wait until `delay` seconds have passed since the last call in any of the user's processes."""
    place = cache_directory() if delay else None
    if place is None:
        time.sleep(delay)  # without a shared file, the last call of another process is unknown
        return
    make_private(place)
    with open(atomic.open_private(os.path.join(place, "yt-transcript"), os.O_APPEND), "wb", buffering=0) as file:
        atomic.take_turn(file.fileno())
        status = os.fstat(file.fileno())
        if status.st_size:
            time.sleep(min(max(status.st_mtime + delay - time.time(), 0), delay))
        file.truncate(0)
        file.write(b"\n")
