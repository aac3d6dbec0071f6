"""The github nodes against a small GitHub: what they ask, write and refuse, and what they make once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pflow.catalog.registry import bundled_names, load_bundled
from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, MISSING, TRY_AGAIN, UNAVAILABLE, USAGE, PflowError
from pflow.kit.github.access import resolve
from pflow.node import STEP_KEY, declared_interface
from tests.peers.github import KEY, GitHub, Repository, cut, refusing

REPO = "owner/repo"
VARIABLES = ("GITHUB_API_URL", "GITHUB_TOKEN", "GH_TOKEN", STEP_KEY)


@pytest.fixture(autouse=True)
def own_environment(tmp_path, monkeypatch):
    """A directory without a repository, no key, and no gh."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def github(monkeypatch):
    """A GitHub with `owner/repo`, and its key in the environment."""
    with GitHub() as server:
        monkeypatch.setenv("GITHUB_API_URL", server.url)
        monkeypatch.setenv("GITHUB_TOKEN", KEY)
        yield server


def run(name: str, *, params: dict[str, Any] | None = None, **shared: Any) -> dict[str, Any]:
    """What a node makes of a store, under plain pocketflow."""
    node = load_bundled(f"github-{name}")()
    node.set_params(params or {})
    store = {"repo": REPO, **shared}
    node.run(store)
    return store


def refuse(name: str, **given: Any) -> PflowError:
    with pytest.raises(PflowError) as caught:
        run(name, **given)
    return caught.value


def add_issues(repository: Repository, count: int) -> None:
    for number in range(count):
        repository.add_issue(f"issue {number}")


# What is read


def test_an_issue_is_a_text_to_read_and_all_of_it_as_data(github):
    github.repository.add_issue("A hang", "It hangs.\r\nAlways.", labels=("bug", "ui"))
    github.repository.add_comment(1, "Me too\r\n", by="ada")
    found = run("get-issue", issue_number=1)
    day = found["issue_data"]["comments"][0]["created_at"][:10]
    assert found["issue"] == (
        f"# A hang (#1)\n\nopen, by octocat, labels: bug, ui\n\nIt hangs.\nAlways.\n\n## ada, {day}\n\nMe too"
    )
    assert found["issue_title"] == "A hang"
    data = found["issue_data"]
    assert (data["labels"][0]["name"], data["user"]["login"], data["state"]) == ("bug", "octocat", "open")
    assert (data["number"], data["body"], data["url"]) == (
        1,
        "It hangs.\nAlways.",
        "https://github.com/owner/repo/issues/1",
    )


def test_an_issue_without_a_body_whose_author_is_gone_is_one(github):
    github.repository.add_issue("A hang", None, user=None)
    found = run("get-issue", issue_number=1)
    assert found["issue"] == "# A hang (#1)\n\nopen, by somebody who is gone"
    assert found["issue_data"]["body"] == ""


def test_all_pages_of_comments_are_read_and_none_where_none_are_wanted(github):
    github.repository.add_issue("A hang")
    for number in range(201):
        github.repository.add_comment(1, str(number))
    found = run("get-issue", issue_number=1)["issue_data"]
    assert [comment["body"] for comment in found["comments"]] == [str(number) for number in range(201)]
    asked = len(github.requests)
    assert run("get-issue", issue_number=1, params={"comments": False})["issue_data"]["comments"] == []
    assert (asked, len(github.requests)) == (4, 5)


def test_issues_are_listed_over_pages_and_pull_requests_are_none(github):
    add_issues(github.repository, 120)
    github.repository.add_pull("Mend it", head="fix", base="main")
    found = run("list-issues", params={"limit": 110})["issues"]
    assert [row["number"] for row in found] == [*range(120, 10, -1)]
    assert len(github.requests) == 2
    assert run("list-issues", params={"state": "closed"})["issues"] == []


def test_a_list_asks_for_what_is_wanted(github):
    params = {"labels": ["bug", "ui"], "state": "all", "since": "2026-11-01"}
    run("list-issues", params=params)
    (asked,) = github.requests
    wanted = {"labels": "bug,ui", "state": "all", "since": "2026-11-01T00:00:00Z", "per_page": "100"}
    assert asked["query"] == wanted
    assert asked["headers"]["x-github-api-version"] == "2022-11-28"


