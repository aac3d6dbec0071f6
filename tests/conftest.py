"""What every test stands on: pflow, installed or from this checkout, and hypothesis without a clock."""

import importlib.util
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests.peers.openai_server import OpenAIServer
from tests.peers.warm import Warm

if importlib.util.find_spec("pflow") is None:
    sys.path.insert(0, str(Path(__file__).parent.parent))

# What TAB offers, and what is known of programs, is a test's own, never the user's.
_cache = tempfile.TemporaryDirectory(prefix="pflow-cache-")
os.environ["XDG_CACHE_HOME"] = _cache.name
# The plugins of [dev] would take a second at each start of llm; tests/models/test_plugins.py alone loads them.
os.environ["LLM_LOAD_PLUGINS"] = "pflow-shell"
for name in ("NO_COLOR", "CLICOLOR_FORCE"):
    os.environ.pop(name, None)

# What a shell starts in the background ignores SIGINT, and so would every program that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Where what starts the tests ignores SIGCHLD, os.wait() would last until the last child has ended.
signal.signal(signal.SIGCHLD, signal.SIG_DFL)

settings.register_profile("pflow", deadline=None, print_blob=True)
settings.load_profile("pflow")


def pytest_addoption(parser):
    parser.addoption("--renew", action="store_true", help="write the screens of the tests as they are now")


def pytest_configure(config):
    config.addinivalue_line("markers", "rights: what it does without root's rights is shown as a user too, by .ci/run")


@pytest.fixture(autouse=True)
def recursion_limit():
    """Flows within flows raise Python's limit; the next test begins with its own."""
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)


@pytest.fixture(autouse=True)
def kept_environment():
    """What is tested sets variables itself (PFLOW_NODE, PFLOW_BROKER); the next test begins without them."""
    before = dict(os.environ)
    yield
    if before != os.environ:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def assert_screen(request):
    """Holds a text to a file of screens/ beside the test; --renew writes the file."""

    def compare(name: str, text: str) -> None:
        file = request.path.parent / "screens" / name
        if request.config.getoption("renew"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        assert text == file.read_text()

    return compare


@pytest.fixture
def local_models():
    """XDG_DATA_HOME with the small local model in it, where `make test` has put it.

    The test keeps to one processor: beside other tests the engine's threads spin while they wait for one another.
    """
    directory = Path(__file__).parent.parent / ".venv" / "share"
    if not (directory / "pflow" / "models" / "SmolLM2.gguf").exists():
        assert not os.environ.get("CI"), "the small local model is missing: make test brings it"
        pytest.skip("the small local model is not here; make test brings it")
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(processors)[os.getpid() % len(processors)]})
    yield str(directory)
    os.sched_setaffinity(0, processors)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server of OpenAI's protocol, whose models are llm's."""
    for name in ("OPENAI_API_KEY", "PFLOW_MODEL", "PFLOW_LLM_LOG", "LLM_OPENAI_SHOW_RESPONSES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer(tmp_path) as server:
        monkeypatch.setenv("LLM_USER_PATH", str(server.llm_user_path))
        yield server


@pytest.fixture(scope="session")
def warm():
    """Runs pflow as forks of a process that has loaded llm."""
    with Warm() as warm:
        yield warm
