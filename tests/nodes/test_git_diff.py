"""git-diff: what has changed in real repositories, and what it refuses; reading starts no program."""

from __future__ import annotations

import os

import pytest

from pflow.kit.git import program
from pflow.nodes.git_diff import GitDiff
from pflow.nodes.git_log import GitLog
from pflow.nodes.git_status import GitStatus
from tests.nodes.git import conflict, refuse, rename, run, stage_and_change
from tests.peers.repository import add_hook, git, write

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
    ({"revision": "--output=x"}, 66, "bad revision '--output=x'"),
    ({"revision": "main..nope"}, 66, "bad revision 'main..nope'"),
    ({"paths": ["../.."]}, 65, "outside repository"),
    ({"paths": ["/etc/passwd", "/etc/group"]}, 65, "outside repository"),
    ({"repo": "/"}, 66, "cannot show the differences in '/': not a git repository"),
    ({"repo": "/", "paths": ["etc/passwd", "etc/group"]}, 66, "not a git repository"),
]


@pytest.mark.parametrize(("given", "exit", "words"), REFUSED)
def test_what_is_not_there_is_refused(repo, given, exit, words):
    error = refuse(GitDiff, **{"repo": repo, **given})
    assert (error.exit, words in str(error)) == (exit, True), error
    assert not (repo / "x").exists()


def test_reading_starts_no_program_of_the_settings_and_takes_no_lock(repo):
    """But for git diff, which writes down for itself which files it found to be the same."""
    program = repo / "program"
    program.write_text("#!/bin/sh\ntouch started\n")
    program.chmod(0o755)
    for setting in ("core.fsmonitor", "core.pager", "diff.external", "diff.x.textconv", "gpg.program"):
        git(repo, "config", setting, str(program))
    git(repo, "config", "log.showSignature", "true")
    add_hook(repo, "post-index-change", "touch started")
    (repo / ".gitattributes").write_text("*.txt diff=x\n")
    before = (repo / ".git" / "index").stat().st_mtime_ns
    os.utime(repo / "b.txt")
    write(repo, a="changed\n")
    for node in (GitStatus, GitLog):
        run(node, repo)
    assert (repo / ".git" / "index").stat().st_mtime_ns == before
    run(GitDiff, repo)
    assert not list(repo.rglob("started"))
