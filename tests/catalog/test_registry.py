"""Where nodes are, and the classes of those in Python."""

import os

import pytest

from pflow.catalog import registry
from pflow.catalog.registry import load_file, names_in, own_directories
from pflow.errors import PflowError, result_of
from pflow.interface.source import read_interface, read_python
from pflow.node import interface_of, load_bundled

NODE = "from pocketflow import Node\nclass {}(Node):\n    '''Do.'''\n"


def write(path, text="", mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize("name", names_in("nodes"))
def test_an_interface_that_is_read_is_the_one_that_is_imported(name):
    file = os.path.join(registry.PACKAGE, "nodes", name.replace("-", "_") + ".py")
    read, imported = read_interface(file), interface_of(load_bundled(name))
    assert not imported.open
    for part in ("reads", "writes", "params"):
        assert [(item.name, str(item.type), item.default, item.marks) for item in getattr(read, part).values()] == [
            (item.name, str(item.type), item.default, item.marks) for item in getattr(imported, part).values()
        ]
    assert (read.effects, read.actions, read.summary) == (imported.effects, imported.actions, imported.summary)
    assert read.flow_safe == getattr(load_bundled(name), "flow_safe", False)


@pytest.mark.parametrize("class_name", ["CountWords", "CountWordsNode", "countwords", "Count_Words"])
def test_the_class_with_the_nodes_name_is_the_node(tmp_path, class_name):
    file = write(tmp_path / "count_words.py", NODE.format("Other") + NODE.format(class_name))
    assert load_file(file, "count-words").__name__ == class_name


@pytest.mark.parametrize("base", ["Node", "BatchNode", "AsyncNode", "AsyncBatchNode", "AsyncParallelBatchNode"])
def test_every_kind_of_pocketflow_node_is_a_node(tmp_path, base):
    file = write(tmp_path / "zap.py", f"import pocketflow\nclass Zap(pocketflow.{base}): pass\n")
    assert load_file(file, "zap").__name__ == "Zap"


@pytest.mark.parametrize("bases", ["", "(dict)", "(pocketflow.BaseNode)", "(pocketflow.Flow)"])
def test_a_class_that_is_no_pocketflow_node_is_pf09(tmp_path, bases):
    file = write(tmp_path / "zap.py", f"import pocketflow\nclass Zap{bases}: pass\n")
    with pytest.raises(PflowError, match=r"'Zap'.*PF09") as caught:
        load_file(file, "zap")
    assert caught.value.exit == 65
    assert caught.value.hint == "class Zap(pocketflow.Node)"


@pytest.mark.parametrize(
    ("source", "exit", "why"),
    [
        ("", 65, "no class"),
        (NODE.format("A") + NODE.format("B"), 65, "2 classes"),
        ("class", 65, "line 1"),
        ("1/0", 65, "ZeroDivisionError"),
        ("import no_such_module_at_all", 78, "no_such_module_at_all"),
        ("import sys; sys.exit(3)", 65, "exit"),
    ],
)
def test_a_file_that_gives_no_node_says_why(tmp_path, source, exit, why):
    with pytest.raises(PflowError, match=why) as caught:
        load_file(write(tmp_path / "zap.py", source), "zap")
    assert caught.value.exit == exit


def test_a_tool_of_another_version_of_pflow_names_the_way_to_write_it_anew(tmp_path):
    with pytest.raises(PflowError, match=r"No module named 'pflow\.broker") as raised:
        load_file(write(tmp_path / "mcp_own_zap.py", "from pflow.broker.node import McpNode\n"), "mcp-own-zap")
    assert "pflow mcp refresh" in raised.value.hint


@pytest.mark.parametrize(
    ("environment", "directories"),
    [
        ({}, []),
        ({"HOME": "/h"}, ["/h/.local/share/pflow/nodes"]),
        ({"HOME": "/h", "XDG_DATA_HOME": "/d"}, ["/d/pflow/nodes"]),
        ({"HOME": "/h", "XDG_DATA_HOME": "relative"}, ["/h/.local/share/pflow/nodes"]),
        ({"PFLOW_NODES": "/a::/b", "HOME": "/h"}, ["/a", "/b", "/h/.local/share/pflow/nodes"]),
    ],
)
def test_own_nodes_are_where_the_environment_says(monkeypatch, environment, directories):
    for name in ("HOME", "XDG_DATA_HOME", "PFLOW_NODES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert own_directories() == directories


FILES = {
    "class Zap: pass": "Zap does not inherit",
    "class Zap(dict): pass": "Zap does not inherit",
    "class Zap(pocketflow.Flow): pass": "Zap does not inherit",
    "class Own: pass\nclass Zap(Own, pocketflow.BaseNode): pass": "Zap does not inherit",
    "class Zap: pass\nclass Other(pocketflow.Node): pass": "Zap does not inherit",
    "class A(pocketflow.Node): pass\nclass B(A): pass": "'A' and 'B' may each be the node; call one Zap",
    "class A: pass\nclass B: pass": "'A' and 'B' may each be the node",
    "class Own(pocketflow.BatchNode): pass\nclass Zap(Own): pass": "",
    "class A: pass\nclass B(pocketflow.Node): pass": "",
    "class A(pocketflow.Node): pass\nclass Zap(A): pass": "",
    "from pflow.nodes.llm import Llm\nclass Zap(Llm): pass": "",
    "from pflow.nodes.llm import Llm\nclass A(Llm): pass\nclass B: pass": "",
}


@pytest.mark.parametrize("code", FILES)
def test_a_list_calls_a_file_broken_that_gives_no_node(tmp_path, code):
    file = write(tmp_path / "zap.py", f"import pocketflow\n{code}\n")
    fault = read_python(file)[1]
    assert (FILES[code] in fault, bool(fault)) == (True, bool(FILES[code]))
    loaded = result_of(load_file, file, "zap", of=PflowError, otherwise=None)
    assert (loaded is None) == bool(fault)
