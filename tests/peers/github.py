"""A small GitHub on 127.0.0.1: its REST interface over issues, comments and pull requests that it keeps in memory.

`with GitHub() as github`, then `github.url` for GITHUB_API_URL and KEY for GITHUB_TOKEN. It refuses parameters that
GitHub's own description (tests/kit/github/openapi.json) does not name. `github.fail(…)` has one of the next requests go
wrong, before its work is done or after it.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

KEY = "ghp_peer0123456789abcdefABCDEF"
DESCRIPTION = Path(__file__).parent.parent / "kit" / "github" / "openapi.json"
DAY = 86_400

Row = dict[str, Any]


class Refused(Exception):
    """An answer other than success."""

    def __init__(self, status: int, message: str, *, headers: dict[str, str] | None = None, **more: Any) -> None:
        self.status, self.headers, self.body = status, headers or {}, {"message": message, **more}


class Repository:
    """The issues and pull requests of a repository, by number, and the comments of each."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_private = False
        self.issues: dict[int, Row] = {}
        self.comments: dict[int, list[Row]] = {}
        self.branches = {"main", "fix"}
        self.takes_twins = False  # a second pull request for a branch
        self.diff = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"

    def add_issue(self, title: str, body: str | None = "", *, labels: tuple[str, ...] = (), **more: Any) -> Row:
        number = len(self.issues) + 1
        url = f"https://github.com/{self.name}/issues/{number}"
        row = {
            "number": number,
            "title": title,
            "body": body,
            "state": "open",
            "html_url": url,
            "user": {"login": "octocat"},
            "labels": [{"name": name, "color": "ededed"} for name in labels],
            "assignees": [],
            "created_at": _time(number * 60),
            "updated_at": _time(number * 60),
            "closed_at": None,
            "comments": 0,
            **more,
        }
        self.issues[number], self.comments[number] = row, []
        return row

    def add_pull(self, title: str, body: str | None = "", *, head: str, base: str, draft: bool = False) -> Row:
        url = f"https://github.com/{self.name}/pull/{len(self.issues) + 1}"
        owner, _, branch = head.rpartition(":")
        ends = {
            "head": {"ref": branch, "label": f"{owner or self.name.partition('/')[0]}:{branch}"},
            "base": {"ref": base},
        }
        row = self.add_issue(title, body, html_url=url, pull_request={"url": url}, draft=draft, merged_at=None, **ends)
        return row | {"merged": False, "additions": 1, "deletions": 1, "changed_files": 1}

    def add_comment(self, number: int, body: str, *, by: str = "octocat") -> Row:
        row = self.issues[number]
        row["comments"] += 1
        comment = {
            "id": number * 1000 + row["comments"],
            "body": body,
            "user": {"login": by},
            "html_url": f"{row['html_url']}#issuecomment-{number * 1000 + row['comments']}",
            "created_at": _time(row["comments"]),
            "updated_at": _time(row["comments"]),
        }
        self.comments[number].append(comment)
        return comment

    def bodies(self, number: int) -> list[str]:
        """What the comments of an issue say."""
        return [comment["body"] for comment in self.comments[number]]


