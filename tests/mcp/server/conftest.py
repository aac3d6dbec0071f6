"""What the tests of the MCP server stand on."""

import pytest

from tests.mcp.server.talking import furnished, kept_session


@pytest.fixture
def home(tmp_path):
    """A home with two saved flows, `count` and `nap`, and a file of three words."""
    return furnished(tmp_path)


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory):
    """Such a home for all tests of a file, with one server, which they talk to in turn."""
    made = furnished(tmp_path_factory.mktemp("home"))
    with kept_session(made):
        yield made
