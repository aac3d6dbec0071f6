"""Findings and the rules that make them: each mistake once, in order, at its place."""

import json
import re
import sys

import pytest

from pflow.flow.findings import SHAPE, Finding, pointer
from pflow.flow.load import load_text
from pflow.flow.rules import RULES, find_rules, in_order
from pflow.values.paths import write_path
from tests.flow.checked import flow, found, told


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ((), "", ""),
        (("nodes", 12, "id"), "nodes[12].id", "/nodes/12/id"),
        (("nodes", 0, "params", "x.y/z"), 'nodes[0].params["x.y/z"]', "/nodes/0/params/x.y~1z"),
        (("nodes", 0, "params", "t~", 1), "nodes[0].params.t~[1]", "/nodes/0/params/t~0/1"),
    ],
)
def test_a_place_is_a_path_for_people_and_a_pointer_into_the_document(place, text, expected):
    assert write_path(place) == text
    assert pointer(place) == expected


def test_a_finding_is_one_line_of_what_a_terminal_can_show():
    finding = Finding("PF99", ("nodes", 0, "id\x1b"), "two\nlines", "mend it", is_warning=True)
    assert str(finding) == "nodes[0].id\\x1b: PF99: warning: two\\nlines; mend it"
    assert str(Finding("PF99", (), "wrong")) == "PF99: wrong"


NUMBER = {"issue_number": {"type": "int"}}


def test_every_rule_has_an_id_and_says_what_it_is():
    assert all(re.fullmatch(r"PF\d\d", id) and rule.title and rule.otherwise for id, rule in RULES.items())


MISTAKES = """
{
  "pflow": 1,
  "descripton": "1: a misspelt member",
  "inputs": {
    "file": {"type": "paht"},
    "maxWords": {"type": "int"},
    "least": {"type": "int", "default": "many"}
  },
  "outputs": {"summary": "sumarize.answer"},
  "nodes": [
    {"id": "load", "type": "laod", "inputs": {"path": "$file"}},
    {"id": "fetch", "type": "fetch", "version": "2.0", "params": {"token": "hush"}, "inputs": {"issue_number": 1}},
    {"id": "summarize", "type": "query", "params": {"temprature": 0.5}, "inputs": {"prompt": "sum it up"}},
    {"id": "polish", "type": "query", "params": {"temperature": "hot"}, "inputs": {"prompt": "${sumarize.answer}"}},
    {"id": "tail", "type": "anything"},
    {"id": "2nd", "type": "anything"},
    {"id": "count", "type": "count", "inputs": {"item": ["a"]}, "params": {"least": 1}, "retries": "3"},
    {"id": "lost", "type": "anything"},
    {"id": "loop", "type": "query", "inputs": {"prompt": "${fetch.issue_data.titel}"}},
    {"id": "save", "type": "save", "inputs": {"content": "${a b}"}}
  ],
  "edges": [
    {"from": "load", "to": "fetch"},
    {"from": "fetch", "to": "summarize"},
    {"from": "summarize", "to": "polish"},
    {"from": "polish", "to": "tail"},
    {"from": "tail", "to": "2nd"},
    {"from": "2nd", "to": "count"},
    {"from": "count", "to": "loop"},
    {"from": "loop", "to": "loop", "action": "again"},
    {"from": "loop", "to": "save"}
  ],
  "mappings": {
    "summarize": {"output_mappings": {"answer": "Summary"}},
    "loop": {"input_mappings": {"text": "fetch..issue_data"}, "output_mappings": {"answer": "stdin.answer"}},
    "cuont": {"input_mappings": {}}
  }
}
"""


EACH = """
PF00 descripton
PF00 inputs.file.type
PF00 nodes[6].retries
PF13 inputs.least.default
PF10? inputs.maxWords
PF14 outputs.summary
PF11 nodes[0].type
PF11 nodes[1].version
PF13 nodes[1].params.token
PF13 nodes[2].params.temprature
PF13 nodes[3].params.temperature
PF14 nodes[3].inputs.prompt
PF11? nodes[4].type
PF12 nodes[5].id
PF13 nodes[6].inputs.item
PF12 nodes[7]
PF14 nodes[8].inputs.prompt
PF08 nodes[9]
PF14? nodes[9].inputs.content
PF12? edges[7].action
PF05 mappings.loop.output_mappings.answer
PF14 mappings.loop.input_mappings.text
PF12 mappings.cuont
PF10? mappings.summarize.output_mappings.answer
"""


def test_each_mistake_in_a_file_is_one_finding():
    assert found(json.loads(MISTAKES)) == EACH.split("\n")[1:-1]
    assert load_text(MISTAKES, "mistakes.pflow.json").findings


