"""What the tests of the seeds stand on: a place to run pflow in, a model that answers with what it was asked."""

import pytest

from tests.peers.openai_server import OpenAIServer
from tests.seeds.running import Place


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    with OpenAIServer(tmp_path_factory.mktemp("models")) as server:
        yield server.llm_user_path


@pytest.fixture
def place(tmp_path, models):
    return Place(tmp_path, models)
