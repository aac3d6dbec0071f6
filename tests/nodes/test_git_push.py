"""git-push: what it brings where, and what it never does."""

from __future__ import annotations

import http.server
import socket
import subprocess
import threading

import pytest

from pflow.nodes.git_push import GitPush
from tests.nodes.git import act, refuse
from tests.peers.repository import add_hook, add_remote, git


def at(repo, ref):
    return subprocess.run(
        ["git", "-C", repo, "rev-parse", "--verify", "-q", ref], capture_output=True, text=True, check=False
    ).stdout.strip()


def test_push_brings_a_branch_to_where_it_belongs(repo):
    remote = add_remote(repo)
    git(repo, "commit", "--quiet", "--allow-empty", "--message=x")
    head = git(repo, "rev-parse", "HEAD")
    for _ in range(2):
        assert act(GitPush, repo) == ("default", {})
        assert at(remote, "main") == head


def test_a_branch_keeps_its_name_on_the_remote_unless_another_is_named(repo):
    """A topic branch that was made from the remote's main has that as its upstream."""
    remote = add_remote(repo)
    git(repo, "checkout", "--quiet", "-b", "topic", "origin/main")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=x")
    error = refuse(GitPush, repo)
    assert (error.exit, str(error)) == (78, f"cannot push in '{repo}': the upstream of 'topic' is 'main'")
    ours, theirs = at(repo, "topic"), at(repo, "main")
    for given, name in [({"remote": "origin"}, "topic"), ({"branch": "topic", "to": "o"}, "o"),
                        ({"set_upstream": True}, "topic"), ({}, "topic"), ({"to": "main"}, "main")]:  # fmt: skip
        act(GitPush, repo, **given)
        refs = git(remote, "for-each-ref", "--format=%(refname:short) %(objectname)").split("\n")
        assert refs == sorted(f"{each} {at}" for each, at in {"main": theirs, name: ours}.items())
        git(remote, "update-ref", "-d", f"refs/heads/{name}")


def test_the_remote_for_pushes_may_be_another_than_the_upstream_s(repo):
    remote = add_remote(repo)
    git(repo, "checkout", "--quiet", "-b", "topic", "--track", "main")
    git(repo, "config", "remote.pushDefault", "origin")
    act(GitPush, repo)
    assert at(remote, "topic") == at(repo, "topic")


@pytest.mark.parametrize("url", [True, False])
def test_the_upstream_of_a_branch_may_be_one_that_is_never_fetched(repo, url):
    """`gh pr checkout` leaves a URL or refs/pull/1/head, and a clone of one branch fetches no other."""
    remote = add_remote(repo)
    git(repo, "config", "remote.origin.fetch", "+refs/heads/none:refs/remotes/origin/none")
    git(repo, "checkout", "--quiet", "-b", "topic")
    git(repo, "config", "branch.topic.remote", str(remote) if url else "origin")
    git(repo, "config", "branch.topic.merge", "refs/pull/1/head")
    assert refuse(GitPush, repo).exit == 78
    git(repo, "config", "branch.topic.merge", "refs/heads/topic")
    act(GitPush, repo)
    assert at(remote, "topic") == at(repo, "topic")


def test_push_of_a_new_branch_wants_to_be_told_where(repo):
    remote = add_remote(repo)
    git(repo, "checkout", "--quiet", "-b", "new")
    error = refuse(GitPush, repo)
    assert (error.exit, "has no upstream" in str(error), "--set-upstream" in error.hint) == (78, True, True)
    act(GitPush, repo, set_upstream=True)
    assert at(remote, "new")
    assert git(repo, "rev-parse", "--abbrev-ref", "@{upstream}") == "origin/new"
    git(repo, "checkout", "--quiet", "-b", "other")
    act(GitPush, repo, remote="origin")
    git(repo, "tag", "v1")
    git(repo, "tag", "v2")
    act(GitPush, repo, branch="v1")
    assert (bool(at(remote, "other")), bool(at(remote, "v1")), at(remote, "v2")) == (True, True, "")
    act(GitPush, repo, branch="new", tags=True)
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
    (rewind, {}, 1, "'origin' refused 'main': [rejected] (non-fast-forward)"),
    (decline, {}, 77, "'origin' refused 'main': [remote rejected] (pre-receive hook declined)"),
    (lambda repo: git(repo, "checkout", "--quiet", "--detach"), {}, 66, "HEAD is not on a branch"),
    (lambda repo: git(repo, "checkout", "--quiet", "-b", "x", "--track", "main"), {}, 78, "has no upstream"),
    (lambda repo: None, {"branch": "none"}, 66, "there is no branch or tag 'none'"),
    (lambda repo: None, {"branch": ":main"}, 66, "there is no branch or tag ':main'"),
    (lambda repo: None, {"branch": "--force"}, 66, "there is no branch or tag '--force'"),
    (lambda repo: None, {"branch": "+main"}, 66, "there is no branch or tag '+main'"),
    (lambda repo: None, {"to": "a b"}, 65, "invalid refspec"),
    *[(lambda repo: None, {"to": to}, 65, f"'{to}' is not a name") for to in (":x", "x:y", "+x", "HEAD", "@", "-x")],
    (lambda repo: git(repo, "remote", "remove", "origin"), {}, 78, "there is no remote"),
    (lambda repo: git(repo, "remote", "remove", "origin"), {"set_upstream": True}, 78, "there is no remote"),
    (lambda repo: None, {"remote": "none"}, 66, "there is no remote 'none'"),
    (lambda repo: None, {"remote": "../repo"}, 66, "there is no remote '../repo'"),
    (lambda repo: git(repo, "remote", "set-url", "origin", "/gone"), {}, 66, "does not appear to be a git repository"),
    (lambda repo: add_hook(repo, "pre-push", "echo one; echo two; exit 1"), {}, 1, ": one / two"),
]


@pytest.mark.parametrize(("prepare", "given", "exit", "words"), NO_PUSH)
def test_push_forces_nothing_and_says_what_was_refused(repo, prepare, given, exit, words):
    remote = add_remote(repo)
    git(repo, "config", "color.push", "always")
    prepare(repo)
    before = at(remote, "main")
    error = refuse(GitPush, repo, **given)
    assert (error.exit, at(remote, "main")) == (exit, before), error
    assert (words in str(error), "some refs" in str(error)) == (True, False)


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