def test_pull_requests_are_selected_by_labels_and_time(github):
    for labels in (("a",), ("a", "b"), ("b",)):
        github.repository.add_pull("Mend", head="fix", base="main")["labels"] += [{"name": name} for name in labels]
    assert [row["number"] for row in run("list-prs", params={"labels": ["a"]})["prs"]] == [2, 1]
    assert [row["number"] for row in run("list-prs", params={"limit": 1})["prs"]] == [3]
    changed = github.repository.issues[1]["updated_at"] = "2099-01-01T00:00:00Z"
    assert [row["number"] for row in run("list-prs", params={"since": changed})["prs"]] == [1]


def test_a_pull_request_has_its_files_and_where_wanted_its_diff(github):
    github.repository.add_pull("Mend it", "Fixes #1", head="fix", base="main", draft=True)
    found = run("get-pr", pr_number=1)
    assert found["pr"] == "# Mend it (#1)\n\ndraft, by octocat\n\nFixes #1\n\nmodified a.txt +1 -1"
    assert found["pr_data"]["files"][0] == {
        "additions": 1,
        "deletions": 1,
        "filename": "a.txt",
        "status": "modified",
    }
    found = run("get-pr", pr_number=1, params={"diff": True})
    assert found["pr_data"]["diff"] == github.repository.diff
    assert found["pr"].endswith(github.repository.diff)
    assert (found["pr_title"], found["pr_data"]["head"]["ref"]) == ("Mend it", "fix")


@pytest.mark.parametrize(
    ("kind", "query", "path", "asked"),
    [
        ("issues", "crash", "issues", "crash is:issue repo:owner/repo"),
        ("issues", "crash is:pr", "issues", "crash is:pr repo:owner/repo"),
        ("prs", "crash", "issues", "crash is:pr repo:owner/repo"),
        ("repositories", "repo", "repositories", "repo repo:owner/repo"),
        ("code", "repo", "code", "repo repo:owner/repo"),
    ],
)
def test_a_search_says_what_kind_it_is_for(github, kind, query, path, asked):
    run("search", query=query, params={"kind": kind})
    assert [(each["path"], each["query"]["q"]) for each in github.requests] == [(f"/search/{path}", asked)]


def test_a_search_goes_over_pages_and_counts_all(github):
    add_issues(github.repository, 130)
    found = run("search", query="issue", params={"limit": 120})
    assert (len(found["results"]), found["total"]) == (120, 130)
    assert run("search", query="no such")["results"] == []


# Which repository, and whose key


def make_remote(url: str) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "config", "remote.origin.url", url], check=True)


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:owner/repo.git",
        "ssh://git@github.com/owner/repo",
        "ssh://git@ssh.github.com:443/owner/repo.git",
        "https://github.com/owner/repo.git",
        "https://github.com/owner/repo/",
        "https://x-access-token:ghp_secret@GitHub.com/owner/repo",
        "git://github.com/owner/repo.git",
    ],
)
def test_without_repo_it_is_that_of_the_remote(url):
    make_remote(url)
    assert resolve(None) == "owner/repo"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("git@gitlab.com:owner/repo.git", "is at gitlab.com, and https://api.github.com at another"),
        ("https://user:ghp_secret@example.org/owner/repo", "is at example.org"),
        ("/srv/git/repo.git", "is none of GitHub"),
        ("file:///srv/owner/repo.git", "is none of GitHub"),
        ("../owner/repo", "is none of GitHub"),
        ("https://github.com/owner/..", "is none of GitHub"),
        ("https://github.com/owner/repo/issues", "is none of GitHub"),
    ],
)
def test_a_remote_elsewhere_is_never_asked_for_at_github(url, said):
    make_remote(url)
    with pytest.raises(PflowError) as caught:
        resolve(None)
    assert caught.value.exit == MISSING
    assert said in caught.value.message
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_where_nothing_names_a_repository_the_flag_is_told():
    with pytest.raises(PflowError) as caught:
        resolve(None)
    assert (caught.value.exit, caught.value.hint) == (MISSING, "--repo=OWNER/NAME")


def test_an_enterprise_s_remote_goes_with_its_interface(monkeypatch):
    make_remote("git@ghe.example.org:owner/repo.git")
    monkeypatch.setenv("GITHUB_API_URL", "https://ghe.example.org/api/v3/")
    assert resolve(None) == "owner/repo"


