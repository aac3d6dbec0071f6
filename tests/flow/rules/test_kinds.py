"""Types that are there, in the version asked for, and classes that are nodes."""

import os

import pytest

from tests.flow.checked import findings, flow, found, only, told
from tests.flow.rules.flows import (
    NUMBER,
    has_just,
    node,
    says,
    step,
)

KINDS = [
    *((step(type), []) for type in ("query", "Query", "AskNode", "list_files", "ListFiles")),
    *((step("query", version=version), []) for version in ("1.4.2", "1", "1.3.9")),
    *((step("query", version=version), ["PF11 nodes[0].version"]) for version in ("1.4.3", "1.5", "2.0.0", "0.9")),
    (flow("anything", "b:anything", {"id": "c", "type": "anything", "params": {"x": 1}}), ["PF11? nodes[0].type"]),
    (
        flow(
            "fetch",
            {"id": "a", "type": "nope", "params": {"x": 1}, "inputs": {"y": 2}},
            "save",
            inputs={**NUMBER, "path": {}},
            mappings={
                "a": {"input_mappings": {"text": "fetch.issue_data"}, "output_mappings": {"out": "a.out"}},
                "save": {"input_mappings": {"content": "a.more", "path": "path"}},
            },
        ),
        ["PF11 nodes[1].type"],
    ),
]

WORDS = [
    (step("qurey"), "nodes[0].type: PF11: there is no node 'qurey'; did you mean query?"),
    (step("read-fil"), "did you mean read-file?"),
    (step("query@1.4.9"), "there is no node 'query@1.4.9'; there is no version 1.4.9 of query; it is 1.4.2"),
    (step("query@1.4.2"), "there is no node 'query@1.4.2'; did you mean query?"),
    (step("nope@1.4.2"), "there is no node 'nope@1.4.2'; known: "),
    (step("flow:none"), "there is no saved flow 'none'; known: "),
    (step("llm", nodes=[step("shell")]), "'llm' cannot have nodes of its own; "),
    (step("flow"), "there is no node 'flow'; nodes and edges stand at the top; a step of type"),
    (step("condition"), "there is no node 'condition'; a step returns an action"),
    (step("sub/none.pflow.json"), "paths begin at this file's directory"),
    (step("query", version="2.0.0"), "'a' asks for query 2.0.0, but there is 1.4.2"),
]


test_a_flow_has_just_these_findings = has_just(KINDS)
test_a_finding_says_what_is_wrong_and_what_to_do = says(WORDS)


def test_nodes_that_may_do_anything_are_one_short_finding():
    files = {**node("Odd", "Reads: a"), **node("Other", "Writes: b")}
    steps = [{"id": id, "type": type} for id, type in (("a", "odd"), ("b", "other"), ("c", "odd"))]
    assert "'odd' and 'other' may read and write any key" in only(flow(*steps), files)


@pytest.mark.parametrize("text", ["class Bad(:\n", "\0", "-" * 200_000 + "1", "a" + ".a" * 200_000])
def test_a_file_that_is_no_python_is_told(text):
    assert "cannot read the node" in only(flow("bad"), {"bad.py": text})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class Own: pass", ["PF09"]),
        ("class Own(object): pass", ["PF09"]),
        ("class Base: pass\nclass Own(Base): pass", ["PF09"]),
        ("own = 1", ["PF11"]),
        ("import pocketflow\nclass Own(pocketflow.Node): pass", ["PF11"]),
        ("from mine import Base\nclass Middle(Base): pass\nclass Own(Middle): pass", ["PF11"]),
        ("import pocketflow\nclass Helper: pass\nclass Other(pocketflow.Node): pass", ["PF11"]),
        ("import pocketflow\nif True:\n    class Own(pocketflow.Node): pass", ["PF11"]),
    ],
)
def test_a_class_that_is_no_node_is_found_without_importing_it(text, expected):
    nodes = findings(flow("own"), {"own.py": text + "\nraise SystemExit('imported')\n"})
    assert [each.rule for each in nodes] == expected


LOUD = '#!{}\n# Be loud.\n#\n# Interface:\n# - Writes: shared["out"]: str [pipe]  # a text\n'


def test_a_program_that_cannot_run_is_told_before_anything_runs(tmp_path, monkeypatch):
    program = tmp_path / "pflow-loud"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for interpreter, is_there in (("/bin/sh", True), ("/nowhere/found", False)):
        program.write_text(LOUD.format(interpreter))
        program.chmod(0o755)
        messages = " ".join(told(flow("loud")))
        assert ("cannot run: its interpreter '/nowhere/found' is missing" in messages) != is_there
    program.chmod(0o644)
    finding = only(flow("loud"), {"pflow-loud": LOUD.format("/bin/sh")})
    assert "'loud' is not a node: '" in finding
    assert "pflow-loud': it is not executable (chmod +x)" in finding


def test_what_comes_of_an_unknown_node_is_not_said_of_its_step_but_what_runs_later_is():
    unknown = {"id": "x", "type": "nope"}
    assert found(flow(unknown, "query", mappings={"query": {"input_mappings": {"prompt": "x"}}})) == [
        "PF11 nodes[0].type"
    ]
    later = flow("query", unknown, mappings={"query": {"input_mappings": {"prompt": "x.y"}}})
    assert found(later) == ["PF11 nodes[1].type", "PF14 mappings.query.input_mappings.prompt"]
