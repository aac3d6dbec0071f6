"""github-list-issues: all pages of what is asked for."""

from __future__ import annotations

from tests.peers.github_nodes import add_issues, run


def test_issues_are_listed_over_pages_and_pull_requests_are_none(github):
    add_issues(github.repository, 120)
    github.repository.add_pull("Mend it", head="fix", base="main")
    found = run("list-issues", params={"limit": 110})["issues"]
    assert [row["number"] for row in found] == [*range(120, 10, -1)]
    assert len(github.requests) == 2
    assert run("list-issues", params={"state": "closed"})["issues"] == []


def test_a_list_asks_for_what_is_wanted(github):
    params = {"labels": ["bug", "ui"], "state": "all", "since": "2026-11-01T02:00+02:00"}
    run("list-issues", params=params)
    (asked,) = github.requests
    wanted = {"labels": "bug,ui", "state": "all", "since": "2026-11-01T00:00:00Z", "per_page": "100"}
    assert asked["query"] == wanted
    assert asked["headers"]["x-github-api-version"] == "2022-11-28"