@pytest.mark.parametrize("repo", ["", "repo", "a/b/c", "../b", "a/..", "a/b?x", "a/b#c", "ä/b", "a b/c", "a/b\n/c"])
def test_what_is_no_repository_reaches_no_path(github, repo):
    error = refuse("get-issue", repo=repo, issue_number=1)
    assert error.exit == BAD_DATA
    assert github.requests == []


@pytest.mark.parametrize(
    "url", ["http://example.org", "example.org", "ftp://127.0.0.1", "https://", "https://[", "http://127.example.org"]
)
def test_a_key_goes_to_no_interface_without_tls(monkeypatch, url):
    monkeypatch.setenv("GITHUB_API_URL", url)
    assert refuse("get-issue", issue_number=1).exit == BAD_CONFIG


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        ({"GITHUB_TOKEN": "one", "GH_TOKEN": "two"}, "Bearer one"),
        ({"GITHUB_TOKEN": "", "GH_TOKEN": " two\n"}, "Bearer two"),
        ({"GITHUB_TOKEN": ""}, None),
    ],
)
def test_the_key_is_that_of_the_environment(github, monkeypatch, variables, sent):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    github.keys |= {"one": "ada", "two": "ada"}
    github.repository.add_issue("A hang")
    run("get-issue", issue_number=1, params={"comments": False})
    assert github.requests[0]["headers"].get("authorization") == sent


def test_what_can_be_no_key_is_told_before_it_is_sent(github, monkeypatch):
    for key in ("one\ntwo", "ключ"):
        monkeypatch.setenv("GITHUB_TOKEN", key)
        error = refuse("get-issue", issue_number=1)
        assert error.exit == BAD_CONFIG
        assert key not in error.message
    assert github.requests == []


def test_without_one_gh_is_asked_for_its_key_of_that_host(tmp_path, monkeypatch):
    from pflow.kit.github.client import Client

    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text('#!/bin/sh\n[ "$*" = "auth token --hostname ghe.example.org" ] && echo key-of-gh\n')
    gh.chmod(0o755)
    monkeypatch.setenv("GITHUB_API_URL", "https://ghe.example.org/api/v3")
    assert Client("").key == "key-of-gh"
    monkeypatch.delenv("GITHUB_API_URL")
    assert Client("").key == ""


def test_the_key_is_sent_to_no_other_host_that_an_answer_names(github):
    add_issues(github.repository, 101)
    with GitHub() as other:
        github.url = other.url  # in the Link header
        assert len(run("list-issues", params={"limit": 101})["issues"]) == 101
        assert other.requests == []


# What is refused

