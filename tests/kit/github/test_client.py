"""Requests to GitHub: what it makes it makes once, what it refuses has words and a code, and what it says of itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pflow.errors import BAD_DATA, DENIED, MISSING, TRY_AGAIN, UNAVAILABLE, USAGE, PflowError
from pflow.kit.github.client import Client
from pflow.node import STEP_KEY, declared_interface, load_bundled
from tests.peers.github import Refused, cut, refusing
from tests.peers.github_nodes import add_issues, refuse, run
from tests.tools import need

HERE = Path(__file__).parent
PRISM = Path(os.environ.get("PRISM") or HERE.parents[2] / "build" / "prism" / "node_modules")


# What each node is given: its reads, then its params.
ASKED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("get-issue", {"issue_number": 1}, {}),
    ("list-issues", {}, {"labels": ["bug", "ui"], "state": "all", "since": "2026-11-01", "limit": 3}),
    ("get-pr", {"pr_number": 1}, {}),
    ("list-prs", {}, {"state": "closed"}),
    ("list-prs", {}, {"since": "2026-11-01", "labels": ["bug"], "limit": 3}),
    *(("search", {"query": "hang"}, {"kind": kind}) for kind in ("issues", "prs", "repositories", "code", "commits")),
    ("add-comment", {"issue_number": 1, "body": "Thanks"}, {}),
    ("create-issue", {"title": "A hang", "body": "It hangs."}, {"labels": ["bug"]}),
    ("create-pr", {"title": "Mend it", "body": "It hangs no more."}, {"head": "fix", "draft": True}),
]


@contextmanager
def prism() -> Iterator[str]:
    """GitHub by its description: it refuses what that does not allow, and answers with values of the right shapes."""
    need("node")
    program = PRISM / "@stoplight" / "prism-cli" / "dist" / "index.js"
    if not program.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("prism is not here (PRISM): .ci/run brings it")
    words = ["mock", "--dynamic", "--seed=pflow", "--port=0", "--verboseLevel=info", str(HERE / "openapi.json")]
    with subprocess.Popen(
        ["node", program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as made:
        assert made.stdout
        try:
            said = next(filter(None, (re.search(r"listening on (http://\S+:\d+)", line) for line in made.stdout)))
            yield said[1]
        finally:
            made.send_signal(signal.SIGKILL)


def test_github_takes_every_request_and_its_answers_are_understood(monkeypatch):
    # One test: each would start a server of its own.
    with prism() as url:
        monkeypatch.setenv("GITHUB_API_URL", url)
        monkeypatch.setenv("GITHUB_TOKEN", "a key")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        for path in ("issues", "issues/1/comments", "pulls"):
            with pytest.raises(PflowError) as caught:
                Client("cannot try").post(f"/repos/owner/repo/{path}", {"body": 1}, repeats=False)
            assert caught.value.exit == BAD_DATA, "prism looks at nothing"
        monkeypatch.setenv(STEP_KEY, "a" * 64)  # what is made is looked for first
        for name, shared, params in ASKED:
            assert misfits(name, {"repo": "owner/repo", **shared}, params) == [], name


def misfits(name: str, shared: dict[str, Any], params: dict[str, Any]) -> list[str]:
    """Those of a node's writes that are not of their types."""
    node = load_bundled(f"github-{name}")()
    node.set_params(params)
    node.run(shared)
    writes = declared_interface(type(node)).writes
    return [key for key, item in writes.items() if not item.type.takes(shared.get(key))]


MADE = {
    "add-comment": ({"issue_number": 1, "body": "Thanks"}, {}, "comment_url"),
    "create-issue": ({"title": "New", "body": "Thanks"}, {"labels": ["bug"]}, "issue_url"),
    "create-pr": ({"title": "New", "body": ""}, {"head": "fix"}, "pr_url"),
}

pytestmark = pytest.mark.usefixtures("own_environment")


@pytest.fixture(params=MADE)
def maker(request, github):
    """A node that makes something, and how often it was made."""
    github.repository.add_issue("A hang")
    shared, params, url = MADE[request.param]

    def make(**more: Any) -> str:
        return str(run(request.param, params=params, **{**shared, **more})[url])

    def count() -> int:
        return len(github.repository.issues) + len(github.repository.comments[1]) - 1

    return make, count


def test_what_was_made_is_not_made_again_in_the_same_visit_of_a_step(github, maker, monkeypatch):
    make, count = maker
    github.repository.takes_twins = True
    monkeypatch.setenv(STEP_KEY, "a" * 64)
    first = make()
    assert (make(), count()) == (first, 1)
    assert make(body="Another") != first
    monkeypatch.setenv(STEP_KEY, "b" * 64)
    assert make() != first
    assert count() == 3


