"""git-commit: what it commits in real repositories, once a visit, and what it leaves alone."""

from __future__ import annotations

import hashlib
import os
import subprocess

import pytest

from pflow.nodes.git_commit import GitCommit
from pflow.nodes.git_tag import GitTag
from tests.nodes.git import act, refuse
from tests.peers.repository import FIRST, IDENTITY, add_hook, git, write

KEY = hashlib.sha256(b"a visit").hexdigest()


def subjects(repo, revision="HEAD"):
    return git(repo, "log", "--format=%s", revision).split("\n")


def committed(repo):
    """The files of the last commit, in a line."""
    return git(repo, "show", "--format=", "--name-only", "HEAD").replace("\n", " ")


def change(repo):
    """Stage b.txt, change a.txt and make new.txt."""
    write(repo, a="A\n", b="B\n", new="")
    git(repo, "add", "b.txt")


def status(repo):
    return git(repo, "status", "--short").split("\n")


COMMITS = [
    (lambda repo: write(repo, a="A\n", new=""), {}, "a.txt", ["?? new.txt"]),
    (lambda repo: write(repo, a="A\n", new=""), {"all": True}, "a.txt new.txt", [""]),
    (lambda repo: (repo / "a.txt").unlink(), {}, "a.txt", [""]),
    (change, {}, "b.txt", [" M a.txt", "?? new.txt"]),
    (change, {"all": True}, "a.txt b.txt new.txt", [""]),
    (change, {"paths": ["new.txt", "a.txt"]}, "a.txt new.txt", ["M  b.txt"]),
    (lambda repo: write(repo, **{"*": "", "c": ""}), {"paths": ["*.txt"]}, "*.txt", ["?? c.txt"]),
    (lambda repo: write(repo, **{"-f": ""}), {"paths": ["-f.txt"]}, "-f.txt", [""]),
    (lambda repo: (repo / os.fsdecode(b"\xff")).write_text(""), {"paths": [b"\xff"]}, '"\\377"', [""]),
]


@pytest.mark.parametrize(("prepare", "given", "files", "left"), COMMITS)
def test_a_commit_takes_what_is_staged_else_the_tracked_changes(repo, prepare, given, files, left):
    prepare(repo)
    action, wrote = act(GitCommit, repo, message="Größe\n\nWhy\n", **given)
    assert (action, committed(repo), status(repo)) == ("default", files, left)
    assert wrote["commit"] == git(repo, "rev-parse", "HEAD") == wrote["commit_data"]["hash"]
    assert (wrote["commit_data"]["subject"], wrote["commit_data"]["body"]) == ("Größe", "Why")


@pytest.mark.parametrize(
    ("prepare", "given"),
    [
        (lambda repo: None, {}),
        (change, {"paths": []}),
        (lambda repo: os.utime(repo / "a.txt"), {"all": True}),
    ],
)
def test_nothing_to_commit_is_an_action(repo, prepare, given):
    prepare(repo)
    before = status(repo)
    action, wrote = act(GitCommit, repo, message="Go on", **given)
    assert (action, wrote["commit"], subjects(repo)) == ("unchanged", git(repo, "rev-parse", "HEAD"), [FIRST])
    assert status(repo) == before


def test_untracked_files_stay_and_are_named(repo, capfd):
    (repo / "sub").mkdir()
    write(repo, **{".env": "KEY", "new": ""})
    before = status(repo)
    assert act(GitCommit, repo / "sub", message="x")[0] == "unchanged"
    named = "not committed: '.env.txt' and 'new.txt': untracked; --all or --paths commits them"
    assert capfd.readouterr().err == f"git-commit: {named}\n"
    write(repo, a="A\n")
    act(GitCommit, repo / "sub", message="x")
    assert (committed(repo), status(repo)) == ("a.txt", before)


def test_the_first_commit_of_all(repo, tmp_path):
    git(tmp_path, "init", "--quiet", "none")
    none = tmp_path / "none"
    assert act(GitCommit, none, message="x") == ("unchanged", {})
    write(none, a="")
    assert act(GitCommit, none, message="x", key=KEY, all=True)[0] == "default"
    assert subjects(none) == ["x"]


@pytest.mark.parametrize("message", ["-a", "--amend", "# no comment", '"$HOME" `id`', "a\r\nb", "é" * 100_000])
def test_a_message_is_taken_as_it_is(repo, message):
    write(repo, a="A\n")
    act(GitCommit, repo, message=message)
    assert git(repo, "log", "-1", "--format=%B").rstrip("\n") == message.replace("\r\n", "\n")


