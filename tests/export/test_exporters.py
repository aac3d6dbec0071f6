"""An exporter is one file, which nothing else names; the one for pipe syntax writes the same flow or says why not."""

import importlib
import json

import pytest

import pflow.export
from pflow.commands import export as export_command
from pflow.commands._click import run_click
from pflow.errors import PflowError
from pflow.export import exporter
from pflow.flow.load import load_text
from pflow.flow.pipe import parse_pipe
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire

COUNT = '''"""How many steps there are."""


def export(wired):
    return f"{len(wired.steps)}\\n"
'''


@pytest.fixture
def one_more(monkeypatch, tmp_path):
    """The command, with one exporter more."""
    (tmp_path / "count.py").write_text(COUNT)
    with monkeypatch.context() as patch:
        patch.setattr(pflow.export, "__path__", [*pflow.export.__path__, str(tmp_path)])
        yield importlib.reload(export_command).command
    importlib.reload(export_command)


def test_a_file_beside_the_others_is_an_exporter(one_more, capfd):
    assert run_click(one_more, "export", ["--to=count", "shell --command=true => shell --command=true"]) == 0
    assert capfd.readouterr().out == "2\n"
    assert run_click(one_more, "export", ["--help"]) == 0
    assert "count    How many steps there are." in capfd.readouterr().out


def test_pipe_syntax_reads_as_the_same_flow():
    flow = parse_pipe(["read-file --path=a.txt => shell --command='wc -w' => write-file --path=b.txt"])
    assert flow_to_ir(parse_pipe([exporter("pipe").export(wire(flow))])) == flow_to_ir(flow)


def test_what_pipe_syntax_cannot_say_is_refused():
    flow = {"nodes": [{"type": "list-files", "batch": {"over": "x"}}], "inputs": {"x": {"type": "list"}}}
    with pytest.raises(PflowError, match="pipe syntax") as caught:
        exporter("pipe").export(wire(load_text(json.dumps(flow), "flow").usable()))
    assert caught.value.exit == 65
