"""github-list-prs: pull requests by labels and time."""

from __future__ import annotations

from tests.peers.github_nodes import run


def test_pull_requests_are_selected_by_labels_and_time(github):
    for labels in (("a",), ("a", "b"), ("b",)):
        github.repository.add_pull("Mend", head="fix", base="main")["labels"] += [{"name": name} for name in labels]
    assert [row["number"] for row in run("list-prs", params={"labels": ["a"]})["prs"]] == [2, 1]
    assert [row["number"] for row in run("list-prs", params={"limit": 1})["prs"]] == [3]
    changed = github.repository.issues[1]["updated_at"] = "2099-01-01T00:00:00Z"
    assert [row["number"] for row in run("list-prs", params={"since": changed})["prs"]] == [1]