def test_hooks_and_filters_inherit_no_pathspecs(repo, monkeypatch):
    """Where paths are literal, a hook finds no '*.txt' to refuse."""
    check = "! env | grep -e ^GIT.*PATHSPECS -e ignoreSub >&2"
    add_hook(repo, "pre-commit", check)
    for name, value in {"clean": f"{check} && cat", "required": "1"}.items():
        git(repo, "config", f"filter.f.{name}", value)
    git(repo, "config", "diff.ignoreSubmodules", "all")
    for kind in ("LITERAL", "GLOB", "NOGLOB", "ICASE"):
        monkeypatch.setenv(f"GIT_{kind}_PATHSPECS", "1")
    (repo / ".gitattributes").write_text("*.txt filter=f")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{git(repo, 'rev-parse', 'HEAD')},m")
    for given in ({}, {"all": True}):  # at first, only a submodule is staged
        write(repo, a=f"{given}\n")
        assert act(GitCommit, repo, message="x", **given)[0] == "default"


REFUSED = [
    ({"paths": [""]}, 65, "empty string is not a valid pathspec"),
    ({"message": " \n"}, 66, "the message is empty"),
    ({"message": "a\0b"}, 65, "the message contains NUL"),
    ({"message": "\ud800"}, 65, "the text has a lone surrogate"),
    ({"paths": ["none.txt"]}, 66, "pathspec 'none.txt' did not match any files"),
    ({"paths": ["../x"]}, 65, "is outside repository"),
    ({"repo": "/"}, 66, "not a git repository"),
]


@pytest.mark.parametrize(("given", "exit", "words"), REFUSED)
def test_what_cannot_be_committed_is_refused(repo, given, exit, words):
    change(repo)
    before = status(repo)
    error = refuse(GitCommit, **{"repo": repo, "message": "x", **given})
    assert (error.exit, words in str(error)) == (exit, True), error
    assert (status(repo), subjects(repo)) == (before, [FIRST])


def test_nobody_s_commit_says_how_to_be_somebody(repo, monkeypatch):
    for name in list(IDENTITY)[2:]:
        monkeypatch.delenv(name)
    git(repo, "config", "user.useConfigOnly", "true")
    write(repo, a="A\n", new="")
    error = refuse(GitCommit, repo, message="x")
    assert (error.exit, error.hint.count("git config --global user.")) == (78, 2)
    assert status(repo) == [" M a.txt", "?? new.txt"]
    assert refuse(GitTag, repo, name="v1", message="x").exit == 78


@pytest.mark.parametrize("given", [{}, {"all": True}, {"paths": ["new.txt"]}])
def test_a_hook_that_says_no_leaves_what_is_staged_as_it_was(repo, given, capfd):
    add_hook(repo, "pre-commit", "echo 'no é here' >&2; exit 3")
    change(repo)
    if not given:
        git(repo, "reset", "--quiet", "b.txt")
    write(repo, intended="", gone="")
    git(repo, "add", "--intent-to-add", "intended.txt", "gone.txt")
    (repo / "gone.txt").unlink()
    before = status(repo)
    error = refuse(GitCommit, repo, message="x", **given)
    assert (error.exit, str(error)) == (1, f"cannot commit in '{repo}': no é here")
    assert (status(repo), capfd.readouterr().err.split("commits them\n")[-1]) == (before, "no é here\n")


def test_hooks_run_and_may_change_the_message(repo):
    add_hook(repo, "commit-msg", 'echo "Checked: yes" >> "$1"')
    write(repo, a="A\n")
    _, wrote = act(GitCommit, repo, message="x")
    assert git(repo, "log", "-1", "--format=%B").strip() == "x\nChecked: yes"
    assert wrote["commit_data"]["subject"] == "x Checked: yes"


