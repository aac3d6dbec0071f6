"""pflow new-node: what it writes is a node at once, and nothing that is there is lost."""

import os
import sys
from pathlib import Path

import pytest

from pflow.catalog.find import forget_types
from pflow.commands._command import run_command
from pflow.commands.new_node import LANGUAGES, command
from pflow.errors import PflowError


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """Where own nodes are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    for name in ("XDG_DATA_HOME", "PFLOW_NODES"):
        monkeypatch.delenv(name, raising=False)
    forget_types()
    return tmp_path / ".local" / "share" / "pflow" / "nodes"


def new_node(*words):
    return run_command(command, list(words))


@pytest.mark.parametrize("there", ["mine.py", "pflow-mine"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_node_that_is_there_stays_as_it_is_whatever_its_language(own, there, language):
    own.mkdir(parents=True)
    (own / there).write_text("precious")
    (own / there).chmod(0o755)
    for words in ([], [f"--dir={own}"]):
        with pytest.raises(PflowError, match="exists already") as caught:
            new_node("mine", f"--lang={language}", *words)
        assert caught.value.exit == 73
    assert os.listdir(own) == [there]
    new_node("other", f"--lang={language}")
    assert any("bash" in each.read_text().partition("\n")[0] for each in own.iterdir()) == (language == "bash")
    assert (own / there).read_text() == "precious"


@pytest.mark.parametrize(
    "name",
    ["", "-", "Mine", "my_node", "a b", "a--b", "a-", "-a", "1a", "é", "../a", "a.py", "a\n", "pflow-mine"],
)
def test_a_name_that_a_new_node_cannot_have_is_2(own, name):
    with pytest.raises(PflowError) as caught:
        new_node("--", name)
    assert (caught.value.exit, own.exists()) == (2, False)


@pytest.mark.parametrize("name", ["llm", "read-file", "get", "run", "new-node", "help"])
def test_a_name_of_pflows_own_is_2(own, name):
    with pytest.raises(PflowError, match=f"cannot call a node '{name}': pflow has one of that name") as caught:
        new_node(name)
    assert (caught.value.exit, own.exists()) == (2, False)
