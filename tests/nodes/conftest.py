"""What several nodes' tests stand on."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.github_nodes import github as github
from tests.peers.github_nodes import own_environment as own_environment
from tests.peers.repository import IDENTITY, make_repository
from tests.peers.web_server import WebServer


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A directory that any user can reach and write to, as pytest's own cannot be."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):
        for name in names:
            os.chmod(os.path.join(parent, name), 0o700)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        yield server


@pytest.fixture(scope="session")
def first_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("git") / "repo", a="one\ntwo\nthree\nfour\n", b="b\n")


@pytest.fixture
def repo(first_repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in which Ada has committed a.txt and b.txt, and nothing has changed; not the working directory."""
    for name, value in {**IDENTITY, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(first_repository, tmp_path / "repo", symlinks=True)
