"""git-status: what it finds in real repositories, and what it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pflow.nodes.git_log import GitLog
from pflow.nodes.git_status import GitStatus
from tests.nodes.child import as_nobody
from tests.nodes.git import commit, conflict, refuse, rename, run, stage_and_change
from tests.peers.repository import add_remote, git, make_repository
from tests.tools import need, only_root


def odd_name(repo):
    (repo / os.fsdecode(b"\xff")).write_text("")


STATUS = [
    (lambda repo: None, "clean", []),
    (stage_and_change, "staged: modified a.txt\nunstaged: modified a.txt\nuntracked: new.txt",
     [("a.txt", "modified", "modified"), ("new.txt", "untracked")]),
    (lambda repo: (repo / "a.txt").unlink(), "unstaged: deleted a.txt", [("a.txt", "deleted")]),
    (lambda repo: git(repo, "rm", "-q", "a.txt"), "staged: deleted a.txt", [("a.txt", "deleted")]),
    (rename, "staged: renamed a.txt -> ü .txt", [("ü\n.txt", "a.txt", "renamed")]),
    (conflict, "conflicted: b.txt", [("b.txt", "conflicted")]),
    (odd_name, "untracked: \\xff", [(b"\xff", "untracked")]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "text", "files"), STATUS)
def test_status_has_a_line_and_an_entry_a_file(repo, change, text, files):
    change(repo)
    found = run(GitStatus, repo)
    first, _, lines = found["status"].partition("\n")
    head = git(repo, "rev-parse", "HEAD")
    assert (first, lines) == (f"branch main, at {head[:10]}", text + "\n")
    flat = [tuple(value if value is not True else key for key, value in file.items() if value) for file in
            found["status_data"]["files"]]  # fmt: skip
    assert flat == files


def test_status_tells_where_the_branch_stands(repo, tmp_path):
    add_remote(repo)
    commit(repo)
    found = run(GitStatus, repo)
    assert found["status"].endswith("; upstream origin/main: 1 ahead, 0 behind\nclean\n")
    assert (found["status_data"]["upstream"], found["status_data"]["ahead"]) == ("origin/main", 1)
    git(repo, "update-ref", "-d", "refs/remotes/origin/main")
    assert "upstream origin/main: gone" in run(GitStatus, repo)["status"]
    git(repo, "checkout", "--quiet", "--detach")
    found = run(GitStatus, repo)
    assert (found["status"].split(",")[0], found["status_data"]["branch"]) == ("no branch", None)
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "none")
    assert run(GitStatus, tmp_path / "none")["status"] == "branch main, without a commit\nclean\n"


REFUSED = [
    ({"repo": "/"}, 66, "cannot show the status in '/': not a git repository"),
    ({"repo": "none"}, 66, "cannot change to 'none': No such file or directory"),
    ({"repo": ""}, 66, "the path is empty"),
    ({"repo": "a\0b"}, 65, "contains NUL"),
]


@pytest.mark.parametrize(("given", "exit", "words"), REFUSED)
def test_what_is_not_there_is_refused(repo, given, exit, words):
    error = refuse(GitStatus, **{"repo": repo, **given})
    assert (error.exit, words in str(error)) == (exit, True), error
    assert not (repo / "x").exists()


def test_without_git_it_says_so(repo, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    error = refuse(GitStatus, repo)
    assert (error.exit, error.hint) == (78, "install git")


@only_root
def test_another_s_repository_is_not_trusted_unasked(open_dir):
    make_repository(open_dir / "repo")
    run(GitStatus, open_dir / "repo")
    assert as_nobody(lambda: run(GitStatus, open_dir / "repo")) == 77


def test_a_bare_repository_has_a_log_and_no_status(repo, tmp_path):
    bare = add_remote(repo)
    assert len(run(GitLog, bare)["commits"]) == 1
    error = refuse(GitStatus, bare)
    assert (error.exit, "must be run in a work tree" in str(error)) == (65, True)


def test_a_submodule_is_one_entry(repo, tmp_path):
    need("sed")  # git submodule is a script
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(make_repository(tmp_path / "s")))
    files = run(GitStatus, repo)["status_data"]["files"]
    assert [(each["path"], each["staged"]) for each in files] == [(".gitmodules", "added"), ("s", "added")]
    assert Path(repo, "s").is_dir()