@pytest.mark.parametrize("fault", [cut, refusing(502)], ids=["cut", "502"])
def test_a_lost_answer_is_looked_for_and_nothing_is_made_twice(github, maker, monkeypatch, fault):
    make, count = maker
    monkeypatch.setenv(STEP_KEY, "a" * 64)
    github.fail(fault, "post", after=True)
    with pytest.raises(PflowError) as caught:
        make()
    assert (caught.value.exit, caught.value.is_permanent) == (TRY_AGAIN, False)
    assert count() == 1
    assert make()
    assert count() == 1


@pytest.mark.parametrize("fault", [cut, refusing(502)], ids=["cut", "502"])
def test_outside_of_a_run_nothing_is_marked_and_nobody_tries_again(github, maker, fault):
    make, count = maker
    make()
    assert not any("pflow:" in str(each["body"]) for each in github.requests)
    assert [each["path"] for each in github.requests if each["query"].get("state")] == []
    github.repository.takes_twins = True
    github.fail(fault, "post", after=True)
    with pytest.raises(PflowError) as caught:
        make()
    assert caught.value.is_permanent
    assert "check before you try again" in caught.value.hint
    assert count() == 2


@pytest.mark.parametrize("status", [301, 302, 307, 308, 303])
def test_what_is_made_in_a_moved_repository_is_made_there(github, maker, status):
    make, count = maker

    def move(call):
        raise Refused(status, "Moved", headers={"Location": call.path})

    github.fail(move, "post")
    if status == 303:  # which browsers and GitHub take for a GET
        with pytest.raises(PflowError, match="has no html_url") as caught:
            make()
        assert caught.value.exit == BAD_DATA
    else:
        assert make()
    assert count() == (status != 303)


def test_a_limit_is_waited_for_since_nothing_was_made(github, maker):
    make, count = maker
    github.fail(refusing(403, "secondary rate limit", retry_after="0"), "post")
    with pytest.raises(PflowError) as caught:
        make()
    assert not caught.value.is_permanent
    assert count() == 0


def test_it_is_looked_for_on_all_pages_as_far_back_as_a_run_is_kept(github, monkeypatch):
    monkeypatch.setenv(STEP_KEY, "a" * 64)
    first = run("create-issue", title="New")["issue_url"]
    add_issues(github.repository, 150)
    assert run("create-issue", title="New")["issue_url"] == first
    asked = len(github.requests)
    for row in github.repository.issues.values():
        row["created_at"] = "2001-01-01T00:00:00Z"
    run("create-issue", title="New")
    assert len(github.requests) == asked + 2, "one page, and a new one"


# What is refused

REFUSED = [
    ("get-issue", {"issue_number": 9}, MISSING, "there is no such issue, or the key may not see it"),
    ("get-pr", {"pr_number": 1}, MISSING, "there is no such pull request"),
    ("list-issues", {"repo": "owner/none"}, MISSING, "there is no such repository"),
    ("list-issues", {"params": {"since": "no day"}}, USAGE, "it is not a day or a time"),
    ("list-issues", {"params": {"limit": 0}}, USAGE, "--limit=0: it must be more than 0"),
    ("search", {"query": " "}, MISSING, "the query is empty"),
    ("add-comment", {"issue_number": 1, "body": " \n"}, MISSING, "the comment is empty"),
    ("add-comment", {"issue_number": 9, "body": "x"}, MISSING, "there is no such issue"),
    ("create-issue", {"title": " "}, MISSING, "the title is empty"),
    ("create-pr", {"title": "x", "params": {"head": "none"}}, BAD_DATA, "Validation Failed: head invalid"),
    ("create-pr", {"title": "x"}, MISSING, "there is no branch here"),
]


@pytest.mark.parametrize(("name", "given", "exit", "said"), REFUSED)
def test_what_cannot_be_is_told_in_words(github, name, given, exit, said):
    github.repository.add_issue("A hang")
    error = refuse(name, **given)
    assert error.exit == exit
    assert said in error.message


ANSWERS = [
    (401, "Bad credentials", {}, DENIED, "GitHub does not take the key: Bad credentials"),
    (403, "Resource not accessible", {"x_accepted_github_permissions": "issues=read"}, DENIED, "not accessible"),
    (404, "Not Found", {}, MISSING, "there is no such issue"),
    (410, "This issue was deleted", {}, MISSING, "it is gone: This issue was deleted"),
    (422, "Validation Failed", {}, BAD_DATA, "Validation Failed"),
    (451, "Repository access blocked", {}, DENIED, "Repository access blocked"),
    (500, "oops", {}, TRY_AGAIN, "oops"),
    (503, "", {"retry_after": "7"}, TRY_AGAIN, "503"),
]


@pytest.mark.parametrize(("status", "message", "headers", "exit", "said"), ANSWERS)
def test_each_status_has_its_exit_code(github, status, message, headers, exit, said):
    github.fail(refusing(status, message, **headers))
    error = refuse("get-issue", issue_number=1)
    assert error.exit == exit
    assert said in error.message
    assert error.is_permanent == (exit != TRY_AGAIN)
    assert headers.get("x_accepted_github_permissions", "") in error.hint


