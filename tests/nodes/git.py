"""What the tests of the git nodes do with a node and a repository."""

from __future__ import annotations

import subprocess

import pytest

from pflow.errors import PflowError
from tests.peers.repository import git, write

PARAMS = ("all", "create", "set_upstream", "tags")


def act(node, repo, *, key="", params=None, **given):
    """Run a node in a repository, in the visit of this key: its action, and what it wrote."""
    made, shared = node(), {"repo": str(repo), **{name: each for name, each in given.items() if name not in PARAMS}}
    made.set_params({**(params or {}), **{name: each for name, each in given.items() if name in PARAMS}})
    if key:
        made.step_key = key
    read = set(shared)
    action = made.run(shared) or "default"
    return action, {name: value for name, value in shared.items() if name not in read}


def run(node, repo, **given):
    """What a node wrote."""
    return act(node, repo, **given)[1]


def refuse(node, repo, **given):
    with pytest.raises(PflowError) as caught:
        act(node, repo, **given)
    return caught.value


def commit(repo, message="Go on"):
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--allow-empty", f"--message={message}")


def conflict(repo):
    git(repo, "checkout", "--quiet", "-b", "other")
    write(repo, b="theirs\n")
    commit(repo)
    git(repo, "checkout", "--quiet", "main")
    write(repo, b="ours\n")
    commit(repo)
    subprocess.run(["git", "-C", repo, "merge", "--quiet", "other"], capture_output=True, check=False)


def stage_and_change(repo):
    write(repo, a="staged\n")
    git(repo, "add", "a.txt")
    write(repo, a="changed\n", new="")


def rename(repo):
    git(repo, "mv", "a.txt", "ü\n.txt")
