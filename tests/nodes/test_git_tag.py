"""git-tag: a tag is made once and never moved."""

from __future__ import annotations

import subprocess

import pytest

from pflow.nodes.git_tag import GitTag
from tests.nodes.git import act, refuse
from tests.peers.repository import git


def at(repo, ref):
    return subprocess.run(
        ["git", "-C", repo, "rev-parse", "--verify", "-q", ref], capture_output=True, text=True, check=False
    ).stdout.strip()


@pytest.mark.parametrize(
    ("given", "kind"), [({}, "commit"), ({"message": "-m\n# The first\n"}, "tag"), ({"at": "main~0"}, "commit")]
)
def test_a_tag_is_made_once_and_never_moved(repo, given, kind):
    for _ in range(2):
        assert act(GitTag, repo, name="v1", **given) == ("default", {})
    assert git(repo, "cat-file", "-t", "v1") == kind
    assert at(repo, "v1^{commit}") == at(repo, "HEAD")
    assert kind == "commit" or git(repo, "cat-file", "-p", "v1").endswith("\n\n-m\n# The first")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=x")
    error = refuse(GitTag, repo, name="v1", **{**given, "at": "HEAD"})
    assert (error.exit, "it exists already, at " in str(error)) == (73, True)


NO_TAG = [
    ({"name": "v1"}, 66, "no tag message?"),
    ({"name": "-d"}, 65, "'-d' is not a valid tag name"),
    ({"name": "a b"}, 65, "'a b' is not a valid tag name"),
    ({"name": ""}, 65, "'' is not a valid tag name"),
    ({"name": "v1", "at": "none"}, 66, "there is no commit 'none'"),
    ({"name": "v1", "at": "--all"}, 66, "there is no commit '--all'"),
    ({"name": "v1", "message": ""}, 66, "the message is empty"),
]


@pytest.mark.parametrize(("given", "exit", "words"), NO_TAG)
def test_a_tag_that_cannot_be_is_refused(repo, given, exit, words):
    git(repo, "config", "tag.gpgSign", "true")
    error = refuse(GitTag, repo, **given)
    assert (error.exit, words in str(error), git(repo, "tag")) == (exit, True, ""), error
