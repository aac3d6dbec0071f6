"""github-get-pr: a pull request with its files and its diff."""

from __future__ import annotations

from tests.peers.github_nodes import run


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
