"""The place of a finding as a JSON pointer."""

import pytest

from pflow.flow.load import load_document
from pflow.flow.pointer import pointer

FLOW = {
    "inputs": {"a.b": {"type": "str"}},
    "nodes": [{"id": "read", "type": "read-file", "params": {"x.y/z": 1, "t~": 2}}],
    "mappings": {"read": {"input_mappings": {"path.of": "a"}}},
}


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("", ""),
        ("nodes", "/nodes"),
        ("nodes[12].id", "/nodes/12/id"),
        ("nodes[0].params.x.y/z", "/nodes/0/params/x.y~1z"),
        ("nodes[0].params.t~", "/nodes/0/params/t~0"),
        ("nodes[0].params.list[1].key", "/nodes/0/params/list/1/key"),
        ('nodes[0]["odd.key"].at', "/nodes/0/odd.key/at"),
        ('nodes[0]["a\\"]b"]', '/nodes/0/a"]b'),
        ("inputs.a.b.type", "/inputs/a.b/type"),
        ("mappings.read.input_mappings.path.of", "/mappings/read/input_mappings/path.of"),
        ("nodes[0]/nodes[3].type", "/nodes/0"),
        ("words", "/words"),
        ('nodes[0]["torn', "/nodes/0/torn"),
        ("nodes[", "/nodes/"),
    ],
)
def test_a_place_leads_into_the_document(place, expected):
    assert pointer(place, load_document(FLOW, "f").flow) == expected


def test_what_is_in_no_document_is_at_none():
    flow = load_document(FLOW, "f").flow
    flow.dialect = "pipe"
    assert pointer("words", flow) == ""
    assert pointer("nodes[0]", None) == ""


def test_the_keys_of_an_older_dialect_are_keys_too():
    step = {"type": "read-file", "input_bindings": {"path": "the.file"}, "config": {"a.b": 1}}
    flow = load_document({"nodes": [step]}, "f").flow
    assert pointer("nodes[0].config.a.b", flow) == "/nodes/0/config/a.b"
