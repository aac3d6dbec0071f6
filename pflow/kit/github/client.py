"""Requests to GitHub's REST interface, and the pages of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pflow.errors import BAD_DATA, DENIED, TRY_AGAIN, PflowError
from pflow.kit.github.access import NO_KEY, api_url, find_key
from pflow.kit.github.failures import failure_of
from pflow.kit.web.client import Answer, request
from pflow.values.jsontext import decode
from pflow.values.masks import masked

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

    def _ask(self, method: str, path: str, query: Query, *, body: Any = None, accept: str = JSON) -> Answer:
        headers = {"Accept": accept, "X-GitHub-Api-Version": _VERSION}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        pairs = [(name, str(value)) for name, value in query.items() if value is not None]
        answer = request(method, self.url + path, headers=headers, query=pairs, body=body, secrets=[self.key])
        failure = failure_of(answer, self.act, self.missing, has_key=bool(self.key))
        if failure:
            raise masked(failure, self.key)
        return answer

    def _value(self, answer: Answer) -> Any:
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
