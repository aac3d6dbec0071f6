"""The values that a sentence names become inputs of the flow, and so does what comes through the pipe."""

import json

import pytest

from pflow.explain.account import needs
from pflow.flow.ir import flow_to_ir, load_document
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.plan.inputs import check_piped, declare_inputs, declare_piped, piped_in
from pflow.plan.planner import judge, plan_sentence, short_name
from pflow.stage.document import EMPTY, NOTHING, RAW, STORE, Document, Intake
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
    assert declared(piped, node("r", "read-file", path="a")) == ({}, {}, [])
    assert piped_in(Intake(Document(), NOTHING)) is None


def node(id="a", type="llm", **inputs):
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


SHELL = node("c", "shell", command="wc -w $stdin")
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
    assert declared(piped, node(prompt="Sum it up"), **flow, **mapped) == (pipe, mappings, [])


def test_a_template_takes_the_input_and_a_command_stays_as_it_is():
    wired = wire(load_document({"nodes": [SHELL, node(prompt="Of $stdin")]}, "the plan", FlowCatalog()).usable())
    nodes = flow_to_ir(declare_piped(wired, raw()).flow)["nodes"]
    assert [each["inputs"] for each in nodes] == [{"command": "wc -w $stdin"}, {"prompt": "Of ${a_text}"}]


@pytest.mark.parametrize("piped", [raw(), store("x", x="x")])
def test_the_first_step_keeps_what_the_pipe_gave_it_where_another_names_stdin(piped):
    count, ask = node("c", "shell", command="wc -w"), node(prompt="Of $stdin and ${c.stdout}", text="")
    taken = {"c": {"input": "text"}}
    assert declared(piped, count, ask)[:2] == ({"a_text": "any"}, {"c": {"input": "a_text"}})
    assert declared(piped, count, node(prompt=""), a={"text": "stdin"})[1] == {**taken, "a": {"text": "text"}}
    assert declared(piped, count, outputs={"x": "stdin", "y": "c.stdout"}) == ({"text": "any"}, taken, [])
    assert declared(piped, node(prompt="Of $stdin"), count)[1] == {}


def test_the_first_step_keeps_it_where_another_takes_it_by_its_key():
    count, inputs = node("c", "shell", command="wc -w"), {"x": {"type": "str"}}
    told = declared(store("x", x="x"), count, node(prompt=""), inputs=inputs, a={"text": "x"})
    assert told == ({"x": "str"}, {"c": {"input": "x"}, "a": {"text": "x"}}, [])
    assert declared(store("x", x="x"), node(prompt="Of $x"), count, inputs=inputs) == ({"x": "str"}, {}, [])


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
