"""git-checkout: where it goes, and that it loses nothing."""

from __future__ import annotations

import pytest

from pflow.nodes.git_checkout import GitCheckout
from tests.nodes.git import act, commit, refuse
from tests.peers.repository import add_hook, add_remote, git, write


def status(repo):
    return git(repo, "status", "--short").split("\n")


def branch(repo):
    return git(repo, "rev-parse", "--abbrev-ref", "HEAD")


CHECKOUTS = [
    ({"branch": "other"}, "other"),
    ({"branch": "main"}, "main"),
    ({"branch": "new", "create": True}, "new"),
    ({"branch": "feature/é", "create": True}, "feature/é"),
    ({"branch": "v1"}, "HEAD"),
    ({"branch": "far"}, "far"),
]


@pytest.mark.parametrize(("given", "there"), CHECKOUTS)
def test_checkout_goes_to_a_branch_and_may_be_asked_again_unless_it_makes_one(repo, given, there):
    add_remote(repo)
    git(repo, "branch", "other")
    git(repo, "tag", "v1")
    git(repo, "push", "--quiet", "origin", "main:far")
    write(repo, a="A\n")
    for _ in range(1 if "create" in given else 2):
        assert act(GitCheckout, repo, **given) == ("default", {})
        assert (branch(repo), status(repo)) == (there, [" M a.txt"])


NO_CHECKOUT = [
    ("none", {}, 66, "invalid reference: none"),
    ("main", {"create": True}, 73, "a branch named 'main' already exists"),
    ("a b", {"create": True}, 65, "'a b' is not a valid branch name"),
    ("-f", {}, 65, "a name cannot begin with -"),
    ("", {}, 66, "the name is empty"),
    ("a.txt", {}, 66, "invalid reference"),
]


@pytest.mark.parametrize(("name", "given", "exit", "words"), NO_CHECKOUT)
def test_checkout_refuses_what_is_no_branch(repo, name, given, exit, words):
    write(repo, a="A\n")
    error = refuse(GitCheckout, repo, branch=name, **given)
    assert (error.exit, words in str(error), branch(repo), status(repo)) == (exit, True, "main", [" M a.txt"])


def test_checkout_never_loses_a_change_or_an_ignored_file(repo):
    git(repo, "checkout", "--quiet", "-b", "other")
    write(repo, a="other\n", ignored="other\n")
    commit(repo)
    git(repo, "checkout", "--quiet", "main")
    write(repo, a="mine\n", ignored="mine\n")
    (repo / ".gitignore").write_text("ignored.txt")
    for name in ("a.txt", "ignored.txt"):
        error = refuse(GitCheckout, repo, branch="other")
        assert (error.exit, f"overwritten by checkout: / {name}" in str(error)) == (1, True)
        assert ((repo / name).read_text(), error.hint) == ("mine\n", "commit or stash them first")
        git(repo, "checkout", "--quiet", "a.txt")


@pytest.mark.parametrize(("given", "there"), CHECKOUTS)
def test_a_hook_that_fails_after_the_checkout_is_told_as_that(repo, given, there):
    add_remote(repo)
    git(repo, "branch", "other")
    git(repo, "tag", "v1")
    git(repo, "push", "--quiet", "origin", "main:far")
    add_hook(repo, "post-checkout", "echo error: no npm >&2; exit 3")
    error = refuse(GitCheckout, repo, **given)
    said = f"'{given['branch']}' is checked out in '{repo}', but its hook post-checkout failed: no npm"
    assert (error.exit, str(error), branch(repo)) == (1, said, there)
