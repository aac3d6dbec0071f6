"""pflow nodes: every node there is, and what it declares, read and never run."""

import json
import os

import pytest

from pflow.commands._click import run_click
from pflow.commands.nodes import command
from pflow.errors import PflowError
from pflow.flow.kinds import forget_kinds
from pflow.flow.subflow import saved_flows

OWN = '''
import pocketflow

open({marker!r}, "w")


class CountWords(pocketflow.Node):
    """Count the words.

    One by one.

    Interface:
    - Reads: shared["text"]: str [pipe] [flag t]  # the text
    - Writes: shared["words"]: int [pipe]  # how many it has
    - Params: minimum: int = 1 [env MINIMUM]  # letters that make a word
    - Effects: reads files
    """

    version = "2.1.0"
'''
PROGRAM = """\
#!/bin/sh
# Say what the time is.
#
# Interface:
# - Writes: shared["now"]: str [pipe]  # the time
# - Effects: runs commands
# - Version: 1.2.0
touch {marker}
"""
FLOW = {
    "pflow": 1,
    "description": "Save a greeting",
    "nodes": [{"id": "save", "type": "write-file", "inputs": {"path": "o"}, "params": {}}],
    "mappings": {"save": {"input_mappings": {"content": "greeting"}}},
}


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """A node in Python, a program on PATH and a saved flow, beside those that come with pflow."""
    marker = str(tmp_path / "ran")
    for folder in ("nodes", "bin", "data/pflow/flows"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "nodes" / "count_words.py").write_text(OWN.format(marker=marker))
    (tmp_path / "bin" / "pflow-what-time").write_text(PROGRAM.format(marker=marker))
    (tmp_path / "bin" / "pflow-what-time").chmod(0o755)
    (tmp_path / "data" / "pflow" / "flows" / "greet.pflow.json").write_text(json.dumps(FLOW))
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path / "nodes"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "100")
    forget_kinds()
    yield tmp_path
    forget_kinds()


@pytest.fixture
def nodes(capfdbinary):
    def run(*words):
        assert run_click(command, "nodes", list(words)) == 0
        return capfdbinary.readouterr().out.decode()

    return run


def entries(nodes, *words):
    return {entry["name"]: entry for entry in json.loads(nodes("--json", *words))}


def test_every_node_is_listed_in_the_group_of_its_origin(nodes):
    groups = [group.split("\n") for group in nodes().split("\n\n")]
    assert [group[0] for group in groups] == [
        "Nodes that come with pflow", "Your own nodes in Python", "Programs", "Saved flows",
    ]  # fmt: skip
    assert groups[1][1:] == ["  count-words  2.1.0  Count the words.  reads files"]
    assert groups[2][1:] == ["  what-time  1.2.0  Say what the time is.  runs commands"]
    assert groups[3][1:] == ["  flow:greet  Save a greeting  writes files", ""]


def test_nothing_of_a_users_is_run(nodes, own):
    nodes()
    nodes("--json")
    nodes("count-words", "what-time", "greet")
    assert not (own / "ran").exists()


def test_a_node_tells_all_that_it_declares(nodes, own):
    assert nodes("count-words").split("\n") == [
        "count-words 2.1.0: Count the words.",
        "",
        "One by one.",
        "",
        f"From     {own}/nodes/count_words.py (python)",
        "Effects  reads files",
        "Actions  default",
        "",
        "Reads",
        "  text  str  required, pipe, --t  the text",
        "",
        "Writes",
        "  words  int  pipe  how many it has",
        "",
        "Params",
        "  minimum  int  default 1, MINIMUM  letters that make a word",
        "",
    ]


@pytest.mark.parametrize("name", ["CountWords", "count_words", "CountWordsNode"])
def test_a_node_goes_by_its_class_name_too(nodes, name):
    assert nodes(name).startswith("count-words 2.1.0")


def test_several_nodes_are_told_one_after_the_other(nodes):
    text = nodes("read-file", "what-time")
    assert text.index("read-file 1.0.0") < text.index("what-time 1.2.0")


def test_a_saved_flow_goes_by_its_name(nodes):
    assert nodes("greet") == nodes("flow:greet")
    assert "  greeting" in nodes("greet")


def test_examples_are_shown(nodes):
    assert "Examples\n  pflow-llm --prompt='Name three trees'\n" in nodes("llm")


