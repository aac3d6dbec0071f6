"""What a run makes on GitHub, it makes once."""

from __future__ import annotations

from typing import Any

import pytest

from pflow.catalog.registry import load_bundled
from pflow.errors import BAD_CONFIG, TRY_AGAIN, PflowError
from pflow.node import STEP_KEY
from tests.peers.github import cut, refusing
from tests.peers.github_nodes import add_issues, run

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


@pytest.mark.parametrize("name", ["add-comment", "create-issue", "create-pr"])
def test_what_is_made_is_never_cached(name):
    with pytest.raises(PflowError) as caught:
        load_bundled(f"github-{name}")().cache_parts({})
    assert caught.value.exit == BAD_CONFIG