def test_a_conflict_is_never_committed(repo):
    git(repo, "checkout", "--quiet", "-b", "other")
    write(repo, a="theirs\n")
    git(repo, "commit", "--quiet", "--all", "--message=x")
    git(repo, "checkout", "--quiet", "main")
    write(repo, a="ours\n")
    git(repo, "commit", "--quiet", "--all", "--message=y")
    subprocess.run(["git", "-C", repo, "merge", "other"], capture_output=True, check=False)
    error = refuse(GitCommit, repo, message="z", all=True)
    assert (error.exit, "'a.txt' has conflicts" in str(error)) == (65, True)
    (repo / "sub").mkdir()
    assert "'a.txt' has conflicts" in str(refuse(GitCommit, repo / "sub", message="z"))
    write(repo, a="ours\n")  # resolved: a merge that changes nothing is one
    git(repo, "add", "a.txt")
    assert act(GitCommit, repo, message="z")[0] == "default"
    assert git(repo, "rev-list", "--count", "--merges", "HEAD") == "1"


def test_a_locked_index_is_for_another_try(repo):
    write(repo, a="A\n")
    (repo / ".git" / "index.lock").touch()
    files = [(repo / ".git" / name).stat().st_ino for name in ("index", "index.lock")]
    error = refuse(GitCommit, repo, message="x")
    assert (error.exit, error.is_permanent, "if none runs" in error.hint) == (75, False, True)
    assert [(repo / ".git" / name).stat().st_ino for name in ("index", "index.lock")] == files


def test_a_commit_that_fails_says_why_also_where_nothing_can_be_unstaged(repo):
    add_hook(repo, "pre-commit", "echo no >&2; rm .git/index; mkdir .git/index; exit 1")
    write(repo, a="A\n")
    assert str(refuse(GitCommit, repo, message="x")).endswith(": no")


def test_what_fails_after_the_commit_takes_nothing_back(repo):
    add_hook(repo, "post-commit", "kill -TERM $PPID")
    write(repo, a="A\n", b="")
    assert refuse(GitCommit, repo, message="x", key=KEY).exit == 143
    assert (subjects(repo), status(repo)) == (["x", FIRST], [""])
    assert act(GitCommit, repo, message="x", key=KEY)[0] == "default"
    assert subjects(repo) == ["x", FIRST]


def test_a_visit_commits_once(repo):
    """What a run does that is resumed: the same once more, whatever has changed since."""
    write(repo, a="A\n")
    git(repo, "config", "core.logAllRefUpdates", "false")
    first = act(GitCommit, repo, message="x", key=KEY)
    write(repo, a="changed since\n")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=another's")
    assert act(GitCommit, repo, message="x", key=KEY) == first
    assert subjects(repo) == ["another's", "x", FIRST]
    assert "pflow" not in git(repo, "log", "--format=%B%an%cn")


def test_another_visit_message_or_stage_commits_again(repo, monkeypatch):
    monkeypatch.setenv("PFLOW_STEP_KEY", KEY)  # a stage in a shell step: one of many
    for n, (message, key) in enumerate([("x", KEY), ("x", KEY[::-1]), ("y", KEY), ("x", ""), ("x", "")]):
        write(repo, a=str(n))
        assert act(GitCommit, repo, message=message, key=key)[0] == "default"
    assert subjects(repo) == ["x", "x", "y", "x", "x", FIRST]


def test_what_a_hook_does_to_head_is_no_commit_of_ours(repo):
    """What it starts has our words for the reflog in its environment."""
    add_hook(repo, "pre-commit", "git reset --quiet --hard HEAD; exit 1")
    write(repo, a="A\n")
    refuse(GitCommit, repo, message="x", key=KEY)
    assert "pflow-" in git(repo, "reflog", "-1")
    add_hook(repo, "pre-commit", "exit 0")
    write(repo, a="A\n")
    act(GitCommit, repo, message="x", key=KEY)
    assert subjects(repo) == ["x", FIRST]


def test_a_hook_may_amend_the_commit(repo):
    amend = '[ -z "$AMENDED" ] || exit 0; export AMENDED=1; unset GIT_INDEX_FILE; git commit --amend -q -m changed'
    add_hook(repo, "post-commit", amend)
    write(repo, a="A\n")
    first = act(GitCommit, repo, message="x", key=KEY)
    assert act(GitCommit, repo, message="x", key=KEY) == first
    assert (first[1]["commit_data"]["subject"], subjects(repo)) == ("changed", ["changed", FIRST])


def test_a_commit_that_was_taken_back_is_made_again(repo):
    write(repo, a="A\n")
    act(GitCommit, repo, message="x", key=KEY)
    git(repo, "reset", "--quiet", "HEAD~1")
    assert act(GitCommit, repo, message="x", key=KEY)[0] == "default"
    assert subjects(repo) == ["x", FIRST]
