"""Which repository of GitHub is meant, and the key for it: where it comes from, and that it goes nowhere else."""

from __future__ import annotations

import subprocess

import pytest

from pflow.catalog.registry import names_in
from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, MISSING, PflowError
from pflow.kit.github.access import find_issue, resolve
from pflow.kit.github.client import Client
from pflow.node import declared_interface, load_bundled
from tests.peers.github import KEY, GitHub, refusing
from tests.peers.github_nodes import add_issues, refuse, run

pytestmark = pytest.mark.usefixtures("own_environment")


@pytest.mark.parametrize(
    "url", ["http://example.org", "example.org", "ftp://127.0.0.1", "https://", "https://[", "http://127.example.org"]
)
def test_a_key_goes_to_no_interface_without_tls(monkeypatch, url):
    monkeypatch.setenv("GITHUB_API_URL", url)
    assert refuse("get-issue", issue_number=1).exit == BAD_CONFIG


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        ({"GITHUB_TOKEN": "one", "GH_TOKEN": "two"}, "Bearer one"),
        ({"GITHUB_TOKEN": "", "GH_TOKEN": " two\n"}, "Bearer two"),
        ({"GITHUB_TOKEN": ""}, None),
    ],
)
def test_the_key_is_that_of_the_environment(github, monkeypatch, variables, sent):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    github.keys |= {"one": "ada", "two": "ada"}
    github.repository.add_issue("A hang")
    run("get-issue", issue_number=1, params={"comments": False})
    assert github.requests[0]["headers"].get("authorization") == sent


def test_what_can_be_no_key_is_told_before_it_is_sent(github, monkeypatch):
    for key in ("one\ntwo", "ключ"):
        monkeypatch.setenv("GITHUB_TOKEN", key)
        error = refuse("get-issue", issue_number=1)
        assert error.exit == BAD_CONFIG
        assert key not in error.message
    assert github.requests == []


def test_without_one_gh_is_asked_for_its_key_of_that_host(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text('#!/bin/sh\n[ "$*" = "auth token --hostname ghe.example.org" ] && echo key-of-gh\n')
    gh.chmod(0o755)
    monkeypatch.setenv("GITHUB_API_URL", "https://ghe.example.org/api/v3")
    assert Client("").key == "key-of-gh"
    monkeypatch.delenv("GITHUB_API_URL")
    assert Client("").key == ""


def test_the_key_is_sent_to_no_other_host_that_an_answer_names(github):
    add_issues(github.repository, 101)
    with GitHub() as other:
        github.url = other.url  # in the Link header
        assert len(run("list-issues", params={"limit": 101})["issues"]) == 101
        assert other.requests == []


def test_no_message_shows_the_key(github):
    github.fail(refusing(403, f"the key {KEY} may not"))
    error = refuse("get-issue", issue_number=1)
    assert KEY not in f"{error} {error.hint} {error.details}"
    assert "***" in error.message


@pytest.mark.parametrize("name", ["add-comment", "create-issue", "create-pr"])
def test_nothing_is_made_without_a_key(github, monkeypatch, name):
    github.repository.add_issue("A hang")
    monkeypatch.delenv("GITHUB_TOKEN")
    error = refuse(name, issue_number=1, title="x", body="x", params={"head": "fix"} if name == "create-pr" else {})
    assert error.exit == DENIED
    assert "GITHUB_TOKEN" in error.hint
    assert {each["method"] for each in github.requests} <= {"get"}
    assert not hasattr(load_bundled(f"github-{name}"), "cache_parts"), "what is made is never cached"


def make_remote(url: str) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "config", "remote.origin.url", url], check=True)


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:owner/repo.git",
        "ssh://git@github.com/owner/repo",
        "git+ssh://git@github.com/owner/repo",
        "ssh://git@ssh.github.com:443/owner/repo.git",
        "https://github.com/owner/repo.git",
        "https://github.com/owner/repo/",
        "https://x-access-token:ghp_secret@GitHub.com/owner/repo",
        "git://github.com/owner/repo.git",
    ],
)
def test_without_repo_it_is_that_of_the_remote(url):
    make_remote(url)
    assert resolve(None) == "owner/repo"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("git@gitlab.com:owner/repo.git", "is at gitlab.com, but the API is https://api.github.com"),
        ("https://user:ghp_secret@example.org/owner/repo", "is at example.org"),
        ("https://user:gh@p_secret@example.org/owner/repo", "is at example.org"),
        ("/srv/git/repo.git", "is not on GitHub"),
        ("file:///srv/owner/repo.git", "is not on GitHub"),
        ("../owner/repo", "is not on GitHub"),
        ("https://github.com/owner/..", "is not on GitHub"),
        ("https://github.com/owner/repo/issues", "is not on GitHub"),
    ],
)
def test_a_remote_elsewhere_is_never_asked_for_at_github(url, said):
    make_remote(url)
    with pytest.raises(PflowError) as caught:
        resolve(None)
    assert caught.value.exit == MISSING
    assert said in caught.value.message
    assert "secret" not in f"{caught.value} {caught.value.hint}"