def test_the_document_is_what_describe_gives_with_origin_and_file(nodes, own):
    from pflow.node import interface_of
    from pflow.registry import load_bundled
    from pflow.stage.describe import describe

    found = entries(nodes)
    shell = load_bundled("shell")
    described = json.loads(describe("shell", shell, interface_of(shell)))
    assert {key: value for key, value in found["shell"].items() if key not in ("origin", "file")} == described
    assert [found[name]["origin"] for name in ("shell", "count-words", "what-time", "flow:greet")] == [
        "bundled", "python", "program", "flow",
    ]  # fmt: skip
    assert found["what-time"]["file"] == str(own / "bin" / "pflow-what-time")


def test_the_document_of_some_nodes_has_those_alone(nodes):
    assert list(entries(nodes, "llm", "count-words")) == ["llm", "count-words"]


@pytest.mark.parametrize(
    ("name", "put"),
    [
        ("broken", lambda file: file.write_text("class (")),
        ("nul", lambda file: file.write_bytes(b"\0")),
        ("deep", lambda file: file.write_text("(" * 5000)),
        ("impure", lambda file: file.write_text(PURE_WITH_EFFECTS)),
    ],
)
def test_a_node_whose_file_cannot_be_read_is_listed_with_its_fault(nodes, own, name, put):
    put(own / "nodes" / f"{name}.py")
    entry = entries(nodes)[name]
    assert (entry["origin"], "reads" in entry) == ("python", False)
    assert f"{name}.py" in entry["fault"]
    assert f"\n  {name} " in nodes()
    assert nodes(name).startswith(f"{name}: cannot read")
    assert "count-words" in nodes()


@pytest.mark.parametrize("put", [os.mkdir, os.mkfifo, lambda file: os.symlink("nowhere", file)])
def test_what_is_no_file_keeps_no_other_from_being_listed(nodes, own, put):
    put(own / "nodes" / "odd.py")
    assert "  count-words  " in nodes()


PURE_WITH_EFFECTS = '''
from pflow import Node, flow_safe
@flow_safe
class Impure(Node):
    """A node.

    Interface:
    - Effects: network
    """
'''


def test_a_program_with_a_bad_interface_is_listed_with_its_fault(nodes, own):
    (own / "bin" / "pflow-bad").write_text("#!/bin/sh\n# Interface:\n# - Reads: text\n")
    (own / "bin" / "pflow-bad").chmod(0o755)
    assert "cannot parse the interface" in entries(nodes)["bad"]["fault"]


def test_a_saved_flow_that_does_not_load_is_listed_with_its_fault(nodes, own):
    (own / "data" / "pflow" / "flows" / "torn.pflow.json").write_text('{"nodes": [')
    assert "torn.pflow.json" in entries(nodes)["flow:torn"]["fault"]
    assert "\n  flow:torn " in nodes()


def test_a_node_in_prose_is_open_and_says_why(nodes, own):
    text = (
        'import pocketflow\nclass Seed(pocketflow.Node):\n    """Old.\n\n    Interface:\n    - Reads: prose\n    """\n'
    )
    (own / "nodes" / "seed.py").write_text(text)
    entry = entries(nodes)["seed"]
    assert (entry["open"], entry["reads"]) == (True, {})
    assert "seed.py" in entry["fault"]
    assert "\n  seed  " in nodes()
    assert "Open     its interface says nothing" in nodes("seed")


def test_a_name_that_is_no_node_is_127_with_the_nearest(nodes):
    with pytest.raises(PflowError) as caught:
        nodes("count-wrds")
    assert (caught.value.exit, caught.value.hint) == (127, "did you mean count-words?")


def test_no_line_is_wider_than_the_terminal(nodes, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(len(line) for line in nodes().split("\n")) <= 80


def test_what_a_terminal_would_obey_is_escaped(nodes, own):
    (own / "bin" / "pflow-evil").write_text("#!/bin/sh\n# Say \x1b[31mred.\n")
    (own / "bin" / "pflow-evil").chmod(0o755)
    assert "\x1b" not in nodes() + nodes("evil")


def test_without_utf8_everything_of_ours_is_ascii(nodes, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    assert nodes("count-words").isascii()


@pytest.mark.parametrize("data", ["", "relative", "/nowhere"])
def test_without_a_data_directory_there_are_no_saved_flows(monkeypatch, data):
    monkeypatch.setenv("XDG_DATA_HOME", data)
    monkeypatch.setenv("HOME", "")
    assert saved_flows() == []
