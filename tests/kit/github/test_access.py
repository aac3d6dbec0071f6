"""The key for GitHub: where it comes from, and that it goes nowhere else."""

from __future__ import annotations

import pytest

from pflow.errors import BAD_CONFIG, DENIED
from tests.peers.github import KEY, GitHub, refusing
from tests.peers.github_nodes import add_issues, refuse, run

pytestmark = pytest.mark.usefixtures("own_environment")


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
