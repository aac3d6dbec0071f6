"""git-commit, git-checkout, git-push and git-tag: what they change in real repositories, and what they leave alone."""

from __future__ import annotations

import hashlib
import http.server
import os
import socket
import subprocess
import threading

import pytest

from pflow.errors import PflowError
from pflow.kit.git.program import fault
from pflow.nodes.git_checkout import GitCheckout
from pflow.nodes.git_commit import GitCommit
from pflow.nodes.git_push import GitPush
from pflow.nodes.git_tag import GitTag
from tests.peers.repository import FIRST, IDENTITY, add_hook, add_remote, git, write

KEY = hashlib.sha256(b"a visit").hexdigest()


def run(node, repo, *, key="", **given):
    """Run a node: its action, and what it wrote."""
    params = {name: given.pop(name) for name in ("all", "create", "set_upstream", "tags") if name in given}
    made, shared = node(), {"repo": str(repo), **given}
    made.set_params(params)
    if key:
        made.step_key = key
    action = made.run(shared) or "default"
    return action, {name: value for name, value in shared.items() if name not in ("repo", *given)}


def refuse(node, repo, **given):
    with pytest.raises(PflowError) as caught:
        run(node, repo, **given)
    return caught.value


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
    (lambda repo: write(repo, a="A\n", new=""), {}, "a.txt new.txt", [""]),
    (lambda repo: (repo / "a.txt").unlink(), {}, "a.txt", [""]),
    (change, {}, "b.txt", [" M a.txt", "?? new.txt"]),
    (change, {"all": True}, "a.txt b.txt new.txt", [""]),
    (change, {"paths": ["new.txt", "a.txt"]}, "a.txt new.txt", ["M  b.txt"]),
    (lambda repo: write(repo, **{"*": "", "c": ""}), {"paths": ["*.txt"]}, "*.txt", ["?? c.txt"]),
    (lambda repo: write(repo, **{"-f": ""}), {"paths": ["-f.txt"]}, "-f.txt", [""]),
    (lambda repo: (repo / os.fsdecode(b"\xff")).write_text(""), {"paths": [b"\xff"]}, '"\\377"', [""]),
]


@pytest.mark.parametrize(("prepare", "given", "files", "left"), COMMITS)
def test_a_commit_takes_what_is_staged_else_everything(repo, prepare, given, files, left):
    prepare(repo)
    action, wrote = run(GitCommit, repo, message="Größe\n\nWhy\n", **given)
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
    action, wrote = run(GitCommit, repo, message="Go on", **given)
    assert (action, wrote["commit"], subjects(repo)) == ("unchanged", git(repo, "rev-parse", "HEAD"), [FIRST])
    assert status(repo) == before


def test_the_first_commit_of_all(repo, tmp_path):
    git(tmp_path, "init", "--quiet", "none")
    none = tmp_path / "none"
    assert run(GitCommit, none, message="x") == ("unchanged", {})
    write(none, a="")
    assert run(GitCommit, none, message="x", key=KEY)[0] == "default"
    assert subjects(none) == ["x"]


@pytest.mark.parametrize("message", ["-a", "--amend", "# no comment", '"$HOME" `id`', "a\r\nb", "é" * 100_000])
def test_a_message_is_taken_as_it_is(repo, message):
    write(repo, a="A\n")
    run(GitCommit, repo, message=message)
    assert git(repo, "log", "-1", "--format=%B").rstrip("\n") == message.replace("\r\n", "\n")


