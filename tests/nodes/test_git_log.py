"""git-log: which commits it lists, in which repository, and what it refuses."""

from __future__ import annotations

from datetime import datetime

import pytest

from pflow.nodes.git_log import GitLog
from tests.nodes.git import commit, refuse, run
from tests.peers.repository import FIRST, WHEN, add_remote, git, make_repository, write


def test_log_lists_commits_the_newest_first(repo):
    write(repo, b="B\n")
    commit(repo, "Größe\n\n- a list\n- of two\n\nSigned-off-by: Ada\n")
    commits = run(GitLog, repo)["commits"]
    assert [each["subject"] for each in commits] == ["Größe", FIRST]
    assert commits[0] == {
        "hash": git(repo, "rev-parse", "HEAD"),
        "author": "Ada <ada@example.org>",
        "date": WHEN,
        "subject": "Größe",
        "body": "- a list\n- of two\n\nSigned-off-by: Ada",
    }


LOG = [
    ({"params": {"max": 1}}, ["Go on"]),
    ({"params": {"max": 0}}, []),
    ({"params": {"since": "2030-01-01"}}, []),
    ({"params": {"since": "1960-01-01"}}, ["Go on", FIRST]),
    ({"revision": "HEAD~1"}, [FIRST]),
    ({"revision": "v1..HEAD"}, ["Go on"]),
    ({"paths": ["a.txt"]}, [FIRST]),
    ({"paths": ["*"]}, []),
    ({"paths": ["gone.txt", b"b.txt"]}, ["Go on", FIRST]),
]


@pytest.mark.parametrize(("given", "subjects"), LOG)
def test_log_takes_a_range_paths_and_limits(repo, given, subjects):
    git(repo, "tag", "v1")
    write(repo, b="B\n")
    commit(repo)
    assert [each["subject"] for each in run(GitLog, repo, **given)["commits"]] == subjects


def test_an_old_clock_hides_no_newer_commit(repo):
    days = [WHEN[:10], "2001-03-01", *["1999-01-01"] * 12]
    form = "commit refs/heads/main\ncommitter Ada <a@b> {:%s} +0000\ndata 2\n{:2}\n"
    commits = (form.format(datetime.fromisoformat(day), at) for at, day in enumerate(days))
    git(repo, "fast-import", "--quiet", "--force", input="".join(commits))
    found = run(GitLog, repo, params={"since": "2001-02-10"})["commits"]
    assert [each["subject"] for each in found] == [" 1"]


def test_log_of_a_branch_without_commits_is_empty(repo, tmp_path):
    git(tmp_path, "init", "--quiet", "none")
    assert run(GitLog, tmp_path / "none")["commits"] == []
    assert refuse(GitLog, tmp_path / "none", revision="HEAD").exit == 66


REFUSED = [
    ({"revision": "nope"}, 66, "bad revision 'nope'"),
    ({"revision": "--all"}, 66, "bad revision '--all'"),
    ({"revision": "\ud800"}, 65, "the text has a lone surrogate"),
    ({"params": {"max": -1}}, 2, "--max=-1: it must be 0 or more"),
    ({"params": {"since": "last munth"}}, 2, "cannot use --since='last munth': it is not a day or a time"),
]


@pytest.mark.parametrize(("given", "exit", "words"), REFUSED)
def test_what_is_not_there_is_refused(repo, given, exit, words):
    error = refuse(GitLog, **{"repo": repo, **given})
    assert (error.exit, words in str(error)) == (exit, True), error
    assert not (repo / "x").exists()


def test_the_repository_of_a_hook_counts_unless_another_is_named(repo, tmp_path, monkeypatch):
    other = make_repository(tmp_path / "other")
    monkeypatch.chdir(other)
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))
    (head,) = run(GitLog, ".")["commits"]
    assert head["hash"] == git(repo, "rev-parse", "HEAD")
    (head,) = run(GitLog, other)["commits"]
    monkeypatch.delenv("GIT_DIR")
    assert head["hash"] == git(other, "rev-parse", "HEAD") != git(repo, "rev-parse", "HEAD")


def test_a_root_bounds_the_search_for_a_repository(repo, monkeypatch):
    below = repo / "below"
    below.mkdir()
    assert run(GitLog, below)["commits"]
    monkeypatch.setenv("PFLOW_ROOT", str(below))
    assert refuse(GitLog, below).exit == 66
    monkeypatch.setenv("PFLOW_ROOT", str(repo))
    assert run(GitLog, below)["commits"]
    bare = add_remote(repo)  # what only looks like a repository may have been written by anybody
    monkeypatch.setenv("PFLOW_ROOT", str(bare.parent))
    assert refuse(GitLog, bare).exit == 77
