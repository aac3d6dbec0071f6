"""The diff of two flows, for people; an edit of a line changes in the flow what the line says, and nothing else."""

import json

import pytest

from pflow.errors import TRY_AGAIN, PflowError
from pflow.flow.ir import flow_to_ir, load_document
from pflow.flow.load import load_text
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.plan.change import Change, FlowFile, merge_edit

READ = {"id": "read", "type": "read-file", "inputs": {"path": "a"}}
ASK = {"id": "ask", "type": "llm", "inputs": {"prompt": "Sum up"}}
MAPPED = {"ask": {"input_mappings": {"text": "read.content"}}}
BATCH = {**ASK, "batch": {"over": "xs"}}


def flow(*nodes, **members):
    return wire(load_document({"nodes": list(nodes), **members}, "flow", FlowCatalog()))


def changes(old, new):
    """The lines that went and came, without the headings."""
    return [
        line for line in Change(old, new, FlowFile(None)).diff if line[0] in "+-" and line[:3] not in ("+++", "---")
    ]


def test_what_changed_is_shown_as_json():
    assert changes(flow(READ), flow(READ)) == []
    assert changes(flow(ASK), flow({**ASK, "inputs": {"prompt": "Résumé"}})) == [
        '-        "prompt": "Sum up"', '+        "prompt": "Résumé"'
    ]  # fmt: skip
    assert changes(flow(ASK), flow(BATCH)) == ["+      },", '+      "batch": {', '+        "over": "xs"']


def test_a_secret_is_no_part_of_a_diff(tmp_path, monkeypatch):
    (tmp_path / "keyed.py").write_text(
        "import pocketflow\n\nclass Keyed(pocketflow.Node):\n    '''Take a key.\n\n    Interface:\n"
        "    - Params: token: str = null [secret] [env KEYED]  # who asks\n    - Params: n: int = 1\n    '''\n"
    )
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    one, other = flow({"type": "keyed", "params": {"token": "hunter2"}}), flow({"type": "keyed", "params": {"n": 2}})
    assert "hunter2" not in str(Change(one, other, FlowFile(None)).diff)


WRITE = {"id": "write", "type": "write-file", "inputs": {"path": "b", "content": "x"}}
RUN = {"id": "run", "type": "shell", "inputs": {"command": "ls"}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (flow(RUN, WRITE), flow(WRITE, {**RUN, "id": "other"}), []),
        (flow(WRITE), flow(WRITE, RUN), ['run (shell) runs commands: command "ls"']),
        (flow(RUN), flow({**RUN, "inputs": {"command": "rm x"}}), ['run (shell) runs commands: command "rm x"']),
        (flow(WRITE), flow({**WRITE, "inputs": {"path": "/etc/passwd", "content": "x"}}),
         ['write (write-file) writes files: path "/etc/passwd"']),
        (flow(READ), flow(READ, ASK), ["ask (llm) network"]),
        (flow(READ, WRITE), flow(WRITE, {**ASK, "id": "a"}, RUN, READ),
         ['run (shell) runs commands: command "ls"', "a (llm) network"]),
        (
            flow({"id": "w", "type": "write-file"}, inputs={"path": {"type": "path", "default": "b"}, "content": {}},
                 mappings={"w": {"input_mappings": {"path": "path"}}}),
            flow({"id": "w", "type": "write-file"}, inputs={"path": {"type": "path", "default": "c"}, "content": {}},
                 mappings={"w": {"input_mappings": {"path": "path"}}}),
            ['w (write-file) writes files: path "c"'],
        ),
    ],
)  # fmt: skip
def test_effects_that_are_new_are_named(old, new, expected):
    assert Change(old, new, FlowFile(None)).effects == expected


def test_a_flow_that_somebody_else_has_changed_is_not_written_over(tmp_path):
    file = tmp_path / "a.pflow.json"
    file.write_text('{"pflow": 1, "nodes": [{"type": "llm"}]}')
    place = FlowFile(str(file))
    file.write_text("theirs")
    with pytest.raises(PflowError) as raised:
        place.write(flow(READ).flow)
    assert (raised.value.exit, file.read_text()) == (TRY_AGAIN, "theirs")


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
