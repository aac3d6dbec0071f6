"""What the tests of the MCP server stand on."""

import pytest

from tests.mcp.talking import COUNT, NAP, Home


@pytest.fixture
def home(tmp_path):
    """A home with two saved flows, `count` and `nap`, and a file of three words."""
    made = Home(tmp_path)
    made.save("count", COUNT)
    made.save("nap", NAP)
    (tmp_path / "three.txt").write_text("one two three\n")
    return made
