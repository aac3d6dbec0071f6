"""github-get-issue: an issue as a text and as data."""

from __future__ import annotations

from pflow.node import load_bundled
from tests.peers.github_nodes import REPO, run


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
    assert found["issue"] == "# A hang (#1)\n\nopen, by a deleted user"
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


def test_what_is_read_is_cached_by_the_repository_and_the_github_that_it_is_of(github):
    parts = load_bundled("github-get-issue")().cache_parts({"repo": REPO, "issue_number": 1})
    assert parts == {"api": github.url, "repo": REPO}