SSH = """#!/bin/sh
case "$*" in
"-G -- me@gh" | "-G -- git@github.com-work") printf 'user git\\nhostname GitHub.com\\n' ;;
"-G -- git@tunnel") echo hostname ssh.github.com ;;
"-G -- git@odd") echo no such thing >&2; exit 255 ;;
"-G -F "*"/.ssh/config -- git@home.github.com" | "-F my conf -G -- git@set") echo hostname github.com ;;
*) echo "hostname ${*##*@}" ;;
esac
"""


@pytest.fixture
def ssh(tmp_path):
    """An ssh that knows some aliases."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ssh").write_text(SSH)
    (tmp_path / "bin" / "ssh").chmod(0o755)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("me@gh:owner/repo.git", "owner/repo"),
        ("ssh://git@github.com-work:2222/owner/repo", "owner/repo"),
        ("ssh://git@tunnel/owner/repo", "owner/repo"),
        ("git@home.github.com:owner/repo", "owner/repo"),
        *((f"git@{name}:owner/repo", f"is at {name}, but") for name in ("odd", "-oProxyCommand=x", "other")),
        ("https://gh/owner/repo", "is at gh, but"),
    ],
)
@pytest.mark.usefixtures("ssh")
def test_a_host_is_what_ssh_calls_it_and_no_alias_is_advised(url, found):
    make_remote(url)
    try:
        got = resolve(None)
    except PflowError as error:
        got = f"{error.message}; {error.hint}"
    assert found.lower() in got
    assert "API_URL=" not in got


@pytest.mark.usefixtures("ssh")
def test_the_ssh_of_a_user_s_git_is_asked_and_no_program_of_a_repository(tmp_path, monkeypatch):
    make_remote("git@set:owner/repo")
    (tmp_path / "settings").write_text("[core]\nsshCommand = ssh -F 'my conf'\n")
    subprocess.run(["git", "config", "core.sshCommand", "ssh -F 'my conf'"], check=True)
    with pytest.raises(PflowError, match="is at set, but"):
        resolve(None)
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -F 'my conf'")
    assert resolve(None) == "owner/repo"
    monkeypatch.delenv("GIT_SSH_COMMAND")
    subprocess.run(["git", "config", "--unset", "core.sshCommand"], check=True)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "settings")
    assert resolve(None) == "owner/repo"


def test_where_nothing_names_a_repository_the_flag_is_told():
    with pytest.raises(PflowError) as caught:
        resolve(None)
    assert (caught.value.exit, caught.value.hint) == (MISSING, "--repo=OWNER/NAME")


def test_an_enterprise_s_remote_goes_with_its_interface(monkeypatch):
    make_remote("git@ghe.example.org:owner/repo.git")
    monkeypatch.setenv("GITHUB_API_URL", "https://ghe.example.org/api/v3/")
    assert resolve(None) == "owner/repo"


@pytest.mark.parametrize(
    ("text", "repo", "variables", "found"),
    [
        (12, "o/r", {}, "o/r 12"),
        ("#12", "https://github.com/o/r.git", {}, "o/r 12"),
        ("12", None, {"GH_REPO": "github.com/o/r"}, "o/r 12"),
        ("12", "a/b", {"GH_REPO": "o/r"}, "a/b 12"),
        ("o/r#12", None, {"GH_REPO": "a/b"}, "o/r 12"),
        ("https://www.github.com/o/r.x/pull/12/files?w=1#d", "O/R.x", {}, "o/r.x 12"),
        ("github.com/o/r/issues/12#issuecomment-3\n", None, {}, "o/r 12"),
        ("https://ghe.io/o/r/pull/12", None, {"GITHUB_API_URL": "https://ghe.io/v3"}, "o/r 12"),
        ("https://ghe.example.org/o/r/pull/12", None, {}, "is at ghe.example.org, but the API is https://api.github"),
        ("12", None, {"GH_REPO": "ghe.example.org/o/r"}, "is at ghe.example.org"),
        ("https://github.com/o/r/issues/12", "a/b", {}, "the repository is 'a/b'"),
        *[(text, "o/r", {}, "it is not a number or a URL") for text in ("twelve", "12/x", "o/..#1", "github.com/o/r")],
    ],
)
def test_an_issue_is_a_number_or_its_page(monkeypatch, text, repo, variables, found):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    try:
        got = "{} {}".format(*find_issue({"n": text, "repo": repo}, "n"))
    except PflowError as error:
        got = f"{error.exit} {error.message}"
    assert found in got


@pytest.mark.parametrize("repo", ["", "repo", "a/b/c", "../b", "a/..", "a/b?x", "a/b#c", "ä/b", "a b/c", "a/b\n/c"])
def test_what_is_no_repository_reaches_no_path(github, repo):
    error = refuse("get-issue", repo=repo, issue_number=1)
    assert error.exit == BAD_DATA
    assert github.requests == []


def test_a_directory_for_git_is_no_repository_of_github():
    """Of a flag of git-log's, `work/project`, github-add-comment would else make OWNER/NAME."""
    reads = {name: declared_interface(load_bundled(name)).reads.get("repo") for name in names_in("nodes")}
    assert [name for name, read in reads.items() if read and read.type.is_path and read.is_stored] == []
