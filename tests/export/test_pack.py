"""A flow exported as a pack: it has all of the user's own that the flow uses, and the flow is the same elsewhere."""

import json
import os

import pytest

from pflow.catalog.find import forget_types
from pflow.errors import PflowError
from pflow.export import exporter
from pflow.flow.ir import flow_hash
from pflow.flow.subflow import load_named
from pflow.flow.wiring import wire
from tests.tools import node_source


def source(name, imports):
    key = "Params: key: str = null [secret] [env KEY]  # for nobody"
    return node_source(name, "return text", head=imports, more=key)


INTERFACE = """Make a text loud.

Interface:
- Reads: shared["text"]: str [pipe]  # the text
- Writes: shared["loud"]: str [pipe]  # the same
- Effects: runs commands
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user's own nodes and saved flows, and a working directory."""
    for name in ("work/sub", "nodes", "data/pflow/flows"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path / "nodes"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "nodes" / "helper.py").write_text("import deeper\n")
    (tmp_path / "nodes" / "deeper.py").write_text("import json\n")
    (tmp_path / "nodes" / "unused.py").write_text("")
    (tmp_path / "nodes" / "say_anew.py").write_text(source("SayAnew", "import helper\nimport pydantic"))
    (tmp_path / "nodes" / "pflow-loud").write_bytes(b"\x7fELF\0")
    (tmp_path / "nodes" / "pflow-loud").chmod(0o755)
    (tmp_path / "nodes" / "pflow-loud.interface").write_text(INTERFACE)
    write("../data/pflow/flows/saved", "say-anew")
    write("sub/inner", "loud", "./deep.pflow.json")
    write("sub/deep", "flow:saved")
    write("main", "read-file", "sub/inner.pflow.json", {"flow": "say-anew"})
    forget_types()
    return tmp_path


def write(name, *steps, **more):
    """Write a flow whose steps have these types; a dict is an inline subflow."""
    nodes = [
        {"id": f"s{number}", "type": "flow", "nodes": [{"id": "in", "type": step["flow"]}]}
        if isinstance(step, dict)
        else {"id": f"s{number}", "type": step, **more}
        for number, step in enumerate(steps)
    ]
    with open(f"{name}.pflow.json", "w") as file:
        json.dump({"pflow": 1, "nodes": nodes}, file)


def load(*words):
    forget_types()
    return wire(load_named(words).usable())


def export(word, directory="pack"):
    exporter("pack").export_to(load(word), directory)


def files_below(folder):
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def test_a_pack_has_all_that_the_flow_uses_and_elsewhere_it_is_the_same_flow(home, monkeypatch):
    before = flow_hash(load("main.pflow.json"))
    (home / "work" / "new" / "pack").mkdir(parents=True)
    export("main.pflow.json", "new/pack")
    pack = home / "work" / "new" / "pack"
    flows = ["main", "saved", "sub/deep", "sub/inner"]
    nodes = ["deeper.py", "helper.py", "pflow-loud", "pflow-loud.interface", "say_anew.py"]
    wanted = ["README.md", *(f"flows/{name}.pflow.json" for name in flows), *(f"nodes/{name}" for name in nodes)]
    assert (files_below(pack), files_below(home / "work" / "new")) == (wanted, [f"pack/{each}" for each in wanted])
    readme = (pack / "README.md").read_text()
    assert all(part in readme for part in ("pflow run flow:main", "the Python package pydantic ", "runs commands"))
    assert os.access(pack / "nodes" / "pflow-loud", os.X_OK)
    (home / "data").rename(home / "gone")
    (home / "data" / "pflow").mkdir(parents=True)
    (pack / "flows").rename(home / "data" / "pflow" / "flows")
    monkeypatch.setenv("PFLOW_NODES", str(pack / "nodes"))
    assert flow_hash(load("flow:main")) == before


TOOL = source("McpWebGet", "from pflow.mcp.client.node import ToolNode")
CANNOT = {
    "tool": (["mcp-web-get", "say-anew"], "'mcp-web-get' is a tool of an MCP server"),
    "up": (["../up.pflow.json"], "'../up.pflow.json', of 's0', leads out of it"),
    "program": (["../nodes/pflow-loud"], "'../nodes/pflow-loud' is not the name of a node"),
    "dynamic": (["dynamic"], "what '{home}/nodes/dynamic.py' imports is unknown: dynamic.py, line 1"),
    "elsewhere": (["elsewhere"], "imports 'beyond.py', which is not beside it"),
    "two": (["flow:saved", "saved.pflow.json"], "two of its files would be 'flows/saved.pflow.json'"),
}


@pytest.mark.parametrize(("steps", "said"), CANNOT.values(), ids=CANNOT)
def test_there_is_no_pack_of_a_flow_that_cannot_travel(home, monkeypatch, steps, said):
    for name, imports in [("dynamic", "import importlib; importlib.import_module(x)"), ("elsewhere", "import beyond")]:
        (home / "nodes" / f"{name}.py").write_text(source(name.title(), imports))
    (home / "nodes" / "mcp_web_get.py").write_text(TOOL)
    (home / "work" / "beyond.py").write_text("")
    monkeypatch.syspath_prepend(home / "work")
    write("../up", "loud")
    write("saved", "loud")
    write("flow", *steps)
    with pytest.raises(PflowError) as failure:
        export("flow.pflow.json")
    assert failure.value.exit == 65
    assert said.format(home=home) in failure.value.message
    assert not (home / "work" / "pack").exists()


def test_there_is_no_pack_with_a_secret_or_without_a_name(home):
    write("flow", "say-anew", params={"key": "sesame"})
    with pytest.raises(PflowError, match="'key' is a secret"):
        export("flow.pflow.json")
    with pytest.raises(PflowError, match=r"no flow can be saved as '\.a b'"):
        export("loud", ".a b")


@pytest.mark.parametrize("there", ["file", "full", ".", "file/below"])
def test_what_is_there_stays(home, there):
    (home / "work" / "file").write_text("mine")
    (home / "work" / "full").mkdir()
    (home / "work" / "full" / "x").write_text("mine")
    before = files_below(home)
    with pytest.raises(PflowError) as failure:
        export("main.pflow.json", there)
    assert (failure.value.exit, files_below(home)) == (73, before)
