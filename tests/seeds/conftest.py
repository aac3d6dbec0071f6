"""What the tests of the seeds stand on: a place to run pflow in, a model that answers with what it was asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.openai_server import OpenAIServer
from tests.seeds.github_server import GitHubServer
from tests.seeds.running import Place


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with OpenAIServer(tmp_path_factory.mktemp("models")) as server:
        yield server.llm_user_path


@pytest.fixture
def place(tmp_path: Path, models: Path) -> Place:
    return Place(tmp_path, models)


@pytest.fixture
def github(place: Place) -> Iterator[GitHubServer]:
    with GitHubServer() as server:
        place.environment["GITHUB_API"] = server.address
        yield server
