"""github-create-pr: a draft with labels, for the branch here."""

from __future__ import annotations

import subprocess

from tests.peers.github_nodes import run

# Which repository, and whose key


def make_remote(url: str) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "config", "remote.origin.url", url], check=True)


def test_labels_and_a_draft_go_along(github):
    run("create-issue", title="New", params={"labels": ["bug", "ui"]})
    run("create-pr", title="New", params={"head": "fix", "draft": True})
    bodies = [each["body"] for each in github.requests if each["method"] == "post"]
    assert bodies[0] == {"title": "New", "body": "", "labels": ["bug", "ui"]}
    assert bodies[1] == {"title": "New", "body": "", "head": "fix", "base": "main", "draft": True}


def test_a_pull_request_is_for_the_branch_here(github):
    make_remote("https://github.com/owner/repo")
    act = "git symbolic-ref HEAD refs/heads/fix; git tag fix $(git hash-object -w --stdin </dev/null)"
    subprocess.run(act, shell=True, check=True)
    made = run("create-pr", repo=None, title="New")
    assert made["pr_number"] == 1
    assert github.requests[-1]["body"]["head"] == "fix"
