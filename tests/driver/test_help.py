"""The help of a flow: what it is for, how it is typed, its flags, and nothing that a terminal would obey."""

import json

import pytest

from pflow.catalog.kinds import forget_kinds
from pflow.driver.help import help_of
from pflow.flow.subflow import load

COUNT = {
    "description": "Count the words",
    "inputs": {"text": {"type": "str", "description": "what to count in"}},
    "nodes": [{"id": "shell", "inputs": {"command": "wc -w"}}],
    "mappings": {"shell": {"input_mappings": {"input": "text"}}},
}


@pytest.fixture
def count(tmp_path, monkeypatch):
    """The file of a saved flow."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    forget_kinds()
    file = tmp_path / ".local" / "share" / "pflow" / "flows" / "count.pflow.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(COUNT))
    return file


def help_for(words):
    return help_of(load(words), words)


def test_a_saved_flow_tells_what_it_is_for_and_how_it_is_typed(count):
    for word in ("count", "flow:count", str(count)):
        help = help_for([word])
        assert help.startswith("Usage: pflow count [FLAG]…\n\nCount the words\n")
        assert "--text TEXT                 what to count in [required]" in help


def test_no_sign_of_a_flow_moves_the_terminal(tmp_path):
    hostile = "a\x1b[2J\nb"
    file = tmp_path / "hostile.json"
    inputs = {f"x{hostile}": {"description": hostile, "default": hostile}}
    mappings = {"s\x1b": {"input_mappings": {"input": f"x{hostile}"}}}
    nodes = [{"id": "s\x1b", "type": "shell", "inputs": {"command": "cat"}}]
    file.write_text(json.dumps({"description": hostile, "inputs": inputs, "nodes": nodes, "mappings": mappings}))
    help = help_for([str(file)])
    assert r"a\x1b[2J b" in help
    assert "\x1b" not in help


def test_a_flag_of_the_run_is_not_listed_as_that_of_an_input():
    help = help_for(['template "$quiet $text"'])
    assert "\n  quiet                       [from the store, since --quiet is the run's]\n  --text TEXT" in help
