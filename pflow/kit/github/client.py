"""Requests to GitHub's REST API: pages of rows, posts that happen only once, and failures in GitHub's words."""

import re
import time
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pflow.errors import BAD_DATA, DENIED, TRY_AGAIN, PflowError, result_of, retry_after
from pflow.kit.github.access import NO_KEY, api_url, find_key, web_host
from pflow.terminal.messages import say
from pflow.text.printable import foreign_line
from pflow.values.digest import digest_of
from pflow.values.jsontext import decode
from pflow.values.secrets import masked
from pflow.web.client import request
from pflow.web.reasons import meaning_of_status
from pflow.web.response import Response, check

JSON = "application/json"
DIFF = "application/vnd.github.diff"

_VERSION = "2022-11-28"
_PAGE = 100

Query = dict[str, Any]


class Client:
    """GitHub's API, asked with the key in the environment.

    `act` begins each message, such as "cannot get 'owner/repo#1'"; `missing` says what a 404 means. The result of the
    `node` is not cached if a response is incomplete.
    """

    def __init__(self, act: str, missing: str = "", *, node: Any = None) -> None:
        self.act = act
        self.node = node
        self.missing = missing or "it is not there"
        self.url = api_url()
        self.key = find_key()

    def get(self, path: str, query: Query | None = None, *, accept: str = JSON) -> Any:
        """Get a path; return its JSON value, or its text if `accept` asks for another format."""
        response = self._ask("GET", path, query or {}, accept=accept)
        return self._value(response) if accept == JSON else response.body.decode(errors="replace")

    def pages(self, path: str, query: Query, *, most: int = 0) -> Iterator[Any]:
        """Yield the value of each page; `most` is the number of rows that are wanted (0: all)."""
        following: Query | None = {**query, "per_page": min(most or _PAGE, _PAGE)}
        while following is not None:
            query = following
            response = self._ask("GET", path, query)
            yield self._value(response)
            following = _next(response.headers.get("link", ""))
            if following in (query, {}):
                raise self._not_github("is its own next page")

    def rows(self, path: str, query: Query | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of all pages."""
        for page in self.pages(path, query or {}):
            yield from self.listed({"rows": page}, "rows")

    def listed(self, page: Any, name: str) -> list[Any]:
        """Return the list under a name in a page. Raises PflowError (65) if it is not there."""
        found = page.get(name) if isinstance(page, dict) else None
        if not isinstance(found, list):
            raise self._not_github(f"has no {name}")
        return found

    def post(self, path: str, body: dict[str, Any], *, repeats: bool) -> Any:
        """Create something and return it.

        A failure that may have come after the post was made is permanent, unless the post `repeats`: then another try
        looks for what this one has made.
        """
        if not self.key:
            raise PflowError(f"{self.act}: there is no key", hint=NO_KEY, exit=DENIED)
        try:
            made = self._value(self._ask("POST", path, {}, body=body))
            if not isinstance(made, dict) or "html_url" not in made:
                raise self._not_github("has no html_url")
            return made
        except PflowError as error:
            if error.exit == TRY_AGAIN and error.retry_after is None and not repeats:
                error.is_permanent, error.hint = True, "it may have succeeded: check before you try again"
            raise

    def _ask(self, method: str, path: str, query: Query, *, body: Any = None, accept: str = JSON) -> Response:
        headers = {"Accept": accept, "X-GitHub-Api-Version": _VERSION}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        pairs = [(name, str(value)) for name, value in query.items() if value is not None]
        sent = {"headers": headers, "query": pairs, "body": body, "secrets": [self.key]}
        response = request(method, self.url + path, **sent, keeps_method=True)  # GitHub's rule for redirects
        try:
            _check(response, self.act, self.missing, has_key=bool(self.key))
        except PflowError as error:
            raise masked(error, self.key) from None
        kind, sso = _sso_of(response)
        if kind == "partial-results":
            ids = ", ".join(re.findall(r"\d+", sso.get("organizations", ""))) or "some"
            self.warn(f"results of organizations are missing ({ids}): authorize the key for their SSO: {sso['url']}")
        return response

    def warn(self, flaw: str) -> None:
        """Warn once that the result of the node is incomplete, and keep it out of the cache."""
        if self.node and flaw not in self.node.not_kept:
            say("warning", flaw)
            self.node.not_kept = "; ".join(filter(None, (self.node.not_kept, flaw)))

    def _value(self, response: Response) -> Any:
        try:
            return decode(response.body)
        except ValueError:
            raise self._not_github("is not JSON") from None

    def _not_github(self, why: str) -> PflowError:
        what = f"{self.act}: the answer of '{self.url}' {why}"
        return PflowError(what, hint="is it GitHub's API?", exit=BAD_DATA)


_PARAM = r'\s*;\s*([^\s=;,"]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|((?:[^;,"<]|,(?!\s*<))*)))?'
_LINK = re.compile(rf"<([^>]*)>((?:{_PARAM})*)")


def _params(text: str) -> dict[str, str]:
    """Return the parameters in `; name=value; name="value"` by lower-case name. The first of a name counts."""
    return {name.lower(): quoted or plain.strip() for name, quoted, plain in reversed(re.findall(_PARAM, text))}


def _next(link: str) -> Query | None:
    """Return the query of the next page in a Link header (RFC 8288); None on the last page.

    Only the query of the link is used, so that no other host gets the key.
    """
    for url, params, *_ in _LINK.findall(link):
        if "next" in _params(params).get("rel", "").lower().split():
            return dict(parse_qsl(urlsplit(url.strip()).query))
    return None


def _sso_of(response: Response) -> tuple[str, dict[str, str]]:
    """Return GitHub's word on single sign-on (`required`, `partial-results`, ""), and further members such as `url`."""
    kind, _, rest = response.headers.get("x-github-sso", "").partition(";")
    return kind.strip().lower(), {"url": f"https://{web_host()}/settings/tokens", **_params(f";{rest}")}


Row = dict[str, Any]

_DAYS = 30
"""The days to look back for an earlier post: as long as a run can be resumed."""


def make_once(github: Client, path: str, content: Row, step_key: str, there: Iterable[Row]) -> Row:
    """POST the content, unless the rows `there` have it from an earlier try of the same visit; return the posted row.

    A mark at the end of the body identifies it: an HTML comment, which GitHub does not show. Outside a run there is no
    `step_key`, and so no mark.
    """
    body = content["body"].rstrip()
    made: Row | None = None
    if step_key:
        # A step may run several of these commands, all with the same step key: the content tells them apart.
        mark = f"<!-- pflow:{digest_of([step_key, path, content])[:32]} -->"
        body = f"{body}\n\n{mark}".lstrip()
        made = next((row for row in there if (row.get("body") or "").rstrip().endswith(mark)), None)
    return made or dict(github.post(path, {**content, "body": body}, repeats=bool(step_key)))


def earliest() -> str:
    """Return the earliest time at which a run that is still unfinished may have posted, in GitHub's form."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - _DAYS * 86_400))


def not_too_old(rows: Iterable[Row]) -> Iterator[Row]:
    """Return the rows that an unfinished run may have made; `rows` must begin with the newest."""
    oldest = earliest()
    return takewhile(lambda row: row["created_at"] >= oldest, rows)


_PAUSE = 60.0
"""The seconds that GitHub's documentation says to wait at a rate limit whose end is not stated."""
_LONGEST = 86_400.0


def _check(response: Response, act: str, missing: str, *, has_key: bool) -> None:
    """Raise PflowError if a response is a failure; `missing` says what a 404 means."""
    status, said = response.status, _words(response.body) if response.status >= 400 else ""
    if status in (403, 429):
        _check_limit(response, act, said, has_key=has_key)
    needed = response.headers.get("x-accepted-github-permissions", "")
    kind, sso = _sso_of(response)
    if status in (401, 403, 404) and (kind == "required" or "SAML" in said):
        hint = f"{sso['url']} authorizes the key for the organization's SSO"
        raise PflowError(f"{act}: {said}", hint=hint, exit=DENIED, is_permanent=True)
    known = {
        401: (f"GitHub does not take the key: {said}" if has_key else said, NO_KEY),
        403: (said, f"the key needs {needed}" if needed else ""),
        404: _not_found(missing, has_key=has_key),
        406: (said, ""),
        410: (f"it is gone: {said}", ""),
        422: (said, ""),
    }.get(status)
    if known:
        why, hint = known
        raise PflowError(f"{act}: {why}", hint=hint, exit=meaning_of_status(status).exit, is_permanent=True)
    check(response)


def _not_found(missing: str, *, has_key: bool) -> tuple[str, str]:
    if has_key:
        return f"{missing}, or the key may not see it", "check --repo and the key's permissions"
    return f"{missing}, or it is private and there is no key", NO_KEY


def _check_limit(response: Response, act: str, said: str, *, has_key: bool) -> None:
    """Raise PflowError (75), which tells when to try again, if the failure is a rate limit."""
    asked = response.headers.get("retry-after", "")
    is_used_up = response.headers.get("x-ratelimit-remaining") == "0"
    if not asked and not is_used_up and "rate limit" not in said.lower() and response.status != 429:
        return
    seconds = retry_after(asked)
    if seconds is None:
        end = response.headers.get("x-ratelimit-reset", "")
        seconds = max(float(end) - time.time(), 0) + 1 if is_used_up and end.isdecimal() else _PAUSE
    seconds = min(seconds, _LONGEST)
    until = time.strftime("%H:%M", time.localtime(time.time() + seconds + 59))  # rounded up, or it would be too early
    which = response.headers.get("x-ratelimit-resource", "core").replace("_", " ")
    kind = "the rate limit" if which == "core" else f"the rate limit of {which}"
    hint = "--retries waits for it" if has_key else f"a key raises the limit: {NO_KEY}"
    what = f"{act}: {kind} is reached until {until}"
    raise PflowError(what, hint=hint, exit=TRY_AGAIN, retry_after=seconds)


def _words(body: bytes) -> str:
    """Return GitHub's words for a failure, on one line."""
    said = result_of(decode, body, of=ValueError, otherwise=None)
    if not isinstance(said, dict):
        return "it gives no reason"
    details = errors if isinstance(errors := said.get("errors") or [], list) else [errors]
    words = [str(said.get("message") or "it gives no reason"), *map(_detail, details)]
    return foreign_line(": ".join(word.strip().rstrip(".") for word in words[:4] if word.strip()))


def _detail(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    return str(error.get("message") or f"{error.get('field', '')} {error.get('code', '')}".replace("_", " "))
