"""An edit of a line changes in the flow what the line says, and nothing else."""

from __future__ import annotations

import json

import pytest

from pflow.flow.load import load_text
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_to_ir
from pflow.plan.three_way import merge_edit

NOTES = {
    "inputs": {"source": {"type": "path", "default": "a.txt"}},
    "nodes": [
        {"id": "read", "type": "read-file", "version": "1.0.0"},
        {"id": "ask", "type": "llm", "inputs": {"prompt": "Sum up"}},
        {"id": "write", "type": "write-file", "inputs": {"path": "b.txt"}},
    ],
    "mappings": {
        "read": {"input_mappings": {"path": "source"}},
        "ask": {"input_mappings": {"text": "read.content"}},
        "write": {"input_mappings": {"content": "ask.response"}},
    },
}
LINE = "read-file:read --path=a.txt => llm:ask --prompt='Sum up' => write-file:write --path=b.txt"


def read(text):
    return flow_to_ir(load_text(text, "flow", FlowCatalog()))


def merged(line):
    return read(json.dumps(merge_edit(NOTES, read(LINE), read(line), line)))


def test_a_line_that_says_the_same_is_the_same_flow():
    assert merged(LINE) == merged(f"{LINE}\n# the same") == read(json.dumps(NOTES))


@pytest.mark.parametrize(
    ("line", "sources"),
    [
        # a value that was an input's is taken out, and so is its mapping
        (LINE.replace(" --path=a.txt", ""), {"ask": ["read.content"], "write": ["ask.response"]}),
        # a step that goes takes what named it along
        (LINE.replace(" => llm:ask --prompt='Sum up'", ""), {"read": ["source"], "write": ["content"]}),
        # a step without one of its mappings keeps the others
        (LINE.partition(" => ")[0], {"read": ["source"]}),
        # a template cannot be a default
        (LINE.replace("a.txt", "'$which'"), {"ask": ["read.content"], "write": ["ask.response"]}),
    ],
)
def test_what_is_taken_out_goes_and_the_rest_stays(line, sources):
    flow = merged(line)
    found = {id: [*each.get("input_mappings", {}).values()] for id, each in flow.get("mappings", {}).items()}
    assert (found, flow["inputs"]) == (sources, NOTES["inputs"])


def test_a_step_of_another_type_is_a_new_one():
    assert "version" not in merged(LINE.replace("read-file:read", "load-csv:read"))["nodes"][0]
