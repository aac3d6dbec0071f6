"""The http node: send an HTTP request."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import BAD_CONFIG, USAGE, PflowError
from pflow.node import Any, Node, Shared
from pflow.values.digest import digest_of, keyed_digest

if TYPE_CHECKING:
    from pflow.web.response import Response

_ONCE = ("POST", "PATCH")
"""Methods that a server may carry out twice if the request is repeated."""
_LONGEST = 1e8
"""Seconds, three years; a socket cannot wait for many more."""


class Http(Node):
    """Send an HTTP request and return the answer.

    A key comes from the environment, as env:NAME in a header's value, and goes only to the URL's own origin: redirects
    do not take it elsewhere, and if the answer repeats a key of 8 characters or more, it is masked. A header for a key
    is refused if its value is written out. A step of a flow sends POST and PATCH with an Idempotency-Key, the same in
    each try and resume. HTTPS_PROXY, HTTP_PROXY, NO_PROXY and SSL_CERT_FILE are respected.

    Redirects are followed as by browsers: 303, and 301 or 302 after a POST (as stderr says), lead to a GET without the
    body. A text is decoded as by browsers, by its byte order mark or its charset, where iso-8859-1 is windows-1252.
    Without them it is UTF-8, and a plain text may be windows-1252.

    A status of 400 or more is a failure: 66 for 404 and 410, 77 for 401 and 403, 75 for 408, 429 and 5xx (--retries
    waits as long as the server asks), and 65 for others. An answer that is cut off (75), too large (73) or not valid
    HTTP (69) is a failure, too.

    Interface:
    - Reads: shared["url"]: url [explicit] [word] [web]  # the URL; '$stdin' takes the pipe's, --each --as=url each
    - Reads: shared["body"]: any = null [pipe] [explicit] [implies method=POST]  # what to send: text, bytes, else JSON
    - Writes: shared["body"]: any [pipe]  # the body of the answer: text, or bytes if it is not text
    - Writes: shared["status"]: int  # the status code, such as 200
    - Writes: shared["headers"]: dict  # the headers of the answer, by lower-case name
    - Params: method: GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS = "GET" [short X]  # the method; POST with --form or --body
    - Params: header: list[str] = [] [short H] [verbatim]  # 'NAME: VALUE'; env:NAME in it is a variable's value
    - Params: query: list[str] = [] [pairs]  # NAME=VALUE, added to the URL
    - Params: form: list[str] = [] [implies method=POST] [pairs]  # NAME=VALUE, a field of a form to send as the body
    - Params: follow: bool = true  # follow redirects, but never from https to http; --no-follow: return them
    - Params: check: bool = true  # fail if the status is 400 or more; --no-check: take the action error
    - Params: max_size: int = 100000000  # the maximum size of the unpacked answer in bytes (73)
    - Params: max_silence: float = 60 [positive]  # the maximum time in seconds without any data (75)
    - Actions: default, error  # error if the status is 400 or more, with --no-check
    - Effects: network
    - Repeats: unless method is POST, PATCH

    Examples:
        pflow-http https://example.com/items.json -r | jq .
        pflow-http https://example.com/search --query=q='tide mill' --query=page=2
        TOKEN=not-a-real-one pflow-http https://example.com/me -H 'Authorization: Bearer env:TOKEN'
        pflow-http https://example.com/notes --form=title=Oak
        pflow-llm --prompt='Name a tree' | pflow-http -X POST https://example.com/notes
        pflow-http -X PUT https://example.com/notes/1 --body:='{"title": "Oak"}' --retries=3
        pflow-http https://example.com/none --no-check | pflow-get status
    """

    waits = True

    @staticmethod
    def warm() -> None:
        """Do the slow import early."""
        import pflow.web.client  # noqa: F401

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        """Return the keys in the headers, so that each key has its own cached answers."""
        from pflow.files.state_key import state_key
        from pflow.web.address import read_headers

        if self.params["method"] != "GET":
            raise PflowError(f"cannot cache {self.params['method']}: only GET changes nothing", exit=BAD_CONFIG)
        secrets = read_headers(self.params["header"])[1]
        return {"keys": keyed_digest(state_key(), secrets) if secrets else None}

    def prep(self, shared: Shared) -> tuple[str, dict[str, Any]]:
        from pflow.text.naming import read_pairs

        params, body = self.params, shared.get("body")
        query, form = (read_pairs(f"--{name}", params[name] or []) for name in ("query", "form"))
        has_body = body is not None and body != ""
        if params["method"] in ("GET", "HEAD") and (form or has_body):
            hint = "--method=POST sends it, --body:=null leaves out what the pipe carries"
            raise PflowError(f"cannot {params['method']} with a body", hint=hint, exit=USAGE)
        if form and has_body:
            raise PflowError("cannot send both a form and a body", exit=USAGE)
        if not 0 < params["max_silence"] <= _LONGEST:
            why = f"--max-silence is above 0, and at most {_LONGEST:.0f}"
            raise PflowError(f"cannot wait for {params['max_silence']:g} s: {why}", exit=USAGE)
        return shared["url"], {"query": query, "form": form, "body": body}

    def exec(self, prepared: tuple[str, dict[str, Any]]) -> Response:
        from pflow.web.address import read_headers
        from pflow.web.client import request
        from pflow.web.response import check

        url, sent = prepared
        params = self.params
        headers, secrets = read_headers(params["header"] or [])
        if self.step_key and params["method"] in _ONCE:
            headers = {"Idempotency-Key": digest_of(["http", self.step_key]), **headers}
        limits = {name: params[name] for name in ("follow", "max_size", "max_silence")}
        answer = request(params["method"], url, headers=headers, secrets=secrets, **sent, **limits)
        return check(answer, secrets) if params["check"] else answer

    def post(self, shared: Shared, prepared: object, answer: Response) -> str:
        from pflow.web.response import content_of

        shared["body"], shared["status"], shared["headers"] = content_of(answer), answer.status, answer.headers
        return "error" if answer.status >= 400 else "default"
