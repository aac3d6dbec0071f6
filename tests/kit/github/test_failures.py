"""What GitHub refuses, in words and exit codes."""

from __future__ import annotations

import time

import pytest

from pflow.errors import BAD_DATA, DENIED, MISSING, TRY_AGAIN, UNAVAILABLE, USAGE
from tests.peers.github import refusing
from tests.peers.github_nodes import refuse

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
