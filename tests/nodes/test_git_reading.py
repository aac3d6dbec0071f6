"""git-status, git-log and git-diff: what they find in real repositories, and what they refuse."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pflow.errors import PflowError
from pflow.kit.git import program
from pflow.nodes.git_diff import GitDiff
from pflow.nodes.git_log import GitLog
from pflow.nodes.git_status import GitStatus
from tests.nodes.child import as_nobody
from tests.peers.repository import FIRST, WHEN, add_remote, git, make_repository, write
from tests.tools import need, only_root


def run(node, repo, *, params=None, **reads):
    made, shared = node(), {"repo": str(repo), **reads}
    made.set_params(params or {})
    made.run(shared)
    return {key: value for key, value in shared.items() if key not in ("repo", *reads)}


def refuse(node, repo, **more):
    with pytest.raises(PflowError) as caught:
        run(node, repo, **more)
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


def test_log_of_a_branch_without_commits_is_empty(repo, tmp_path):
    git(tmp_path, "init", "--quiet", "none")
    assert run(GitLog, tmp_path / "none")["commits"] == []
    assert refuse(GitLog, tmp_path / "none", revision="HEAD").exit == 66


DIFF = [
    (lambda repo: None, {}, "", []),
    (lambda repo: write(repo, a="one\n"), {}, "-two", [("a.txt", "modified", 0, 3)]),
    (stage_and_change, {"staged": True}, "+staged", [("a.txt", "modified", 1, 4)]),
    (stage_and_change, {}, "+changed", [("a.txt", "modified", 1, 1)]),
    (stage_and_change, {"revision": "HEAD", "paths": ["b.txt"]}, "", []),
    (lambda repo: (repo / "b.txt").write_bytes(b"\0"), {}, "Binary files a/b.txt and b/b.txt differ",
     [("b.txt", "modified", None, None)]),
    (lambda repo: (repo / "b.txt").write_bytes(b"\xfc\n"), {}, "+\ufffd", [("b.txt", "modified", 1, 1)]),
    (rename, {"staged": True}, "similarity index 100%", [("ü\n.txt", "a.txt", "renamed", 0, 0)]),
    (conflict, {}, "++<<<<<<< HEAD", [("b.txt", "conflicted", None, None)]),
    (lambda repo: (repo / "b.txt").write_bytes(b"\0"), {"stat": True}, "b.txt | modified, binary\n",
     [("b.txt", "modified", None, None)]),
    (stage_and_change, {"stat": True, "revision": "HEAD"}, "a.txt | modified, +1 -4\n",
     [("a.txt", "modified", 1, 4)]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "given", "part", "files"), DIFF)
def test_diff_has_the_patch_and_each_file(repo, change, given, part, files):
    change(repo)
    params = {name: value for name, value in given.items() if value is True}
    found = run(GitDiff, repo, params=params, **{name: value for name, value in given.items() if name not in params})
    assert part in found["diff"]
    assert bool(found["diff"]) == bool(files)
    flat = [tuple(value for key, value in each.items() if value or key in ("added", "deleted")) for each in
            found["changes"]]  # fmt: skip
    assert flat == files


def test_three_thousand_files_are_each_listed(repo):
    for n in range(3_000):
        (repo / f"{n}.txt").touch()
    assert len(run(GitStatus, repo)["status_data"]["files"]) == 3_000
    git(repo, "add", "--all")
    assert len(run(GitDiff, repo, params={"staged": True})["changes"]) == 3_000


def test_a_patch_that_is_too_large_is_refused(repo, monkeypatch):
    monkeypatch.setattr(program, "MOST", 5_000)
    write(repo, a="x" * 10_000)
    error = refuse(GitDiff, repo)
    assert (error.exit, "more than 5,000 bytes" in str(error)) == (73, True)


REFUSED = [
    (GitStatus, {"repo": "/"}, 66, "cannot show the status in '/': not a git repository"),
    (GitStatus, {"repo": "none"}, 66, "cannot change to 'none': No such file or directory"),
    (GitStatus, {"repo": ""}, 66, "the path is empty"),
    (GitStatus, {"repo": "a\0b"}, 65, "holds a NUL"),
    (GitLog, {"revision": "nope"}, 66, "bad revision 'nope'"),
    (GitLog, {"revision": "--all"}, 66, "bad revision '--all'"),
    (GitLog, {"revision": "\ud800"}, 65, "the text has a lone surrogate"),
    (GitLog, {"params": {"max": -1}}, 2, "cannot list -1 commits"),
    (GitDiff, {"revision": "--output=x"}, 66, "bad revision '--output=x'"),
    (GitDiff, {"revision": "main..nope"}, 66, "bad revision 'main..nope'"),
    (GitDiff, {"paths": ["../.."]}, 65, "outside repository"),
    (GitDiff, {"paths": ["/etc/passwd", "/etc/group"]}, 65, "outside repository"),
    (GitDiff, {"repo": "/"}, 66, "cannot show the differences in '/': not a git repository"),
    (GitDiff, {"repo": "/", "paths": ["etc/passwd", "etc/group"]}, 66, "not a git repository"),
]


@pytest.mark.parametrize(("node", "given", "exit", "words"), REFUSED)
def test_what_is_not_there_is_refused(repo, node, given, exit, words):
    error = refuse(node, **{"repo": repo, **given})
    assert (error.exit, words in str(error)) == (exit, True), error
    assert not (repo / "x").exists()


def test_without_git_it_says_so(repo, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    error = refuse(GitStatus, repo)
    assert (error.exit, error.hint) == (78, "install git")


def test_words_are_english_whatever_the_user_speaks(tmp_path, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    assert "not a git repository" in str(refuse(GitStatus, tmp_path))


@only_root
def test_another_s_repository_is_not_trusted_unasked(open_dir):
    make_repository(open_dir / "repo")
    run(GitStatus, open_dir / "repo")
    assert as_nobody(lambda: run(GitStatus, open_dir / "repo")) == 77


def test_reading_starts_no_program_of_the_settings_and_takes_no_lock(repo):
    """But for git diff, which writes down for itself which files it found to be the same."""
    program = repo / "program"
    program.write_text("#!/bin/sh\ntouch started\n")
    program.chmod(0o755)
    for setting in ("core.fsmonitor", "core.pager", "diff.external", "diff.x.textconv", "gpg.program"):
        git(repo, "config", setting, str(program))
    git(repo, "config", "log.showSignature", "true")
    (repo / ".gitattributes").write_text("*.txt diff=x\n")
    before = (repo / ".git" / "index").stat().st_mtime_ns
    os.utime(repo / "b.txt")
    write(repo, a="changed\n")
    for node in (GitStatus, GitLog):
        run(node, repo)
    assert (repo / ".git" / "index").stat().st_mtime_ns == before
    run(GitDiff, repo)
    assert not list(repo.rglob("started"))


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
