"""Exporting pipe syntax: what comes out reads as the same flow."""

import json

import pytest

from pflow.errors import PflowError
from pflow.export import exporter
from pflow.flow.load import load_text
from pflow.flow.pipe import parse_pipe
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire
from tests.export.cases import chain, node


@pytest.mark.parametrize(
    "text",
    ["read-file --path=a.txt => shell --command='wc -w' => write-file --path=b.txt", "count:up =again=> up; up => say"],
)
def test_what_comes_out_is_the_same_flow(text):
    flow = parse_pipe([text])
    written = exporter("pipe").export(wire(flow))
    assert written.endswith("\n")
    assert flow_to_ir(parse_pipe([written])) == flow_to_ir(flow)


def test_what_pipe_syntax_cannot_say_is_refused():
    flow = chain(node("say", batch={"over": "x"}), inputs={"x": {"type": "list"}})
    with pytest.raises(PflowError) as caught:
        exporter("pipe").export(wire(load_text(json.dumps(flow), "flow").usable()))
    assert caught.value.exit == 65
    assert "pipe syntax" in caught.value.message
