"""What the github nodes' tests stand on: an environment without key or repository, a small GitHub, a node's run."""

from typing import Any

import pytest

from pflow.errors import PflowError
from pflow.node import STEP_KEY, load_bundled
from tests.peers.github import KEY, GitHub, Repository

REPO = "owner/repo"
VARIABLES = ("GITHUB_API_URL", "GITHUB_TOKEN", "GH_TOKEN", "GH_REPO", STEP_KEY)


@pytest.fixture
def own_environment(tmp_path, monkeypatch):
    """A directory without a repository, no key, and no gh."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def github(own_environment, monkeypatch):
    """A GitHub with `owner/repo`, and its key in the environment."""
    with GitHub() as server:
        monkeypatch.setenv("GITHUB_API_URL", server.url)
        monkeypatch.setenv("GITHUB_TOKEN", KEY)
        yield server


def run(name: str, *, params: dict[str, Any] | None = None, **shared: Any) -> dict[str, Any]:
    """What a node makes of a store, under plain pocketflow."""
    node = load_bundled(f"github-{name}")()
    node.set_params(params or {})
    store = {"repo": REPO, **shared}
    node.run(store)
    return store


def refuse(name: str, **given: Any) -> PflowError:
    with pytest.raises(PflowError) as caught:
        run(name, **given)
    return caught.value


def add_issues(repository: Repository, count: int) -> None:
    for number in range(count):
        repository.add_issue(f"issue {number}")
