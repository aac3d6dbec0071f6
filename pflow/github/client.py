"""Requests to GitHub's REST interface: where it is, the key, pages, limits, and its failures in words."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, MISSING, TRY_AGAIN, PflowError, retry_after
from pflow.jsontext import decode
from pflow.masks import masked
from pflow.printable import one_line
from pflow.web.client import Answer, request
from pflow.web.status import check

PUBLIC = "https://api.github.com"
JSON = "application/json"
DIFF = "application/vnd.github.diff"

_VERSION = "2022-11-28"
_PAGE = 100
_PAUSE = 60.0
"""Seconds to wait at a limit of which GitHub says no end, as its documentation has it."""
_LONGEST = 86_400.0
_NO_KEY = "put one into GITHUB_TOKEN (https://github.com/settings/tokens), or: gh auth login"

Query = dict[str, Any]


def api_url() -> str:
    """GITHUB_API_URL, else GitHub's own. Raises PflowError (78) for one to which a key cannot be sent."""
    url = (os.environ.get("GITHUB_API_URL") or PUBLIC).rstrip("/")
    host = _host_of(url)
    if not host or not url.startswith(("https://", "http://") if is_local(host) else "https://"):
        hint = "https://HOST/api/v3, or unset it for github.com"
        raise PflowError("cannot ask GitHub: GITHUB_API_URL is no https URL", hint=hint, exit=BAD_CONFIG)
    return url


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_local(host: str) -> bool:
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdecimal())


def web_host() -> str:
    """The host of the repositories behind the interface: github.com for api.github.com."""
    return _host_of(api_url()).removeprefix("api.")


class Client:
    """GitHub, as the key of the environment lets us see it.

    For messages: `act` is what cannot be done, "cannot get 'owner/repo#1'", `missing` what a 404 means.
    """

    def __init__(self, act: str, missing: str = "") -> None:
        self.act = act
        self.missing = missing or "it is not there"
        self.url = api_url()
        self.key = _find_key()

    def get(self, path: str, query: Query | None = None, *, accept: str = JSON) -> Any:
        """What is at a path; as a text where JSON is not what was asked for."""
        answer = self._ask("GET", path, query or {}, accept=accept)
        return self._value(answer) if accept == JSON else answer.body.decode(errors="replace")

    def pages(self, path: str, query: Query, *, most: int = 0) -> Iterator[Any]:
        """The answer of each page; of what is asked for, so many at most are wanted (0: all)."""
        query = {**query, "per_page": min(most or _PAGE, _PAGE)}
        while query:
            answer = self._ask("GET", path, query)
            yield self._value(answer)
            query = _next(answer.headers.get("link", ""))

    def rows(self, path: str, query: Query | None = None, *, most: int = 0) -> Iterator[dict[str, Any]]:
        """The rows of all pages, one by one."""
        for page in self.pages(path, query or {}, most=most):
            yield from page

    def post(self, path: str, body: dict[str, Any], *, repeats: bool) -> Any:
        """What was made. Where it does not `repeat`, nobody tries again what may have been done."""
        if not self.key:
            raise PflowError(f"{self.act}: there is no key", hint=_NO_KEY, exit=DENIED)
        try:
            return self._value(self._ask("POST", path, {}, body=body))
        except PflowError as error:
            if error.exit == TRY_AGAIN and error.retry_after is None and not repeats:
                error.is_permanent, error.hint = True, "it may be done all the same: look before you try again"
            raise

    def _ask(self, method: str, path: str, query: Query, *, body: Any = None, accept: str = JSON) -> Answer:
        headers = {"Accept": accept, "X-GitHub-Api-Version": _VERSION}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        pairs = [(name, str(value)) for name, value in query.items() if value is not None]
        answer = request(method, self.url + path, headers=headers, query=pairs, body=body, secrets=[self.key])
        failure = self._failure(answer)
        if failure:
            raise masked(failure, self.key)
        return answer

    def _value(self, answer: Answer) -> Any:
        try:
            return decode(answer.body)
        except ValueError:
            what = f"{self.act}: the answer of '{self.url}' is no JSON"
            raise PflowError(what, hint="is it GitHub's interface?", exit=BAD_DATA) from None

    def _failure(self, answer: Answer) -> PflowError | None:
        """What is wrong with an answer, in words."""
        status, said = answer.status, _words(answer.body) if answer.status >= 400 else ""
        if status in (403, 429) and (limit := self._limit(answer, said)):
            return limit
        known = {
            401: (f"GitHub does not take the key: {said}" if self.key else said, _NO_KEY, DENIED),
            403: (said, _needed(answer), DENIED),
            404: (*self._not_found(), MISSING),
            406: (said, "", BAD_DATA),
            410: (f"it is gone: {said}", "", MISSING),
            422: (said, "", BAD_DATA),
        }.get(status)
        if known:
            why, hint, exit = known
            return PflowError(f"{self.act}: {why}", hint=hint, exit=exit, is_permanent=True)
        try:
            check(answer)
        except PflowError as error:
            return error
        return None

    def _not_found(self) -> tuple[str, str]:
        if self.key:
            return f"{self.missing}, or the key may not see it", "look at --repo, and at what the key was given"
        return f"{self.missing}, or it is private and there is no key", _NO_KEY

    def _limit(self, answer: Answer, said: str) -> PflowError | None:
        """The limit that a request met, and how long it holds; None where it met none."""
        asked = answer.headers.get("retry-after", "")
        is_used_up = answer.headers.get("x-ratelimit-remaining") == "0"
        if not asked and not is_used_up and "rate limit" not in said.lower() and answer.status != 429:
            return None
        seconds = retry_after(asked) if asked else None
        if seconds is None:
            end = answer.headers.get("x-ratelimit-reset", "")
            seconds = max(float(end) - time.time(), 0) + 1 if is_used_up and end.isdecimal() else _PAUSE
        seconds = min(seconds, _LONGEST)
        until = time.strftime("%H:%M", time.localtime(time.time() + seconds + 59))
        which = answer.headers.get("x-ratelimit-resource", "core").replace("_", " ")
        kind = "the rate limit" if which == "core" else f"the rate limit of {which}"
        hint = "--retries waits for it" if self.key else f"with a key there is more: {_NO_KEY}"
        what = f"{self.act}: {kind} is reached until {until}"
        return PflowError(what, hint=hint, exit=TRY_AGAIN, retry_after=seconds)