def _time(seconds: float) -> str:
    """A time of the last day: those after which that many seconds of it have gone."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - DAY + seconds))


class Call(BaseHTTPRequestHandler):
    """One request."""

    server: Listener
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_GET(self) -> None:
        self._serve("get")

    def do_POST(self) -> None:
        self._serve("post")

    def _serve(self, method: str) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"] or 0))
        parts = urlsplit(self.path)
        self.query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        self.body: Row = json.loads(data or b"{}")
        github = self.server.github
        headers = {name.lower(): value for name, value in self.headers.items()}
        fault = github.record(method, parts.path, self.query, self.body, headers)
        try:
            if fault and not fault.is_late:
                fault.act(self)
            status, body = self._work(method, parts.path)
            if fault:
                fault.act(self)
            self.answer(status, body)
        except Refused as refused:
            self.answer(refused.status, refused.body, refused.headers)
        except Hangup:
            self.close_connection = True

    def _work(self, method: str, path: str) -> tuple[int, Any]:
        for wanted, pattern, operation in ROUTES:
            found = re.fullmatch(pattern, path)
            if wanted == method and found:
                self._check_names(method, operation)
                with self.server.github.lock:
                    return operation(self, *found.groups())
        raise Refused(404, "Not Found")

    def _check_names(self, method: str, operation: Callable[..., Any]) -> None:
        known = self.server.github.names[method, operation.__name__]
        if unknown := (self.query.keys() | self.body.keys()) - known:
            raise Refused(400, f"GitHub knows no {', '.join(sorted(unknown))} here")

    def answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        data = text.encode()
        self.send_response(status)
        extra = self.server.github.headers.get(self.query.get("page", "1"), {})
        named = {"Content-Type": "application/json; charset=utf-8", **self.links, **extra, **(headers or {})}
        for name, value in {**named, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    @property
    def links(self) -> dict[str, str]:
        return {"Link": self.__dict__.pop("link")} if "link" in self.__dict__ else {}

    def page(self, rows: list[Row]) -> list[Row]:
        """The page of the rows that was asked for, with a Link header where there is another."""
        size, page = min(int(self.query.get("per_page", 30)), 100), int(self.query.get("page", 1))
        if len(rows) > size * page:
            query = urlencode({**self.query, "page": page + 1})
            url = f"{self.server.github.url}{urlsplit(self.path).path}?{query}"
            self.link = self.server.github.link.format(url=url, query=query)
        return rows[size * (page - 1) : size * page]

    def login(self) -> str:
        """Who asks; empty for nobody."""
        key = (self.headers["Authorization"] or "").partition(" ")[2]
        if not key:
            return ""
        if key not in self.server.github.keys:
            raise Refused(401, "Bad credentials")
        return self.server.github.keys[key]

    def repository(self, name: str, *, writes: bool = False) -> Repository:
        login = self.login()
        repository = self.server.github.repositories.get(name)
        if not repository or (repository.is_private and not login):
            raise Refused(404, "Not Found")
        if writes and not login:
            raise Refused(401, "Requires authentication")
        return repository

    def row(self, name: str, number: str, *, writes: bool = False) -> tuple[Repository, Row]:
        repository = self.repository(name, writes=writes)
        if int(number) not in repository.issues:
            raise Refused(404, "Not Found")
        return repository, repository.issues[int(number)]


def get_repository(call: Call, name: str) -> tuple[int, Any]:
    return 200, {"full_name": call.repository(name).name, "default_branch": "main"}


def list_issues(call: Call, name: str) -> tuple[int, Any]:
    rows, query = list(call.repository(name).issues.values()), call.query
    labels = set(filter(None, query.get("labels", "").split(",")))
    rows = [row for row in rows if labels <= {label["name"] for label in row["labels"]}]
    rows = [row for row in rows if row["updated_at"] >= query.get("since", "")]
    return 200, call.page(_in_order(rows, query))


def _in_order(rows: list[Row], query: dict[str, str]) -> list[Row]:
    state, order = query.get("state", "open"), query.get("sort", "created")
    kept = [row for row in rows if state in ("all", row["state"])]
    return sorted(
        kept, key=lambda row: (row[f"{order}_at"], row["number"]), reverse=query.get("direction", "desc") == "desc"
    )


def create_issue(call: Call, name: str) -> tuple[int, Any]:
    repository, body = call.repository(name, writes=True), call.body
    if not body.get("title"):
        raise Refused(422, "Validation Failed", errors=[{"resource": "Issue", "code": "missing", "field": "title"}])
    return 201, repository.add_issue(body["title"], body.get("body"), labels=tuple(body.get("labels", ())))


def get_issue(call: Call, name: str, number: str) -> tuple[int, Any]:
    return 200, call.row(name, number)[1]


def list_comments(call: Call, name: str, number: str) -> tuple[int, Any]:
    repository, row = call.row(name, number)
    return 200, call.page(repository.comments[row["number"]])


def add_comment(call: Call, name: str, number: str) -> tuple[int, Any]:
    repository, row = call.row(name, number, writes=True)
    return 201, repository.add_comment(row["number"], call.body["body"], by=call.login())


def list_pulls(call: Call, name: str) -> tuple[int, Any]:
    rows = [row for row in call.repository(name).issues.values() if "pull_request" in row]
    head, base = call.query.get("head"), call.query.get("base")
    rows = [row for row in rows if head in (None, row["head"]["label"]) and base in (None, row["base"]["ref"])]
    return 200, call.page(_in_order(rows, call.query))


def create_pull(call: Call, name: str) -> tuple[int, Any]:
    repository, body = call.repository(name, writes=True), call.body
    if body["head"].rpartition(":")[2] not in repository.branches:
        raise Refused(
            422, "Validation Failed", errors=[{"resource": "PullRequest", "field": "head", "code": "invalid"}]
        )
    label = body["head"] if ":" in body["head"] else f"{name.partition('/')[0]}:{body['head']}"
    heads = {row["head"]["label"] for row in repository.issues.values() if "head" in row}
    if label in heads and not repository.takes_twins:
        raise Refused(422, "Validation Failed", errors=[{"message": f"A pull request already exists for {label}."}])
    ends = {"head": body["head"], "base": body["base"]}
    return 201, repository.add_pull(body["title"], body.get("body"), draft=body.get("draft", False), **ends)


def get_pull(call: Call, name: str, number: str) -> tuple[int, Any]:
    repository, row = call.row(name, number)
    if "pull_request" not in row:
        raise Refused(404, "Not Found")
    if "diff" in (call.headers["Accept"] or ""):
        return 200, repository.diff
    return 200, row


def list_files(call: Call, name: str, number: str) -> tuple[int, Any]:
    call.row(name, number)
    return 200, call.page([{"filename": "a.txt", "status": "modified", "additions": 1, "deletions": 1, "patch": "@@"}])


def search(call: Call, kind: str) -> tuple[int, Any]:
    """Issues by the words of their titles; repositories and files by their names."""
    github = call.server.github
    words = [word for word in call.query["q"].lower().split() if ":" not in word]
    rows: list[Row] = [row for each in github.repositories.values() for row in each.issues.values()]
    if kind != "issues":
        rows = [{"full_name": name, "name": name, "html_url": name, "path": name} for name in github.repositories]
    found = [row for row in rows if all(word in (row.get("title") or row["name"]).lower() for word in words)]
    return 200, {"total_count": len(found), "incomplete_results": False, "items": call.page(found)}


_REPO = r"/repos/([^/]+/[^/]+)"
ROUTES: list[tuple[str, str, Callable[..., tuple[int, Any]]]] = [
    ("get", _REPO, get_repository),
    ("get", f"{_REPO}/issues", list_issues),
    ("post", f"{_REPO}/issues", create_issue),
    ("get", rf"{_REPO}/issues/(\d+)", get_issue),
    ("get", rf"{_REPO}/issues/(\d+)/comments", list_comments),
    ("post", rf"{_REPO}/issues/(\d+)/comments", add_comment),
    ("get", f"{_REPO}/pulls", list_pulls),
    ("post", f"{_REPO}/pulls", create_pull),
    ("get", rf"{_REPO}/pulls/(\d+)", get_pull),
    ("get", rf"{_REPO}/pulls/(\d+)/files", list_files),
    ("get", r"/search/(\w+)", search),
]


def _known_names() -> dict[tuple[str, str], set[str]]:
    """For each operation above the names of its query and body that GitHub's description has."""
    described = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
    shared = described["components"]["parameters"]
    known: dict[tuple[str, str], set[str]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            plain = re.sub(r"\{owner\}/\{repo\}", "o/r", re.sub(r"\{\w+_number\}", "1", path))
            name = next(
                act.__name__ for kind, pattern, act in ROUTES if kind == method and re.fullmatch(pattern, plain)
            )
            parameters = [
                shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in operation["parameters"]
            ]
            names = {each["name"] for each in parameters if each["in"] == "query"}
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            known.setdefault((method, name), set()).update(names, body.get("properties", {}))
    return known


class Hangup(Exception):
    """The connection is closed without an answer."""


class Fault:
    """What goes wrong with one request: before its work is done, or after it (`is_late`)."""

    def __init__(self, act: Callable[[Call], None], method: str, path: str, *, is_late: bool) -> None:
        self.act, self.method, self.path, self.is_late = act, method, path, is_late


def cut(call: Call) -> None:
    raise Hangup


def refusing(status: int, message: str = "", **headers: str) -> Callable[[Call], None]:
    """An answer of this status: `refusing(429, retry_after="3")`."""

    def refuse(call: Call) -> None:
        raise Refused(status, message, headers={name.replace("_", "-"): value for name, value in headers.items()})

    return refuse


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    github: GitHub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is none of our business."""


class GitHub:
    """The server as a context manager. `url` is for GITHUB_API_URL, `keys` says who has which key.

    `headers` are those of each page, by its number, and `link` is the form of the Link header.
    """

    names = _known_names()

    def __init__(self, *repositories: str) -> None:
        self.repositories = {name: Repository(name) for name in repositories or ("owner/repo",)}
        self.keys = {KEY: "tester"}
        self.headers: dict[str, dict[str, str]] = {}
        self.link = '<{url}>; rel="next"'
        self.lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.faults: list[Fault] = []

    def __enter__(self) -> GitHub:
        self._listener = Listener(("127.0.0.1", 0), Call)
        self._listener.github = self
        self.port = self._listener.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.shutdown()
        self._listener.server_close()

    @property
    def repository(self) -> Repository:
        """The first of its repositories."""
        return next(iter(self.repositories.values()))

    def fail(self, act: Callable[[Call], None], method: str = "", path: str = "", *, after: bool = False) -> None:
        """Have one more request of this method whose path ends so go wrong, with `after` once its work is done."""
        self.faults.append(Fault(act, method, path, is_late=after))

    def record(self, method: str, path: str, query: Row, body: Row, headers: dict[str, str]) -> Fault | None:
        """Note a request; the fault that it meets."""
        with self.lock:
            self.requests.append({"method": method, "path": path, "query": query, "body": body, "headers": headers})
            for fault in self.faults:
                if fault.method in ("", method) and path.endswith(fault.path):
                    self.faults.remove(fault)
                    return fault
        return None
