"""github-search: what is searched for, over all pages."""

from __future__ import annotations

import pytest

from tests.peers.github_nodes import add_issues, refuse, run


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


def test_an_answer_without_the_members_that_are_not_needed_is_taken(github):
    github.fail(lambda call: call.answer(200, {"items": [{"title": "Oak"}]}))
    found = run("search", query="oak")
    assert (found["results"], found["total"]) == ([{"title": "Oak"}], 1)


@pytest.mark.parametrize(("node", "given"), [("search", {"query": "oak"}), ("list-issues", {})])
@pytest.mark.parametrize("answer", [{"message": "moved"}, {"items": 7}, "oak"])
def test_an_answer_without_its_rows_is_bad_data(github, node, given, answer):
    github.fail(lambda call: call.answer(200, answer))
    assert refuse(node, **given).exit == 65


def test_a_search_goes_over_pages_and_counts_all(github):
    add_issues(github.repository, 130)
    found = run("search", query="issue", params={"limit": 120})
    assert (len(found["results"]), found["total"]) == (120, 130)
    assert run("search", query="no such")["results"] == []
