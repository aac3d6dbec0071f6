"""The http node: ask a web server."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import BAD_CONFIG, USAGE, PflowError
from pflow.node import Any, Node, Shared
from pflow.values.digest import digest_of, keyed_digest

if TYPE_CHECKING:
    from pflow.kit.web.answer import Response

_ONCE = ("POST", "PATCH")
"""What a server may do twice when it is asked twice."""
_LONGEST = 1e8
"""Seconds, three years of them; of many more a socket knows nothing."""


class Http(Node):
    """Ask a web server, and hand on what it answers.

    A key comes from the environment, as env:NAME in a header's value, and goes to the URL's own origin alone: no
    redirect takes it elsewhere, and where the answer repeats one of 8 characters or more, it is masked. Headers that
    hold keys are refused when their value is written out. A step of a flow sends POST and PATCH with an
    Idempotency-Key, the same on each try and resume. HTTPS_PROXY, HTTP_PROXY, NO_PROXY and SSL_CERT_FILE count.

    A status of 400 or more is a failure: 66 for 404 and 410, 77 for 401 and 403, 75 for 408, 429 and 5xx, where
    --retries waits as long as the server asks, and 65 for others. So is an answer that is cut (75), or too large (73).

    Interface:
    - Reads: shared["url"]: str [explicit] [word]  # what to ask for, with http:// or https://
    - Reads: shared["body"]: any = null [pipe] [explicit]  # what is sent: text, bytes, or JSON of anything else
    - Writes: shared["body"]: any [pipe]  # what came: text, or bytes when it is none
    - Writes: shared["status"]: int  # the status, 200 where all is well
    - Writes: shared["headers"]: dict  # the headers of the answer, by their names in lower case
    - Params: method: GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS = "GET" [short X]  # what to do
    - Params: header: list[str] = [] [short H] [verbatim]  # 'NAME: VALUE'; env:NAME in it is a variable's value
    - Params: query: list[str] = []  # NAME=VALUE, added to the URL
    - Params: form: list[str] = []  # NAME=VALUE, the field of a form that is sent as the body
    - Params: follow: bool = true  # go where a redirect leads, but never from https to http
    - Params: check: bool = true  # fail when the status is 400 or more
    - Params: max_size: int = 100000000  # how many bytes the answer may have, unpacked (73)
    - Params: max_silence: float = 60  # seconds in which the server may send nothing (75)
    - Actions: default, error  # error when the status is 400 or more and that is not checked
    - Effects: network
    - Repeats: unless method is POST, PATCH

    Examples:
        pflow-http https://example.com/items.json -r | jq .
        pflow-http https://example.com/search --query=q='tide mill' --query=page=2
        TOKEN=not-a-real-one pflow-http https://example.com/me -H 'Authorization: Bearer env:TOKEN'
        pflow-llm --prompt='Name a tree' | pflow-http -X POST https://example.com/notes
        pflow-http -X PUT https://example.com/notes/1 --body:='{"title": "Oak"}' --retries=3
        pflow-http https://example.com/none --no-check | pflow-get status
    """

    version = "1.0.0"

    @staticmethod
    def warm() -> None:
        """Do the slow import early."""
        import pflow.kit.web.client  # noqa: F401

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        """The keys in the headers, so that nobody gets what another may see."""
        from pflow.files.xdg import state_key
        from pflow.kit.web.headers import read_headers

        if self.params["method"] != "GET":
            raise PflowError(f"cannot cache {self.params['method']}: only GET changes nothing", exit=BAD_CONFIG)
        secrets = read_headers(self.params["header"])[1]
        return {"keys": keyed_digest(state_key(), secrets) if secrets else None}

    def prep(self, shared: Shared) -> tuple[str, dict[str, Any]]:
        from pflow.kit.web.headers import read_pairs

        params, body = self.params, shared.get("body")
        query, form = (read_pairs(name, params[name] or []) for name in ("query", "form"))
        has_body = body is not None and body != ""
        if params["method"] in ("GET", "HEAD") and (form or has_body):
            hint = "--method=POST sends it, --body:=null leaves out what the pipe carries"
            raise PflowError(f"cannot {params['method']} with a body", hint=hint, exit=USAGE)
        if form and has_body:
            raise PflowError("cannot send a form and a body: there is room for one", exit=USAGE)
        if not 0 < params["max_silence"] <= _LONGEST:
            why = f"--max-silence is above 0, and at most {_LONGEST:.0f}"
            raise PflowError(f"cannot wait for {params['max_silence']:g} s: {why}", exit=USAGE)
        return shared["url"], {"query": query, "form": form, "body": body}

    def exec(self, prepared: tuple[str, dict[str, Any]]) -> Response:
        from pflow.kit.web.answer import check
        from pflow.kit.web.client import request
        from pflow.kit.web.headers import read_headers

        url, sent = prepared
        params = self.params
        headers, secrets = read_headers(params["header"] or [])
        if self.step_key and params["method"] in _ONCE:
            headers = {"Idempotency-Key": digest_of(["http", self.step_key]), **headers}
        limits = {name: params[name] for name in ("follow", "max_size", "max_silence")}
        answer = request(params["method"], url, headers=headers, secrets=secrets, **sent, **limits)
        return check(answer, secrets) if params["check"] else answer

    def post(self, shared: Shared, prepared: object, answer: Response) -> str:
        from pflow.kit.web.answer import content_of

        shared["body"], shared["status"], shared["headers"] = content_of(answer), answer.status, answer.headers
        return "error" if answer.status >= 400 else "default"