def test_what_github_says_beside_its_message_may_be_one_text(github):
    def fail(call):
        raise Refused(422, "Validation Failed", errors="No commits")

    github.fail(fail)
    assert "Failed: No commits" in refuse("get-issue", issue_number=1).message


LIMITS = [
    (403, "", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "{soon}"}, 100, "the rate limit is reached until"),
    (429, "", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "{soon}"}, 100, "the rate limit is reached until"),
    (
        403,
        "",
        {"x_ratelimit_remaining": "0", "x_ratelimit_resource": "code_search"},
        60,
        "the rate limit of code search",
    ),
    (403, "You have exceeded a secondary rate limit", {}, 60, "the rate limit is reached until"),
    (403, "You have exceeded a secondary rate limit", {"retry_after": "9"}, 9, "the rate limit is reached until"),
    (429, "", {}, 60, "the rate limit is reached until"),
    (429, "", {"retry_after": "1e300"}, 86_400, "the rate limit is reached until"),
]


@pytest.mark.parametrize(("status", "message", "headers", "seconds", "said"), LIMITS)
def test_a_limit_says_how_long_it_holds(github, status, message, headers, seconds, said):
    soon = str(int(time.time()) + 100)
    github.fail(refusing(status, message, **{name: value.format(soon=soon) for name, value in headers.items()}))
    error = refuse("get-issue", issue_number=1)
    assert (error.exit, error.is_permanent) == (TRY_AGAIN, False)
    assert said in error.message
    assert abs(error.retry_after - seconds) <= 2


SSO_URL = "https://github.com/orgs/acme/sso?authorization_request=A1"
SSO = [
    (403, {"X-GitHub-SSO": f"required; url={SSO_URL}"}, SSO_URL),
    (404, {"x-github-sso": f'Required ; url = "{SSO_URL};B"'}, f"{SSO_URL};B"),
    (403, {}, "/settings/tokens"),
]


@pytest.mark.parametrize(("status", "headers", "url"), SSO)
@pytest.mark.parametrize("name", ["get-issue", "list-issues", "search", "create-issue"])
def test_an_organization_that_wants_sso_has_its_address_in_the_hint(github, name, status, headers, url):
    github.fail(refusing(status, "Resource protected by organization SAML enforcement", **headers))
    error = refuse(name, issue_number=1, query="x", title="x")
    assert (error.exit, error.is_permanent) == (DENIED, True)
    assert error.hint.partition(" authorizes")[0].endswith(url)


PARTIAL = [
    "partial-results; organizations=21955855,20582480",
    'Partial-Results ;Organizations = "21955855, 20582480"',
]


@pytest.mark.parametrize("page", ["1", "2"])
@pytest.mark.parametrize("header", PARTIAL)
@pytest.mark.parametrize("name", ["list-issues", "list-prs", "search", "get-issue"])
def test_results_that_are_missing_for_want_of_sso_are_told_once_and_not_cached(github, capfd, name, header, page):
    for _ in range(101):
        github.repository.add_pull("a hang", head="fix", base="main")
        github.repository.add_comment(1, "so it does")
    github.headers[page] = {"X-GITHUB-sso": header}
    node = load_bundled(f"github-{name}")()
    node.set_params({"limit": 101} if name != "get-issue" else {})
    node.run({"repo": "owner/repo", "query": "hang", "issue_number": 1})
    said = capfd.readouterr().err
    assert said.count("21955855, 20582480") == said.count("\n") == 1
    assert "/settings/tokens" in said
    assert node.not_kept in said


LINKS = [
    "<{url}>; rel=next",
    '<{url}> ;title="a, b; rel=last" ; REL = "Last NEXT"',
    '<https://example.org/a,b;c?d=1,2>; rel="prev", <{url}>; rel="next"; title=x',
    '</x?page=9>; rel="prev first",<?{query}>;rel=Next,</x?page=9>;rel=last',
    '<?page=9>; title="; rel=next"; rel=last, < https://example.org/?{query} >; rel=next',
    '<?page=9>; nextrel="next", <?page=9>; rel="last"; rel="next", <?{query}>; foo; rel="next"',
]


@pytest.mark.parametrize("link", LINKS)
def test_the_next_page_is_found_in_each_form_of_a_link_header(github, link):
    add_issues(github.repository, 101)
    github.link = link
    assert len(run("list-issues", params={"limit": 101})["issues"]) == 101
    assert [each["query"].get("page") for each in github.requests] == [None, "2"]


@pytest.mark.parametrize("link", ["<?page=2&per_page=100>; rel=next", "<https://example.org/next>; rel=next"])
def test_a_page_that_is_its_own_next_one_is_refused(github, link):
    add_issues(github.repository, 201)
    github.link = link
    assert "its own next page" in refuse("list-issues", params={"limit": 999}).message


def test_an_answer_that_is_no_json_is_told(github, monkeypatch):
    github.fail(lambda call: call.answer(200, "<html>"))
    assert refuse("get-issue", issue_number=1).exit == BAD_DATA
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:1")
    assert refuse("get-issue", issue_number=1).exit == UNAVAILABLE
