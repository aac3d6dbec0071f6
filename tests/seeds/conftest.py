"""What the tests of the seeds stand on: a place to run pflow in, a model that answers with what it was asked, a small
GitHub with the papers' issues, a small YouTube, and a program with the output of Claude Code."""

import pytest

from tests.peers.github import GitHub
from tests.peers.openai_server import OpenAIServer
from tests.peers.youtube import YouTube
from tests.seeds.running import ISSUES, Place, add_issues


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    with OpenAIServer(tmp_path_factory.mktemp("models")) as server:
        yield server.llm_user_path


@pytest.fixture(scope="session")
def tube():
    with YouTube() as tube:
        yield tube


@pytest.fixture
def github():
    with GitHub() as github:
        add_issues(github, *ISSUES)
        yield github


@pytest.fixture
def place(tmp_path, models, tube, github, warm):
    return Place(tmp_path, models, tube, github, warm)
