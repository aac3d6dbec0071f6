"""What comes through the pipe: what a model is told of it, and the input that it becomes."""

from __future__ import annotations

import json

import pytest

from pflow.flow.load import load_document
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire
from pflow.plan.piped import check_piped, declare_piped, piped_in
from pflow.plan.planner import judge, plan_sentence
from pflow.stage.document import EMPTY, NOTHING, RAW, STORE, Document, Intake


def store(last="", **keys):
    """A store that came in, as it is told of."""
    document = Document({"v": 1, **({"last": last} if last else {})})
    for key, value in keys.items():
        document.set(key, value)
    return piped_in(Intake(document, STORE))


def raw(value="one two"):
    document = Document({"v": 1, "last": "stdin"})
    document.set("stdin", value)
    return piped_in(Intake(document, RAW))


@pytest.mark.parametrize(
    ("piped", "told"),
    [
        (raw(), "Through the pipe comes text, 7 characters: the first step takes it."),
        (raw(b"\xff"), "Through the pipe comes data that is not text, 1 bytes: the first step takes it."),
        (
            store("content", path="/x", content="hi"),
            "Through the pipe comes content (str, 2 characters): the first step takes it. "
            "In it are $path (str), $content (str).",
        ),
        (
            store("draft.rows", draft={"rows": [1, 2, 3]}),
            "Through the pipe comes draft.rows (list, 3 items): the first step takes it. In it are $draft (dict).",
        ),
        (store(a=1, b=True, c=None), "Through the pipe comes a store. In it are $a (int), $b (bool), $c (any)."),
    ],
)
def test_a_model_is_told_kinds_sizes_keys_and_types_and_no_ir(piped, told):
    assert str(piped) == told


@pytest.mark.parametrize(
    ("line", "inputs"),
    [
        ("llm --prompt='Of $title'", {"title": "str"}),
        ("llm --prompt='Of ${title}' --text='$body'", {"title": "str", "body": "list"}),
        ("llm --prompt='Of it'", {}),
    ],
)
def test_keys_of_the_store_that_a_line_names_are_inputs(line, inputs):
    piped = store("content", title="A", body=["b"], content="x")
    flow, findings = judge(flow_to_ir(parse_pipe([line], FlowCatalog())), "tell it", piped)
    assert findings == []
    assert {name: each.type for name, each in flow.inputs.items() if not each.pipe} == inputs
    if inputs:
        assert judge(flow_to_ir(parse_pipe([line], FlowCatalog())), "tell it", raw())[0] is None


def test_no_value_is_told_nor_a_key_that_no_input_can_be_called():
    text = str(store("body", body="hunter2", **{"Odd key": "hunter2", "api_key": "hunter2", "x": ["hunter2"]}))
    assert not [each for each in ("hunter2", "Odd", "api_key") if each in text]


def test_what_a_dry_stage_would_write_counts_as_there():
    document = Document({"v": 1, "last": "content", "dry": ["path", "content"]})
    assert "comes content (any): " in str(piped_in(Intake(document, STORE)))


def test_an_empty_pipe_is_an_empty_text_which_nothing_need_take():
    piped = piped_in(Intake(Document(), EMPTY))
    assert "comes text, 0 characters: " in str(piped)
    assert piped.form == raw().form
    assert declared(piped, step("r", "read-file", path="a")) == ({}, {}, [])
    assert piped_in(Intake(Document(), NOTHING)) is None


def step(id="a", type="llm", **inputs):
    return {"id": id, "type": type, "inputs": inputs}


def declared(piped, *nodes, inputs=None, outputs=None, **mapped):
    """The inputs, nodes' inputs and mappings of a flow once what comes is an input; whether that is all well."""
    ir = {"nodes": list(nodes), "inputs": inputs or {}, "outputs": outputs or {}}
    ir["mappings"] = {id: {"input_mappings": each} for id, each in mapped.items()}
    wired = declare_piped(wire(load_document(ir, "the plan", FlowCatalog()).usable()), piped)
    changed = flow_to_ir(wired.flow)
    pipe = {name: each.get("type", "any") for name, each in changed.get("inputs", {}).items() if each.get("pipe")}
    mappings = {id: each["input_mappings"] for id, each in changed.get("mappings", {}).items()}
    return pipe, mappings, [each.rule for each in check_piped(wired, piped)]


SHELL = step("c", "shell", command="wc -w $stdin")
PIPE = {"pipe": True, "type": "str"}


