"""A flow that a run kept: loaded again, it is the flow that ran."""

import json
import os

import pytest

from pflow.errors import PflowError
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog, load_named
from pflow.flow.unload import flow_hash, flow_to_ir
from pflow.flow.wiring import wire
from pflow.record.kept import directory_of, enter, load_kept
from tests.engine.flows import write_flow


def kept(tmp_path, flow):
    """The flow as a run in another directory keeps it, loaded again."""
    run = tmp_path / "run"
    run.mkdir(exist_ok=True)
    (run / "flow.pflow.json").write_text(json.dumps(flow_to_ir(flow)))
    return load_kept(str(run), {"flow_directory": directory_of(flow), "file": ""})


@pytest.mark.parametrize(
    "words",
    [
        "text --text=a => echo:e => count --by=2",
        "text --text='a $$5' =default=> echo; text => count",
        "echo --each --jobs=2 --keep-going --with-item => text --text='n: $n'",
        "count:c =done=> text:t; c => text:u; u => echo:e; t => e",
    ],
)
def test_pipe_syntax_is_the_same_flow_again(tmp_path, words):
    flow = parse_pipe([words], FlowCatalog())
    again = kept(tmp_path, flow)
    assert flow_to_ir(again) == flow_to_ir(flow)
    assert flow_hash(wire(again)) == flow_hash(wire(flow))


def test_the_paths_in_a_flow_begin_where_its_file_is(tmp_path, monkeypatch):
    (tmp_path / "flows").mkdir()
    inner = write_flow(tmp_path / "flows", "inner", {"nodes": [{"type": "text"}]})
    write_flow(tmp_path / "flows", "outer", {"nodes": [{"id": "a", "type": inner}]})
    monkeypatch.chdir(tmp_path)
    flow = load_named(["flows/outer.pflow.json"]).usable()
    before = flow_hash(wire(flow))
    again = kept(tmp_path, flow)
    monkeypatch.chdir("/")
    assert flow_hash(wire(again)) == before


def test_a_flow_that_is_gone_or_damaged_is_an_error(tmp_path):
    with pytest.raises(PflowError, match=r"cannot read the flow '.*flow.pflow.json': no such file") as gone:
        load_kept(str(tmp_path), {"flow_directory": "/", "file": ""})
    (tmp_path / "flow.pflow.json").write_text('{"nodes": [')
    with pytest.raises(PflowError, match="line 1") as damaged:
        load_kept(str(tmp_path), {"flow_directory": "/", "file": ""})
    assert (gone.value.exit, damaged.value.exit) == (66, 65)


def test_a_directory_that_is_gone_is_an_error(tmp_path):
    before = os.getcwd()
    with pytest.raises(PflowError, match=r"cannot go on in '.*gone', where the run was: no such file") as gone:
        enter(str(tmp_path / "gone"), "go on")
    assert (gone.value.exit, os.getcwd()) == (66, before)