def test_every_finding_says_what_is_wrong_and_what_to_do():
    for line in told(json.loads(MISTAKES)):
        assert re.fullmatch(r"[^ ]+: PF\d\d: (warning: )?\S.*; \S.*", line), line
        assert not re.search(r"\b[A-Z][a-z]+ \w+ed\b|\.$", line)


def test_a_flow_that_is_right_has_no_findings():
    source = {"prompt": "template:Fix this:\n${fetch.issue_data.title}"}
    mappings = {"fix": {"input_mappings": source, "output_mappings": {"answer": "fix.answer"}}}
    document = flow("fetch", "fix:query", inputs=NUMBER, outputs={"fix": "fix.answer"}, mappings=mappings)
    assert found({"pflow": 1, "name": "fix-issue", **document}) == []


def test_findings_are_in_the_order_of_the_file_wrong_shapes_first_and_none_is_there_twice():
    places = [
        ("inputs", "first", "type"),
        ("outputs", "o"),
        ("nodes", 1, "id"),
        ("edges", 9, "to"),
        ("edges", 10, "to"),
    ]
    shape = Finding(SHAPE, ("nodes", 7, "x"), "of another shape")
    ordered = in_order([*(Finding("PF99", place, "wrong") for place in [*reversed(places), *places]), shape])
    assert [each.location for each in ordered] == [shape.location, *places]
    assert [each.rule for each in in_order([Finding(rule, (), "wrong") for rule in ("PF12", "PF03")])] == [
        "PF03",
        "PF12",
    ]


INNER = json.dumps(flow({"id": "a", "type": "query", "params": {"modle": 1}, "inputs": {"prompt": "${x"}}))


def test_what_a_subflow_has_is_found_once_at_its_place_in_it():
    document = flow("fetch", {"id": "b", "type": "inner.pflow.json"}, {"id": "c", "type": "inner.pflow.json"})
    assert found(document, {"inner.pflow.json": INNER}) == [
        "PF18? nodes[0]",
        "PF13 nodes[1].type",
        "PF14? nodes[1].type",
        "PF18? nodes[1]",
        "PF16? nodes[2]",
    ]


def test_an_answer_that_a_subflow_drops_is_told_in_the_flow_that_runs_it():
    inner = json.dumps(flow("load", "query", {"id": "save", "type": "save", "inputs": {"path": "p"}}))
    one, two = told(flow({"id": "b", "type": "inner.pflow.json"}), {"inner.pflow.json": inner})
    assert "nodes[0].type: PF18: warning: in nodes[0] of 'inner.pflow.json', nothing uses what 'load' writes" in one
    assert two.endswith('; there, "mappings": {"save": {"input_mappings": {"content": "query.answer"}}}')


def test_a_subflow_that_holds_itself_is_told():
    document = flow({"id": "a", "type": "self.pflow.json"})
    (finding,) = told(document, {"self.pflow.json": json.dumps(document)})
    assert "it contains itself: self.pflow.json → self.pflow.json" in finding


def test_the_params_of_a_subflow_are_those_of_its_steps():
    inner = {"inner.pflow.json": json.dumps(flow("a:query"))}
    node = {"id": "b", "type": "inner.pflow.json", "inputs": {"prompt": "p"}}
    assert found(flow({**node, "params": {"a.model": "m"}}), inner) == []
    assert found(flow({**node, "params": {"a.modle": "m"}}), inner) == ['PF13 nodes[0].params["a.modle"]']


@pytest.mark.parametrize("steps", [300])
def test_a_long_flow_is_held_to_every_rule(steps):
    nodes = [
        {"id": f"s{n}", "type": "query", "inputs": {"prompt": f"more: ${{s{n - 1}.answer}}"}} for n in range(steps)
    ]
    assert found(flow(*nodes)) == ["PF14 nodes[0].inputs.prompt"]


def test_a_rule_is_found_by_its_file(monkeypatch, tmp_path):
    source = """
from pflow.flow.findings import Finding, Rule

def check(flow):
    yield from (Finding("XX01", step.location, "it is here", "take it away") for step in flow.flow.steps)

RULES = (Rule("XX01", "a flow has no steps", check),)
"""
    (tmp_path / "steps.py").write_text(source)
    monkeypatch.setattr("pflow.flow.rules.__path__", [str(tmp_path)])
    assert {id: rule.title for id, rule in find_rules().items()} == {"XX01": "a flow has no steps"}
    monkeypatch.setattr("pflow.flow.rules.RULES", find_rules())
    assert told(flow("query")) == ["nodes[0]: XX01: it is here; take it away"]
    sys.modules.pop("pflow.flow.rules.steps")