@pytest.mark.parametrize(
    ("piped", "flow", "mapped", "pipe", "mappings"),
    [
        # the model says it
        (raw(), {"inputs": {"notes": PIPE}}, {"a": {"text": "notes"}}, {"notes": "str"}, {"a": {"text": "notes"}}),
        # the first step's read would take it
        (raw(), {}, {}, {"text": "any"}, {"a": {"text": "text"}}),
        (store("content", content="x"), {}, {}, {"text": "any"}, {"a": {"text": "text"}}),
        # it says stdin, of which a store has none
        (raw(), {}, {"a": {"text": "stdin"}}, {"text": "any"}, {"a": {"text": "text"}}),
        (None, {}, {"a": {"text": "stdin"}}, {"text": "any"}, {"a": {"text": "text"}}),
        (store("x", x="x"), {}, {"a": {"text": "stdin.rows[0]"}}, {"text": "any"}, {"a": {"text": "text.rows[0]"}}),
        (
            raw(),
            {},
            {"a": {"text": "template:It: $stdin $$"}},
            {"a_text": "any"},
            {"a": {"text": "template:It: ${a_text} $$"}},
        ),
        (store("stdin", stdin="x"), {}, {"a": {"text": "stdin"}}, {"text": "any"}, {"a": {"text": "text"}}),
        # it means another key of the store, or calls the input like the one that is carried
        (store("x", x="x", stdin="y"), {}, {"a": {"text": "stdin"}}, {}, {"a": {"text": "stdin"}}),
        (store("x", x="x"), {"inputs": {"x": {}}}, {"a": {"text": "x"}}, {"x": "any"}, {"a": {"text": "x"}}),
        (store("x", x="x", y="y"), {"inputs": {"y": {}}}, {"a": {"text": "y"}}, {}, {"a": {"text": "y"}}),
        (store("x", x="x", y="y"), {"inputs": {"y": {}}}, {}, {}, {}),
        (store(x="x"), {}, {}, {}, {}),
        (None, {}, {}, {}, {}),
    ],
)
def test_what_comes_is_an_input_of_the_flow(piped, flow, mapped, pipe, mappings):
    assert declared(piped, step(prompt="Sum it up"), **flow, **mapped) == (pipe, mappings, [])


def test_a_template_takes_the_input_and_a_command_stays_as_it_is():
    wired = wire(load_document({"nodes": [SHELL, step(prompt="Of $stdin")]}, "the plan", FlowCatalog()).usable())
    nodes = flow_to_ir(declare_piped(wired, raw()).flow)["nodes"]
    assert [each["inputs"] for each in nodes] == [{"command": "wc -w $stdin"}, {"prompt": "Of ${a_text}"}]


@pytest.mark.parametrize("piped", [raw(), store("x", x="x")])
def test_the_first_step_keeps_what_the_pipe_gave_it_where_another_names_stdin(piped):
    count, ask = step("c", "shell", command="wc -w"), step(prompt="Of $stdin and ${c.stdout}", text="")
    taken = {"c": {"input": "text"}}
    assert declared(piped, count, ask)[:2] == ({"a_text": "any"}, {"c": {"input": "a_text"}})
    assert declared(piped, count, step(prompt=""), a={"text": "stdin"})[1] == {**taken, "a": {"text": "text"}}
    assert declared(piped, count, outputs={"x": "stdin", "y": "c.stdout"}) == ({"text": "any"}, taken, [])
    assert declared(piped, step(prompt="Of $stdin"), count)[1] == {}


def test_the_first_step_keeps_it_where_another_takes_it_by_its_key():
    count, inputs = step("c", "shell", command="wc -w"), {"x": {"type": "str"}}
    told = declared(store("x", x="x"), count, step(prompt=""), inputs=inputs, a={"text": "x"})
    assert told == ({"x": "str"}, {"c": {"input": "x"}, "a": {"text": "x"}}, [])
    assert declared(store("x", x="x"), step(prompt="Of $x"), count, inputs=inputs) == ({"x": "str"}, {}, [])


def test_raw_bytes_that_nothing_takes_are_a_finding():
    write = {"id": "r", "type": "read-file", "inputs": {"path": "a"}}
    assert declared(raw(), write)[2] == declared(raw(), write, inputs={"notes": PIPE})[2] == ["PL09"]
    assert declared(store("x", x="x"), write)[2] == declared(None, write)[2] == []


@pytest.mark.usefixtures("home")
def test_a_plan_for_what_comes_is_not_one_for_something_else_and_sizes_do_not_count(peer):
    pipes = [None, raw(), store("x", x="x"), store("x", x=1), store("y", x=1, y=2), store("x", x=1, y=2)]
    for piped in [*pipes, *pipes, raw("another"), store("x", x="longer")]:
        plan_sentence("count what comes in", model="d-count", piped=piped)
    told = [json.dumps(each["body"]["messages"]) for each in peer.requests("d-count")]
    assert len(told) == len(set(told)) == len(pipes)