REFUSED = [
    ("get-issue", {"issue_number": 9}, MISSING, "there is no such issue, or the key may not see it"),
    ("get-pr", {"pr_number": 1}, MISSING, "there is no such pull request"),
    ("list-issues", {"repo": "owner/none"}, MISSING, "there is no such repository"),
    ("list-issues", {"params": {"since": "yesterday"}}, USAGE, "it is no day and no time"),
    ("list-issues", {"params": {"limit": 0}}, USAGE, "--limit is 1 or more"),
    ("search", {"query": " "}, MISSING, "the query is empty"),
    ("add-comment", {"issue_number": 1, "body": " \n"}, MISSING, "the comment is empty"),
    ("add-comment", {"issue_number": 9, "body": "x"}, MISSING, "there is no such issue"),
    ("create-issue", {"title": " "}, MISSING, "the title is empty"),
    ("create-pr", {"title": "x", "params": {"head": "none"}}, BAD_DATA, "Validation Failed: head invalid"),
    ("create-pr", {"title": "x"}, MISSING, "there is none here"),
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


def test_an_answer_that_is_no_json_is_told(github, monkeypatch):
    github.fail(lambda call: call.answer(200, "<html>"))
    assert refuse("get-issue", issue_number=1).exit == BAD_DATA
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:1")
    assert refuse("get-issue", issue_number=1).exit == UNAVAILABLE


def test_no_message_shows_the_key(github):
    github.fail(refusing(403, f"the key {KEY} may not"))
    error = refuse("get-issue", issue_number=1)
    assert KEY not in f"{error} {error.hint} {error.details}"
    assert "***" in error.message


@pytest.mark.parametrize("name", ["add-comment", "create-issue", "create-pr"])
def test_nothing_is_made_without_a_key(github, monkeypatch, name):
    github.repository.add_issue("A hang")
    monkeypatch.delenv("GITHUB_TOKEN")
    error = refuse(name, issue_number=1, title="x", body="x", params={"head": "fix"} if name == "create-pr" else {})
    assert error.exit == DENIED
    assert "GITHUB_TOKEN" in error.hint
    assert {each["method"] for each in github.requests} <= {"get"}


# What is made

MADE = {
    "add-comment": ({"issue_number": 1, "body": "Thanks"}, {}, "comment_url"),
    "create-issue": ({"title": "New", "body": "Thanks"}, {"labels": ["bug"]}, "issue_url"),
    "create-pr": ({"title": "New", "body": ""}, {"head": "fix"}, "pr_url"),
}


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
    assert "look before you try again" in caught.value.hint
    assert count() == 2


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


def test_labels_and_a_draft_go_along(github):
    run("create-issue", title="New", params={"labels": ["bug", "ui"]})
    run("create-pr", title="New", params={"head": "fix", "draft": True})
    bodies = [each["body"] for each in github.requests if each["method"] == "post"]
    assert bodies[0] == {"title": "New", "body": "", "labels": ["bug", "ui"]}
    assert bodies[1] == {"title": "New", "body": "", "head": "fix", "base": "main", "draft": True}


def test_a_pull_request_is_for_the_branch_here(github):
    make_remote("https://github.com/owner/repo")
    subprocess.run(["git", "symbolic-ref", "HEAD", "refs/heads/fix"], check=True)
    made = run("create-pr", repo=None, title="New")
    assert made["pr_number"] == 1
    assert github.requests[-1]["body"]["head"] == "fix"


@pytest.mark.parametrize("name", ["add-comment", "create-issue", "create-pr"])
def test_what_is_made_is_never_cached(name):
    with pytest.raises(PflowError) as caught:
        load_bundled(f"github-{name}")().cache_parts({})
    assert caught.value.exit == BAD_CONFIG


def test_what_is_read_is_cached_by_the_repository_and_the_github_that_it_is_of(github):
    parts = load_bundled("github-get-issue")().cache_parts({"repo": REPO, "issue_number": 1})
    assert parts == {"api": github.url, "repo": REPO}


@pytest.mark.parametrize(
    ("words", "times", "code"),
    [
        (["pflow", "run", "github-add-comment --issue=1 --body=Thanks --repo=owner/repo --retries=2 --wait=0"], 1, 0),
        (
            ["pflow-github-add-comment", "--issue=1", "--body=Thanks", f"--repo={REPO}", "--retries=2", "--wait=0"],
            1,
            75,
        ),
    ],
    ids=["run", "stage"],
)
def test_retries_comment_once(github, tmp_path, words, times, code):
    """In a run the comment of the lost answer is found; a stage has nothing to find it by, and does not try again."""
    github.repository.add_issue("A hang")
    github.fail(cut, "post", after=True)
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        [Path(sys.executable).parent / words[0], *words[1:], "-n"], env=environment, capture_output=True, check=False
    )
    assert (done.returncode, len(github.repository.bodies(1))) == (code, times), done.stderr


@pytest.mark.parametrize(
    ("words", "code", "comments"),
    [
        (["pflow-github-add-comment", "--body=Thanks"], 0, 1),
        (["pflow-github-create-issue", "--title=New", "--body=Thanks"], MISSING, 0),
        (["pflow-github-list-issues"], MISSING, 0),
    ],
)
def test_the_store_names_the_issue_to_answer_and_no_other_repository(github, words, code, comments):
    github.repository.add_issue("A hang")
    store = b'{"$pflow":{"v":1},\n"repo":"owner/repo",\n"issue_number":1\n}\n'
    done = subprocess.run([Path(sys.executable).parent / words[0], *words[1:]], input=store, capture_output=True)
    assert (done.returncode, len(github.repository.bodies(1))) == (code, comments), done.stderr
    assert len(github.repository.issues) == 1


def test_a_directory_for_git_is_no_repository_of_github():
    """Of a flag of git-log's, `work/project`, github-add-comment would else make OWNER/NAME."""
    reads = {name: declared_interface(load_bundled(name)).reads.get("repo") for name in bundled_names()}
    assert [name for name, read in reads.items() if read and read.type.is_path and read.is_stored] == []