REFUSED = [
    ({"message": " \n"}, 66, "the message is empty"),
    ({"message": "a\0b"}, 65, "the message holds a NUL"),
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
    before = status(repo)
    error = refuse(GitCommit, repo, message="x", **given)
    assert (error.exit, str(error)) == (1, f"cannot commit in '{repo}': no é here")
    assert (status(repo), capfd.readouterr().err) == (before, "no é here\n")


def test_hooks_run_and_may_change_the_message(repo):
    add_hook(repo, "commit-msg", 'echo "Checked: yes" >> "$1"')
    write(repo, a="A\n")
    _, wrote = run(GitCommit, repo, message="x")
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
    write(repo, a="ours\n")  # resolved: a merge that changes nothing is one
    git(repo, "add", "a.txt")
    assert run(GitCommit, repo, message="z")[0] == "default"
    assert git(repo, "rev-list", "--count", "--merges", "HEAD") == "1"


def test_a_locked_index_is_for_another_try(repo):
    write(repo, a="A\n")
    (repo / ".git" / "index.lock").touch()
    error = refuse(GitCommit, repo, message="x")
    assert (error.exit, error.is_permanent, "where none runs" in error.hint) == (75, False, True)


def test_a_commit_that_fails_says_why_also_where_nothing_can_be_unstaged(repo):
    add_hook(repo, "pre-commit", "echo no >&2; : >.git/index.lock; exit 1")
    write(repo, a="A\n")
    assert str(refuse(GitCommit, repo, message="x")).endswith(": no")


def test_what_fails_after_the_commit_takes_nothing_back(repo):
    add_hook(repo, "post-commit", "kill -TERM $PPID")
    write(repo, a="A\n", new="")
    assert refuse(GitCommit, repo, message="x", key=KEY).exit == 143
    assert (subjects(repo), status(repo)) == (["x", FIRST], [""])
    assert run(GitCommit, repo, message="x", key=KEY)[0] == "default"
    assert subjects(repo) == ["x", FIRST]


def test_a_visit_commits_once(repo):
    """What a run does that is resumed: the same once more, whatever has changed since."""
    write(repo, a="A\n")
    git(repo, "config", "core.logAllRefUpdates", "false")
    first = run(GitCommit, repo, message="x", key=KEY)
    write(repo, a="changed since\n")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=another's")
    assert run(GitCommit, repo, message="x", key=KEY) == first
    assert subjects(repo) == ["another's", "x", FIRST]
    assert "pflow" not in git(repo, "log", "--format=%B%an%cn")


def test_another_visit_message_or_stage_commits_again(repo, monkeypatch):
    monkeypatch.setenv("PFLOW_STEP_KEY", KEY)  # a stage in a shell step: one of many
    for n, (message, key) in enumerate([("x", KEY), ("x", KEY[::-1]), ("y", KEY), ("x", ""), ("x", "")]):
        write(repo, a=str(n))
        assert run(GitCommit, repo, message=message, key=key)[0] == "default"
    assert subjects(repo) == ["x", "x", "y", "x", "x", FIRST]


def test_what_a_hook_does_to_head_is_no_commit_of_ours(repo):
    """What it starts has our words for the reflog in its environment."""
    add_hook(repo, "pre-commit", "git reset --quiet --hard HEAD; exit 1")
    write(repo, a="A\n")
    refuse(GitCommit, repo, message="x", key=KEY)
    assert "pflow-" in git(repo, "reflog", "-1")
    add_hook(repo, "pre-commit", "exit 0")
    write(repo, a="A\n")
    run(GitCommit, repo, message="x", key=KEY)
    assert subjects(repo) == ["x", FIRST]


def test_a_hook_may_amend_the_commit(repo):
    amend = '[ -z "$AMENDED" ] || exit 0; export AMENDED=1; unset GIT_INDEX_FILE; git commit --amend -q -m changed'
    add_hook(repo, "post-commit", amend)
    write(repo, a="A\n")
    first = run(GitCommit, repo, message="x", key=KEY)
    assert run(GitCommit, repo, message="x", key=KEY) == first
    assert (first[1]["commit_data"]["subject"], subjects(repo)) == ("changed", ["changed", FIRST])


def test_a_commit_that_was_taken_back_is_made_again(repo):
    write(repo, a="A\n")
    run(GitCommit, repo, message="x", key=KEY)
    git(repo, "reset", "--quiet", "HEAD~1")
    assert run(GitCommit, repo, message="x", key=KEY)[0] == "default"
    assert subjects(repo) == ["x", FIRST]


def branch(repo):
    return git(repo, "rev-parse", "--abbrev-ref", "HEAD")


CHECKOUTS = [
    ({"branch": "other"}, "other"),
    ({"branch": "main"}, "main"),
    ({"branch": "main", "create": True}, "main"),
    ({"branch": "new", "create": True}, "new"),
    ({"branch": "feature/é", "create": True}, "feature/é"),
    ({"branch": "v1"}, "HEAD"),
    ({"branch": "far"}, "far"),
]


@pytest.mark.parametrize(("given", "there"), CHECKOUTS)
def test_checkout_goes_to_a_branch_and_may_be_asked_again(repo, given, there):
    add_remote(repo)
    git(repo, "branch", "other")
    git(repo, "tag", "v1")
    git(repo, "push", "--quiet", "origin", "main:far")
    write(repo, a="A\n")
    for _ in range(2):
        assert run(GitCheckout, repo, **given) == ("default", {})
        assert (branch(repo), status(repo)) == (there, [" M a.txt"])


NO_CHECKOUT = [
    ("none", {}, 66, "invalid reference: none"),
    ("a b", {"create": True}, 65, "'a b' is not a valid branch name"),
    ("-f", {}, 65, "no name begins with -"),
    ("", {}, 66, "the name is empty"),
    ("a.txt", {}, 66, "invalid reference"),
]


@pytest.mark.parametrize(("name", "given", "exit", "words"), NO_CHECKOUT)
def test_checkout_refuses_what_is_no_branch(repo, name, given, exit, words):
    write(repo, a="A\n")
    error = refuse(GitCheckout, repo, branch=name, **given)
    assert (error.exit, words in str(error), branch(repo), status(repo)) == (exit, True, "main", [" M a.txt"])


def test_checkout_never_loses_a_change(repo):
    git(repo, "checkout", "--quiet", "-b", "other")
    write(repo, a="other\n")
    git(repo, "commit", "--quiet", "--all", "--message=x")
    git(repo, "checkout", "--quiet", "main")
    write(repo, a="mine\n")
    error = refuse(GitCheckout, repo, branch="other")
    assert (error.exit, "overwritten by checkout: / a.txt" in str(error)) == (1, True)
    assert ((repo / "a.txt").read_text(), error.hint) == ("mine\n", "commit or stash them first")


def at(repo, ref):
    return subprocess.run(
        ["git", "-C", repo, "rev-parse", "--verify", "-q", ref], capture_output=True, text=True, check=False
    ).stdout.strip()


def test_push_brings_a_branch_to_where_it_belongs(repo):
    remote = add_remote(repo)
    git(repo, "commit", "--quiet", "--allow-empty", "--message=x")
    head = git(repo, "rev-parse", "HEAD")
    for _ in range(2):
        assert run(GitPush, repo) == ("default", {})
        assert at(remote, "main") == head
    git(repo, "branch", "--quiet", "--move", "mine")  # its upstream is still called main
    git(repo, "commit", "--quiet", "--allow-empty", "--message=y")
    run(GitPush, repo)
    assert (at(remote, "main"), at(remote, "mine")) == (git(repo, "rev-parse", "HEAD"), "")


def test_push_of_a_new_branch_wants_to_be_told_where(repo):
    remote = add_remote(repo)
    git(repo, "checkout", "--quiet", "-b", "new")
    error = refuse(GitPush, repo)
    assert (error.exit, "has no upstream" in str(error), "--set-upstream" in error.hint) == (78, True, True)
    run(GitPush, repo, set_upstream=True)
    assert at(remote, "new")
    assert git(repo, "rev-parse", "--abbrev-ref", "@{upstream}") == "origin/new"
    git(repo, "checkout", "--quiet", "-b", "other")
    run(GitPush, repo, remote="origin")
    git(repo, "tag", "v1")
    git(repo, "tag", "v2")
    run(GitPush, repo, branch="v1")
    assert (bool(at(remote, "other")), bool(at(remote, "v1")), at(remote, "v2")) == (True, True, "")
    run(GitPush, repo, branch="new", tags=True)
    assert at(remote, "v2")


def rewind(repo):
    git(repo, "commit", "--quiet", "--allow-empty", "--message=x")
    git(repo, "push", "--quiet")
    git(repo, "reset", "--quiet", "--hard", "HEAD~1")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=y")


def decline(repo):
    hook = repo.with_name("repo-origin.git") / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'main is protected'; exit 1\n")
    hook.chmod(0o755)
    git(repo, "commit", "--quiet", "--allow-empty", "--message=x")


NO_PUSH = [
    (rewind, {}, 1, "'origin' did not take 'main': [rejected] (non-fast-forward)"),
    (decline, {}, 77, "'origin' did not take 'main': [remote rejected] (pre-receive hook declined)"),
    (lambda repo: git(repo, "checkout", "--quiet", "--detach"), {}, 66, "HEAD is on no branch"),
    (lambda repo: None, {"branch": "none"}, 66, "there is no branch or tag 'none'"),
    (lambda repo: None, {"branch": ":main"}, 66, "there is no branch or tag ':main'"),
    (lambda repo: None, {"branch": "--force"}, 66, "there is no branch or tag '--force'"),
    (lambda repo: None, {"branch": "+main"}, 66, "there is no branch or tag '+main'"),
    (lambda repo: None, {"remote": "none"}, 66, "there is no remote 'none'"),
    (lambda repo: None, {"remote": "../repo"}, 66, "there is no remote '../repo'"),
    (lambda repo: git(repo, "remote", "set-url", "origin", "/gone"), {}, 66, "does not appear to be a git repository"),
    (lambda repo: add_hook(repo, "pre-push", "echo no >&2; exit 1"), {}, 1, ": no"),
]


@pytest.mark.parametrize(("prepare", "given", "exit", "words"), NO_PUSH)
def test_push_forces_nothing_and_says_what_was_refused(repo, prepare, given, exit, words):
    remote = add_remote(repo)
    prepare(repo)
    before = at(remote, "main")
    error = refuse(GitPush, repo, **given)
    assert (error.exit, words in str(error), at(remote, "main")) == (exit, True, before), error


class _Refuses(http.server.BaseHTTPRequestHandler):
    """Answers each request with the status that its path begins with."""

    def do_GET(self):
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("WWW-Authenticate", 'Basic realm="here"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *message):
        pass


@pytest.fixture
def refusing(monkeypatch):
    """The address of a server that refuses, with a login in it."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refuses) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://ada:s3cret@127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(("code", "exit"), [(401, 77), (403, 77), (404, 66), (429, 75), (503, 75), (0, 69)])
def test_a_push_that_a_server_refuses_asks_nobody_and_tells_no_password(repo, refusing, capfd, code, exit):
    add_remote(repo)
    if code == 0:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            refusing = f"http://ada:s3cret@127.0.0.1:{closed.getsockname()[1]}"
    git(repo, "remote", "set-url", "origin", f"{refusing}/{code}/x.git")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=x")
    error = refuse(GitPush, repo)
    assert error.exit == exit, error
    assert "s3cret" not in str(error) + error.hint + capfd.readouterr().err


SAID = [
    ("error: sha1 file 'x' write error. Out of diskspace", 73, "sha1 file 'x' write error. Out of diskspace"),
    ("git@host: Permission denied (publickey).\nfatal: Could not read from remote repository.\n\nPlease make sure", 77,
     "Could not read from remote repository"),
    ("ssh: Could not resolve hostname x\nfatal: Could not read from remote repository.", 69,
     "Could not read from remote repository"),
    ("fatal: unable to access 'https://ada:s3cret@x/y@z/': gone", 69, "unable to access 'https://x/y@z/': gone"),
    ("remote: no\nhook said\nno", 1, "remote: no / hook said / no"),
    ("", 1, "git ended with 128"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "exit", "reason"), SAID)
def test_what_git_says_becomes_a_code_and_a_reason(said, exit, reason):
    error = fault("cannot push", 128, said)
    assert (error.exit, error.message) == (exit, f"cannot push: {reason}")


@pytest.mark.parametrize(
    ("given", "kind"), [({}, "commit"), ({"message": "-m\nThe first\n"}, "tag"), ({"at": "main~0"}, "commit")]
)
def test_a_tag_is_made_once_and_never_moved(repo, given, kind):
    for _ in range(2):
        assert run(GitTag, repo, name="v1", **given) == ("default", {})
    assert git(repo, "cat-file", "-t", "v1") == kind
    assert at(repo, "v1^{commit}") == at(repo, "HEAD")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=x")
    error = refuse(GitTag, repo, name="v1", **{**given, "at": "HEAD"})
    assert (error.exit, "it is there already, at " in str(error)) == (73, True)


NO_TAG = [
    ({"name": "-d"}, 65, "'-d' is not a valid tag name"),
    ({"name": "a b"}, 65, "'a b' is not a valid tag name"),
    ({"name": ""}, 65, "'' is not a valid tag name"),
    ({"name": "v1", "at": "none"}, 66, "there is no commit 'none'"),
    ({"name": "v1", "at": "--all"}, 66, "there is no commit '--all'"),
    ({"name": "v1", "message": ""}, 66, "the message is empty"),
]


@pytest.mark.parametrize(("given", "exit", "words"), NO_TAG)
def test_a_tag_that_cannot_be_is_refused(repo, given, exit, words):
    error = refuse(GitTag, repo, **given)
    assert (error.exit, words in str(error), git(repo, "tag")) == (exit, True, ""), error
