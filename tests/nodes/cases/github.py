"""The cases of the github nodes, against a small GitHub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.nodes.cases.case import ANY, Case
from tests.peers.github import KEY, GitHub


@contextmanager
def github(here: Path) -> Iterator[Mapping[str, str]]:
    """`owner/repo` with the issue 1 and the pull request 2."""
    with GitHub() as server:
        server.repository.add_issue("A hang", "It hangs.", labels=("bug",))
        server.repository.add_pull("Mend it", head="fix", base="main")
        server.repository.takes_twins = True
        yield {"GITHUB_API_URL": server.url, "GITHUB_TOKEN": KEY, "NO_PROXY": "127.0.0.1"}


REPO = "--repo=owner/repo"
ISSUE = "# A hang (#1)\n\nopen, by octocat, labels: bug\n\nIt hangs."
PR = "# Mend it (#2)\n\nopen, by octocat\n\nmodified a.txt +1 -1"

CASES = [
    Case(
        "github-get-issue",
        [REPO, "--issue=1"],
        around=github,
        writes={"issue": ISSUE, "issue_title": "A hang", "issue_data": ANY},
    ),
    Case("github-get-issue", [REPO, "--issue=3"], around=github, exit=66),
    Case("github-list-issues", [REPO, "--label=bug"], around=github, writes={"issues": [ANY]}),
    Case("github-get-pr", [REPO, "--pr=2"], around=github, writes={"pr": PR, "pr_title": "Mend it", "pr_data": ANY}),
    Case("github-list-prs", [REPO], around=github, writes={"prs": [ANY]}),
    Case("github-search", ["hang", REPO], around=github, writes={"results": [ANY], "total": 1}),
    Case("github-add-comment", [REPO, "--issue=1"], pipe="Thanks", around=github, writes={"comment_url": ANY}),
    Case(
        "github-create-issue",
        [REPO, "A title"],
        pipe="It hangs.",
        around=github,
        writes={"issue_url": ANY, "issue_number": ANY},
    ),
    Case(
        "github-create-pr",
        [REPO, "A title", "--head=fix"],
        pipe="It hangs no more.",
        around=github,
        writes={"pr_url": ANY, "pr_number": ANY},
    ),
]
