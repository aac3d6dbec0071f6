"""Requests to GitHub's REST interface, and the pages of its answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, MISSING, TRY_AGAIN, PflowError, retry_after
from pflow.kit.github.access import NO_KEY, api_url, find_key
from pflow.kit.web.answer import Response, check
from pflow.kit.web.client import request
from pflow.values.digest import digest_of
from pflow.values.jsontext import decode
from pflow.values.masks import masked
from pflow.words.printable import one_line

JSON = "application/json"
DIFF = "application/vnd.github.diff"

_VERSION = "2022-11-28"
_PAGE = 100

Query = dict[str, Any]


class Client:
    """GitHub, as the key of the environment lets us see it.

    For messages: `act` is what cannot be done, "cannot get 'owner/repo#1'", `missing` what a 404 means.
    """

    def __init__(self, act: str, missing: str = "") -> None:
        self.act = act
        self.missing = missing or "it is not there"
        self.url = api_url()
        self.key = find_key()

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

    def rows(self, path: str, query: Query | None = None) -> Iterator[dict[str, Any]]:
        """The rows of all pages, one by one."""
        for page in self.pages(path, query or {}):
            yield from page

    def post(self, path: str, body: dict[str, Any], *, repeats: bool) -> Any:
        """What was made. Where it does not `repeat`, nobody tries again what may have been done."""
        if not self.key:
            raise PflowError(f"{self.act}: there is no key", hint=NO_KEY, exit=DENIED)
        try:
            return self._value(self._ask("POST", path, {}, body=body))
        except PflowError as error:
            if error.exit == TRY_AGAIN and error.retry_after is None and not repeats:
                error.is_permanent, error.hint = True, "it may be done all the same: look before you try again"
            raise

    def _ask(self, method: str, path: str, query: Query, *, body: Any = None, accept: str = JSON) -> Response:
        headers = {"Accept": accept, "X-GitHub-Api-Version": _VERSION}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        pairs = [(name, str(value)) for name, value in query.items() if value is not None]
        answer = request(method, self.url + path, headers=headers, query=pairs, body=body, secrets=[self.key])
        failure = failure_of(answer, self.act, self.missing, has_key=bool(self.key))
        if failure:
            raise masked(failure, self.key)
        return answer

    def _value(self, answer: Response) -> Any:
        try:
            return decode(answer.body)
        except ValueError:
            what = f"{self.act}: the answer of '{self.url}' is no JSON"
            raise PflowError(what, hint="is it GitHub's interface?", exit=BAD_DATA) from None


def _next(link: str) -> Query:
    """The query of the next page, out of a Link header; empty where there is none. The key goes to no host it names."""
    for part in link.split(","):
        url, _, relation = part.partition(";")
        if 'rel="next"' in relation:
            return dict(parse_qsl(urlsplit(url.strip().strip("<>")).query))
    return {}


Row = dict[str, Any]

_DAYS = 30
"""How far back to look: as long as a run is kept that can be resumed."""


def make_once(github: Client, path: str, content: Row, step_key: str, there: Iterable[Row]) -> Row:
    """What a POST of the content makes, or what it made before in the same visit of a step; `there` is looked through.

    The mark stands at the end of the body, in a comment of HTML, which GitHub does not show. A stage outside of a run
    has no key, and what it makes no mark.
    """
    body = content["body"].rstrip()
    made: Row | None = None
    if step_key:
        # All that a step starts has its key: what is made counts too.
        mark = f"<!-- pflow:{digest_of([step_key, path, content])[:32]} -->"
        body = f"{body}\n\n{mark}".lstrip()
        made = next((row for row in there if (row.get("body") or "").rstrip().endswith(mark)), None)
    return made or dict(github.post(path, {**content, "body": body}, repeats=bool(step_key)))


def earliest() -> str:
    """The time from which on it may have been made, as GitHub writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - _DAYS * 86_400))


def not_too_old(rows: Iterable[Row]) -> Iterator[Row]:
    """Those of the rows, the newest first, that may have been made by a run that goes on."""
    oldest = earliest()
    for row in rows:
        if row["created_at"] < oldest:
            return
        yield row


def never_cached(what: str) -> PflowError:
    return PflowError(f"cannot cache {what}: it is made on GitHub", exit=BAD_CONFIG)


_PAUSE = 60.0
"""Seconds to wait at a limit of which GitHub says no end, as its documentation has it."""
_LONGEST = 86_400.0


def failure_of(answer: Response, act: str, missing: str, *, has_key: bool) -> PflowError | None:
    """What is wrong with an answer, in words; `missing` is what a 404 means."""
    status, said = answer.status, _words(answer.body) if answer.status >= 400 else ""
    if status in (403, 429) and (limit := _limit(answer, act, said, has_key=has_key)):
        return limit
    known = {
        401: (f"GitHub does not take the key: {said}" if has_key else said, NO_KEY, DENIED),
        403: (said, _needed(answer), DENIED),
        404: (*_not_found(missing, has_key=has_key), MISSING),
        406: (said, "", BAD_DATA),
        410: (f"it is gone: {said}", "", MISSING),
        422: (said, "", BAD_DATA),
    }.get(status)
    if known:
        why, hint, exit = known
        return PflowError(f"{act}: {why}", hint=hint, exit=exit, is_permanent=True)
    try:
        check(answer)
    except PflowError as error:
        return error
    return None


def _not_found(missing: str, *, has_key: bool) -> tuple[str, str]:
    if has_key:
        return f"{missing}, or the key may not see it", "look at --repo, and at what the key was given"
    return f"{missing}, or it is private and there is no key", NO_KEY


def _limit(answer: Response, act: str, said: str, *, has_key: bool) -> PflowError | None:
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
    hint = "--retries waits for it" if has_key else f"with a key there is more: {NO_KEY}"
    what = f"{act}: {kind} is reached until {until}"
    return PflowError(what, hint=hint, exit=TRY_AGAIN, retry_after=seconds)


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


def _needed(answer: Response) -> str:
    """What a key needs to be given, where GitHub says it."""
    needed = answer.headers.get("x-accepted-github-permissions", "")
    return f"the key needs {needed}" if needed else ""
