"""The values that a sentence names become inputs of the flow; all else stays as it was."""

from __future__ import annotations

import pytest

from pflow.explain.account import needs
from pflow.flow.load import load_document
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire
from pflow.plan.declare_inputs import declare_inputs
from pflow.plan.planner import short_name
from tests.flow.own_nodes import own_nodes


@pytest.fixture(autouse=True)
def only_bundled_nodes(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("PFLOW_NODES", raising=False)


def step(id, type, inputs=None, **more):
    return {"id": id, "type": type, "inputs": inputs or {}, **more}


def lifted(sentence, *nodes, mappings=None, inputs=None):
    """The IR of a flow with the inputs of a sentence; it passes the rules before and after."""
    mappings = {id: {"input_mappings": each} for id, each in (mappings or {}).items()}
    document = {"nodes": list(nodes), "mappings": mappings, **({"inputs": inputs} if inputs else {})}
    flow = load_document(document, "the plan", FlowCatalog()).usable()
    assert not [each for each in check(wire(flow)) if not each.is_warning]
    flow = declare_inputs(wire(flow), sentence).flow
    assert not [each for each in check(wire(flow)) if not each.is_warning]
    return flow_to_ir(flow)


def defaults(ir):
    return {name: each.get("default") for name, each in ir.get("inputs", {}).items()}


def mapped(ir, id):
    return ir.get("mappings", {}).get(id, {}).get("input_mappings", {})


def test_a_path_becomes_an_input_with_the_type_and_words_of_its_read():
    ir = lifted("show a.txt", step("read", "read-file", {"path": "a.txt"}))

    assert ir["inputs"] == {"path": {"type": "path", "description": "the file to read", "default": "a.txt"}}
    assert mapped(ir, "read") == {"path": "path"}
    assert "inputs" not in ir["nodes"][0]


def test_a_home_directory_is_written_out_as_a_shell_does(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert defaults(lifted("show ~/a.txt", step("read", "read-file", {"path": "~/a.txt"}))) == {
        "path": "/home/ada/a.txt"
    }


def test_two_that_would_meet_have_their_steps_before_them():
    ir = lifted(
        "copy a.txt to b.txt",
        step("get-it", "read-file", {"path": "a.txt"}),
        step("write", "write-file", {"path": "b.txt"}),
        mappings={"write": {"content": "get-it.content"}},
    )

    assert defaults(ir) == {"get_it_path": "a.txt", "write_path": "b.txt"}
    assert mapped(ir, "write") == {"content": "get-it.content", "path": "write_path"}


def test_one_value_of_one_kind_is_one_input():
    ir = lifted(
        "sort the lines of a.txt",
        step("read", "read-file", {"path": "a.txt"}),
        step("sort", "shell", {"command": "sort"}),
        step("write", "write-file", {"path": "a.txt"}),
        mappings={"sort": {"input": "read.content"}, "write": {"content": "sort.stdout"}},
    )

    assert defaults(ir) == {"path": "a.txt"}
    assert (mapped(ir, "read")["path"], mapped(ir, "write")["path"]) == ("path", "path")


def test_a_number_becomes_an_input_of_a_param():
    ir = lifted("summarize in 200 tokens", step("ask", "llm", {"prompt": "Summarize"}, params={"max_tokens": 200}))

    assert ir["inputs"] == {
        "max_tokens": {"type": "int", "description": "the maximum number of tokens in the answer", "default": 200}
    }
    assert ir["nodes"][0]["params"] == {"max_tokens": "$max_tokens"}


@pytest.mark.parametrize(
    ("sentence", "node", "given"),
    [
        ("fix issue #12", step("a", "github-get-issue", {"issue_number": "12"}), {"--issue-number": "12"}),
        ("fix issue 12", step("a", "github-get-issue", {"issue_number": "#12"}), {"--issue-number": "#12"}),
        ("fix issue 12", step("a", "github-get-issue", {"issue_number": 12}), {"--issue-number": 12}),
        ("show the last Five commits", step("a", "git-log", params={"max": 5}), {"--max": 5}),
        ("ask at 2", step("a", "llm", {"prompt": "Ask"}, params={"temperature": 2.0}), {"--temperature": 2.0}),
        ("cut at 10,000", step("a", "split-text", {"text": "x"}, params={"size": 10000}), {"--size": 10000}),
        ("show 3 lines", step("a", "shell", {"command": 'head -n "$1"', "args": ["3"]}), {"--number": "3"}),
        ("sum up in 3 or three lines", step("a", "llm", {"prompt": "In 3 or three lines"}), {}),
        ("fix issue 120", step("a", "github-get-issue", {"issue_number": "12"}), {}),
        ("cost 7", step("a", "llm", {"prompt": "x"}, params={"max_tokens": 17}), {}),
    ],
)
def test_a_number_that_is_the_whole_value_of_a_flag_becomes_an_input_that_is_listed(sentence, node, given):
    flow = wire(load_document(lifted(sentence, node), "the plan", FlowCatalog()).usable())
    assert {need["flag"]: need["default"] for need in needs(flow) if need["name"] in flow.flow.inputs} == given


def test_an_input_has_no_flag_of_a_run_for_its_name(tmp_path):
    with own_nodes(tmp_path, {"work": "\n    - Params: max_calls: int = 1"}):
        assert defaults(lifted("ask 4 times", step("a", "work", params={"max_calls": 4}))) == {"a_max_calls": 4}


def test_a_value_in_a_list_becomes_an_input():
    ir = lifted(
        "count 'Zoë' in a.txt",
        step("count", "shell", {"command": 'grep -c -- "$1" "$2"', "args": ["Zoë", "a.txt", "b.txt"]}),
    )

    assert {name: (each["type"], each["default"]) for name, each in ir["inputs"].items()} == {
        "text": ("str", "Zoë"),
        "path": ("path", "a.txt"),
    }
    assert ir["nodes"][0]["inputs"]["args"] == ["$text", "$path", "b.txt"]


def test_what_has_a_dollar_stays_for_it_may_be_a_template():
    ir = lifted("ask 'cost: $$5'", step("ask", "llm", {"prompt": "cost: $$5"}))
    assert "inputs" not in ir


def test_a_command_stays_in_the_flow():
    ir = lifted("run 'uname -s'", step("run", "shell", {"command": "uname -s"}))
    assert "inputs" not in ir


def test_what_looks_like_a_key_becomes_no_default():
    ir = lifted("ask 'sk-abcdefghijklmnop0123'", step("ask", "llm", {"prompt": "sk-abcdefghijklmnop0123"}))
    assert "inputs" not in ir


def test_inputs_that_the_model_declared_are_kept_and_not_taken():
    ir = lifted(
        "translate a.txt",
        step("read", "read-file", {"path": "a.txt"}),
        step("ask", "llm", {"prompt": "Translate into $path"}),
        mappings={"ask": {"text": "read.content"}},
        inputs={"path": {"type": "str", "description": "the language", "default": "French"}},
    )
    assert defaults(ir) == {"path": "French", "read_path": "a.txt"}
    assert ir["nodes"][1]["inputs"] == {"prompt": "Translate into $path"}


def test_an_input_fills_no_read_that_nothing_filled():
    ir = lifted(
        "ask 'Name a tree' and then talk about it",
        step("first", "llm", {"prompt": "Name a tree"}),
        step("second", "llm", {}),
        mappings={"second": {"text": "first.response"}},
    )
    assert defaults(ir) == {"first_prompt": "Name a tree"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sum-up", "sum-up"),
        ("Read the File!", "read-the-file"),
        ("../../etc", "etc"),
        ("\x1b[31m", "31m"),
        ("é", ""),
        ("a" * 60, "a" * 40),
        ("read data.txt, summarize it, write summary.md", "read-data-txt-summarize-it-write-summary"),
    ],
)
def test_a_flows_name_is_short_and_plain(text, name):
    assert short_name(text) == name
