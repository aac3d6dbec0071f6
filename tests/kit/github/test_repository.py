"""Which repository of GitHub is meant."""

from __future__ import annotations

import subprocess

import pytest

from pflow.catalog.registry import bundled_names, load_bundled
from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.kit.github.repository import resolve
from pflow.node import declared_interface
from tests.peers.github_nodes import refuse

# Which repository, and whose key

pytestmark = pytest.mark.usefixtures("own_environment")


def make_remote(url: str) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "config", "remote.origin.url", url], check=True)


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:owner/repo.git",
        "ssh://git@github.com/owner/repo",
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
        ("git@gitlab.com:owner/repo.git", "is at gitlab.com, and https://api.github.com at another"),
        ("https://user:ghp_secret@example.org/owner/repo", "is at example.org"),
        ("/srv/git/repo.git", "is none of GitHub"),
        ("file:///srv/owner/repo.git", "is none of GitHub"),
        ("../owner/repo", "is none of GitHub"),
        ("https://github.com/owner/..", "is none of GitHub"),
        ("https://github.com/owner/repo/issues", "is none of GitHub"),
    ],
)
def test_a_remote_elsewhere_is_never_asked_for_at_github(url, said):
    make_remote(url)
    with pytest.raises(PflowError) as caught:
        resolve(None)
    assert caught.value.exit == MISSING
    assert said in caught.value.message
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_where_nothing_names_a_repository_the_flag_is_told():
    with pytest.raises(PflowError) as caught:
        resolve(None)
    assert (caught.value.exit, caught.value.hint) == (MISSING, "--repo=OWNER/NAME")


def test_an_enterprise_s_remote_goes_with_its_interface(monkeypatch):
    make_remote("git@ghe.example.org:owner/repo.git")
    monkeypatch.setenv("GITHUB_API_URL", "https://ghe.example.org/api/v3/")
    assert resolve(None) == "owner/repo"


@pytest.mark.parametrize("repo", ["", "repo", "a/b/c", "../b", "a/..", "a/b?x", "a/b#c", "ä/b", "a b/c", "a/b\n/c"])
def test_what_is_no_repository_reaches_no_path(github, repo):
    error = refuse("get-issue", repo=repo, issue_number=1)
    assert error.exit == BAD_DATA
    assert github.requests == []


def test_a_directory_for_git_is_no_repository_of_github():
    """Of a flag of git-log's, `work/project`, github-add-comment would else make OWNER/NAME."""
    reads = {name: declared_interface(load_bundled(name)).reads.get("repo") for name in bundled_names()}
    assert [name for name, read in reads.items() if read and read.type.is_path and read.is_stored] == []