def _find_key() -> str:
    """GITHUB_TOKEN, else GH_TOKEN, else what gh was given for this host; empty where there is none."""
    key = (os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN") or "").strip() or _key_of_gh()
    if not (key.isascii() and key.isprintable()):
        what = "cannot ask GitHub: its key holds what is no printable ASCII character"
        raise PflowError(what, hint=_NO_KEY, exit=BAD_CONFIG)
    return key


def _key_of_gh() -> str:
    from shutil import which

    from pflow.process.children import run

    gh = None if is_local(web_host()) else which("gh")
    if not gh:
        return ""
    said = bytearray()
    code = run([gh, "auth", "token", "--hostname", web_host()], on_stdout=said.extend, on_stderr=lambda part: None)
    return "" if code else said.decode(errors="replace").strip()


def _next(link: str) -> Query:
    """The query of the next page, out of a Link header; empty where there is none. The key goes to no host it names."""
    for part in link.split(","):
        url, _, relation = part.partition(";")
        if 'rel="next"' in relation:
            return dict(parse_qsl(urlsplit(url.strip().strip("<>")).query))
    return {}


def _words(body: bytes) -> str:
    """What GitHub says of a failure, on one line."""
    try:
        said = decode(body)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return "it says no more"
    details = said["errors"] if isinstance(said.get("errors"), list) else []
    words = [str(said.get("message") or "it says no more"), *map(_detail, details)]
    return one_line(": ".join(word.strip().rstrip(".") for word in words[:4] if word.strip()))


def _detail(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    return str(error.get("message") or f"{error.get('field', '')} {error.get('code', '')}".replace("_", " "))


def _needed(answer: Answer) -> str:
    """What a key needs to be given, where GitHub says it."""
    needed = answer.headers.get("x-accepted-github-permissions", "")
    return f"the key needs {needed}" if needed else ""
