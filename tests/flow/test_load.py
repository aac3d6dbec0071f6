"""Loading a flow from a file or a text, or the Flow in a Python file."""

from __future__ import annotations

import errno
import json
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pflow.catalog.find import Catalog, forget_types
from pflow.errors import PflowError
from pflow.flow.flow import FlowSpec, Step
from pflow.flow.load import load_file, load_python, load_text, parse_json

SEEDS = Path(__file__).parent / "seeds"


def load(text, name="x.pflow.json"):
    return load_text(text, name)


def error_of(text, name="x.pflow.json"):
    with pytest.raises(PflowError) as raised:
        load_text(text, name)
    return raised.value


def flow_of(text):
    loaded = load(text)
    assert [str(finding) for finding in loaded.findings] == []
    return loaded


def edges_of(flow):
    return [(edge.source, edge.target, edge.action) for edge in flow.edges]


# The seeds: steps as (id, type), edges, and the dialect.
LOADED = [
    ("000-keys", [("a", "Summarize"), ("b", "Store")], "keys"),
    ("001-mappings", [("llm", "llm"), ("write-file", "write-file")], "pflow"),
    ("002-fragment", [("fetch", "yt-transcript"), ("summarise", "summarise-text")], "bindings"),
    ("002-flow", [("fetch", "yt-transcript"), ("summarise", "summarise-text")], "bindings"),
    ("003-simple", [("yt-transcript", "yt-transcript"), ("summarise-text", "summarise-text")], "pflow"),
    ("004-collisions", [("analyzer", "llm"), ("summarizer", "llm")], "pflow"),
    ("004-issue", [("fetch", "github-get-issue"), ("analyze", "llm"), ("fix", "claude-code")], "pflow"),
]


@pytest.mark.parametrize(("name", "steps", "dialect"), LOADED)
def test_every_seed_loads_as_it_stands(name, steps, dialect):
    loaded = load_file(str(SEEDS / f"{name}.pflow.json"))
    assert loaded.findings == []
    assert [(step.id, step.type) for step in loaded.steps] == steps
    assert edges_of(loaded) == [(one[0], two[0], "default") for one, two in pairwise(steps)]
    assert loaded.dialect == dialect
    assert loaded.stray_mappings == {}


@pytest.mark.parametrize(
    ("name", "where"),
    [
        (
            "003-complex",
            """line 11, column 36: a comma or bracket is missing: "params": {"temperature": 0.7 ^ "}""",
        ),
        ("004-input-mappings", 'line 1, column 17: the JSON ends before this: "input_mappings" ^ : {'),
        ("004-output-mappings", 'line 1, column 18: the JSON ends before this: "output_mappings" ^ : {'),
    ],
)
def test_the_seeds_that_are_not_json_say_where(name, where):
    file = str(SEEDS / f"{name}.pflow.json")
    with pytest.raises(PflowError) as raised:
        load_file(file)
    assert str(raised.value) == f"cannot read the flow '{file}': {where}"
    assert raised.value.exit == 65


def test_every_seed_is_in_the_tables_above():
    tested = {name for name, _, _ in LOADED} | {"003-complex", "004-input-mappings", "004-output-mappings"}
    assert {file.name.removesuffix(".pflow.json") for file in SEEDS.iterdir()} == tested


def test_every_member_comes_to_its_place():
    flow = flow_of("""{
      "$schema": "flow.schema.json", "pflow": 1, "name": "fix-issue", "description": "fix it", "max_visits": 7,
      "inputs": {"issue": {"type": "int", "description": "which", "required": false, "pipe": true},
                 "tone": {"default": null}},
      "outputs": {"fix": "fix.response"},
      "nodes": [{"id": "fetch", "type": "github-get-issue", "name": "Fetch", "description": "get it",
                 "version": "1.2", "params": {"a": 1.0}, "inputs": {"b": [null]}, "retries": 0, "wait": 1.5,
                 "timeout": 60, "max_visits": 3,
                 "batch": {"over": "files", "as": "path", "jobs": 4, "on_error": "keep"}},
                {"id": "fix", "type": "llm", "batch": {"over": "x"}}],
      "edges": [{"from": "fetch", "to": "fix", "action": "retry"}, {"from": "fix", "to": "fetch"}],
      "mappings": {"fetch": {"input_mappings": {"p": ["a", "b"]}, "output_mappings": {"q": "c/d"}}}}""")
    assert (flow.name, flow.description, flow.max_visits, flow.outputs) == (
        "fix-issue", "fix it", 7, {"fix": "fix.response"},
    )  # fmt: skip
    issue, tone = flow.inputs["issue"], flow.inputs["tone"]
    assert (issue.name, issue.type, issue.description) == ("issue", "int", "which")
    assert (issue.required, issue.pipe, issue.has_default) == (False, True, False)
    assert (tone.type, tone.required, tone.pipe, tone.has_default, tone.default) == ("any", False, False, True, None)
    fetch, fix = flow.steps
    assert (fetch.id, fetch.type, fetch.version, fetch.location) == ("fetch", "github-get-issue", "1.2", ("nodes", 0))
    assert (fetch.params, fetch.inputs) == ({"a": 1.0}, {"b": [None]})
    assert (fetch.retries, fetch.wait, fetch.timeout, fetch.max_visits) == (0, 1.5, 60, 3)
    assert (fetch.input_mappings, fetch.output_mappings) == ({"p": ["a", "b"]}, {"q": "c/d"})
    assert (fetch.batch.over, fetch.batch.item, fetch.batch.jobs, fetch.batch.on_error) == ("files", "path", 4, "keep")
    assert (fix.version, fix.params, fix.inputs, fix.location) == (None, {}, {}, ("nodes", 1))
    assert (fix.retries, fix.wait, fix.timeout, fix.max_visits) == (None, None, None, None)
    assert (fix.batch.over, fix.batch.item, fix.batch.jobs, fix.batch.on_error) == ("x", "item", None, "stop")
    assert edges_of(flow) == [("fetch", "fix", "retry"), ("fix", "fetch", "default")]


@pytest.mark.parametrize(
    ("node", "id", "type"),
    [
        ('{"id": "a", "type": "llm", "name": "x"}', "a", "llm"),
        ('{"id": "a", "name": "llm"}', "a", "llm"),
        ('{"id": "llm"}', "llm", "llm"),
        ('{"type": "llm"}', "llm", "llm"),
        ('{"name": "llm"}', "llm", "llm"),
        ('{"type": "llm", "name": "draft"}', "draft", "llm"),
        ('{"type": "flow:fix-issue"}', "fix-issue", "flow:fix-issue"),
        ('{"type": "../flows/fix.pflow.json"}', "fix", "../flows/fix.pflow.json"),
        ('{"type": "Summarize"}', "Summarize", "Summarize"),
    ],
)
def test_id_and_type_stand_in_for_one_another(node, id, type):
    (step,) = flow_of('{"nodes": [' + node + "]}").steps
    assert (step.id, step.type) == (id, type)


def test_steps_without_an_id_are_counted_past_the_ids_that_are_taken():
    flow = flow_of('{"nodes": [{"type": "llm"}, {"type": "llm"}, {"id": "llm-2", "type": "x"}, {"type": "llm"}]}')
    assert [step.id for step in flow.steps] == ["llm", "llm-3", "llm-2", "llm-4"]


@pytest.mark.parametrize(
    ("edges", "wanted"),
    [
        ("", [("a", "b", "default"), ("b", "c", "default")]),
        (', "edges": []', []),
        (', "edges": [{"from": "a", "to": "c"}]', [("a", "c", "default")]),
        (', "edges": [{"from": "a", "to": "nowhere"}]', [("a", "nowhere", "default")]),
    ],
)
def test_absent_edges_make_a_chain_and_an_empty_list_makes_none(edges, wanted):
    assert edges_of(flow_of('{"nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}]' + edges + "}")) == wanted


def test_a_flow_with_findings_says_the_first():
    with pytest.raises(PflowError) as raised:
        load('{"nodes": [{"id": "a", "retries": -1, "wait": -1}]}').usable()
    assert (
        str(raised.value)
        == "cannot load the flow: nodes[0].retries: PF00: it is an int (-1), less than 0; write 0 or more"
    )
    assert raised.value.exit == 65


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (
            '{"nodes": []\n "edges": []}',
            """line 2, column 2: a comma or bracket is missing: ^ "edges": []}""",
        ),
        ('{"a": [1 2]}', """line 1, column 10: a comma or bracket is missing: {"a": [1 ^ 2]}"""),
        ('{"a": True}', 'line 1, column 7: no JSON value: {"a": ^ True}'),
        ('{"a": 1} // x', 'line 1, column 10: the JSON ends before this: {"a": 1} ^ // x'),
        ('{"a":\n "x', 'line 2, column 2: the string that begins here has no end: ^ "x'),
        ('{"a": 1,\n "b": {"a": 1, "a": 2}}', "the key 'a' appears twice"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": 1e999}', "the number 1e999 does not fit in a float"),
        ('{"a": 18446744073709551616}', "the integer 18446744073709551616 does not fit in 64 bits"),
        ('{"a": "x\\ud800y"}', "its text has a lone surrogate"),
        ('{"a": ' + "[" * 100 + "]" * 100 + "}", "it is nested more than 100 levels deep"),
    ],
)
def test_what_is_not_json_says_where_with_a_caret(text, where):
    error = error_of(text)
    assert str(error) == f"cannot read the flow 'x.pflow.json': {where}"
    assert error.exit == 65


def test_what_is_nested_a_hundred_thousand_deep_is_refused():
    assert "nested too deeply" in str(error_of('{"a": ' + "[" * 100_000))


TOKENS = [*"{}[],:\\ \n01", '"a"', '"b"', '"', "\\ud83d", "\\ude00", "\\u00e9", "é"]
TOKENS += ["-", ".", "e", "true", "null", "NaN", "18446744073709551616", '{"a": 1', "'", "\x00"]


@given(st.lists(st.sampled_from(TOKENS), max_size=12).map("".join))
@example('{"a": [1, {"b": "\\ud83d\\ude00"}]}')
def test_what_parses_is_what_json_says(text):
    value, why = None, ""
    try:
        value = parse_json(text, "x")
    except PflowError as error:
        why = str(error)
    assert why.startswith("cannot read the flow 'x': ") if why else value == json.loads(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [("[]", "a list"), ('"x"', "a str"), ("null", "null"), ("12", "an int"), ("true", "a bool"), (" [1]\n", "a list")],
)
def test_json_that_is_no_object_is_no_flow(text, what):
    error = error_of(text)
    assert str(error) == f"cannot read the flow 'x.pflow.json': it holds {what}, not a dict"
    assert (error.exit, error.hint) == (65, 'a flow is {"nodes": [{"type": "…"}]}')


@pytest.mark.parametrize("text", ["", " \n"])
@pytest.mark.parametrize("name", ["x.pflow.json", "x.pflow", "stdin"])
def test_an_empty_text_is_no_flow(text, name):
    error = error_of(text, name)
    assert (str(error), error.exit) == (f"cannot read the flow '{name}': it is empty", 66)


def test_a_file_gives_its_directory(tmp_path, monkeypatch):
    (tmp_path / "a.pflow.json").write_text('{"nodes": [{"id": "é"}]}', encoding="utf-8")
    flow = load_file(str(tmp_path / "a.pflow.json"))
    assert (flow.steps[0].id, flow.directory) == ("é", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert load_file("a.pflow.json").directory == "."


def test_a_file_that_may_not_be_read_is_77(monkeypatch):
    def refuse(file, mode, closefd):
        raise PermissionError(errno.EACCES, "Permission denied", file)

    monkeypatch.setattr("pflow.flow.load.open", refuse, raising=False)
    with pytest.raises(PflowError) as raised:
        load_file("a.pflow.json")
    assert str(raised.value) == "cannot read the flow 'a.pflow.json': permission denied"
    assert raised.value.exit == 77


def test_a_file_that_is_not_utf_8_says_where(tmp_path):
    file = tmp_path / "a.pflow.json"
    file.write_bytes(b'{"name": "gr\xfcn"}')
    with pytest.raises(PflowError) as raised:
        load_file(str(file))
    assert str(raised.value) == f"cannot read the flow '{file}': it is not UTF-8 (byte 0xfc at 12)"
    assert raised.value.exit == 65


def test_a_flow_in_utf_16_is_named_as_that_without_a_mark_too(tmp_path):
    file = tmp_path / "a.pflow.json"
    file.write_bytes('{"nodes": [{"id": "llm"}]}'.encode("utf-16le"))
    with pytest.raises(PflowError) as raised:
        load_file(str(file))
    assert str(raised.value) == f"cannot read the flow '{file}': it is UTF-16LE, not UTF-8"
    assert (raised.value.hint, raised.value.exit) == ("iconv -f UTF-16LE -t UTF-8", 65)


@pytest.fixture
def pipes(monkeypatch):
    """What the pipe syntax is asked to parse."""
    asked = []

    def parse_pipe(words, catalog):
        asked.append((words, catalog.directory))
        return FlowSpec([Step("a", "a")], [])

    monkeypatch.setitem(sys.modules, "pflow.flow.pipe.read", SimpleNamespace(parse_pipe=parse_pipe))
    return asked


@pytest.mark.parametrize("text", ["read-file --path=a => llm\n", "# a comment\nread-file", "\n  true"])
def test_a_file_that_is_no_json_is_pipe_syntax(tmp_path, pipes, text):
    file = tmp_path / "flow.pflow"
    file.write_text(text)
    loaded = load_file(str(file))
    assert pipes == [([text], str(tmp_path))]
    assert loaded.findings == []


@pytest.mark.parametrize(("text", "name"), [("read-file => llm", "x.json"), ("[1", "stdin"), ('"a": 1', "x.pflow")])
def test_what_looks_like_json_is_not_taken_for_pipe_syntax(pipes, text, name):
    assert "cannot read the flow" in str(error_of(text, name))
    assert pipes == []


ONE = "from pocketflow import BatchFlow, Flow, Node\nimport pflow\nclass One(Node):\n    pass\n"
MAKES = "def make(kind=Flow):\n    return Flow(start=One())\n"
NEEDS = "def make_other(kind):\n    return Flow(start=One())\n"
MAIN = "def main():\n    flow = Flow(start=One())\n    flow.run({})\n"
TWO = "a = Flow(start=One())\nb = Flow(start=BatchFlow(start=One()))\n"


@pytest.mark.parametrize(
    ("code", "name", "found"),
    [
        ("flow = Flow(start=One())\nsame = flow\n" + MAKES, "", "one"),
        ("first = One()\ninner = Flow(start=first)\nouter = BatchFlow(start=inner)\n", "", "outer"),
        (MAKES + NEEDS + MAIN, "", "one"),
        (TWO, "b", "batch-flow"),
        ("_first = One()\n_flow = Flow(start=_first)\n", "", "first"),
        (TWO, "", "2: cannot find one Flow in "),
        (MAKES, "nope", "66: cannot find 'nope' in "),
        (NEEDS + MAIN, "", "66: cannot find a Flow in "),
        (MAKES, "One", "65: cannot load 'One' of "),
        ("Flow(start=One()).run({})\n", "", "65: it runs a flow when imported"),
        ("pflow.Flow(start=One()).main()\n", "", "65: it runs a flow when imported"),
        ("import nothing_of_this_name\n", "", "78: No module named"),
    ],
)
def test_the_only_flow_is_meant_else_the_only_maker_else_the_error_names_them(code, name, found, tmp_path):
    (tmp_path / "app.py").write_text(ONE + code)
    try:
        got = load_python(f"{tmp_path}/app.py", name, Catalog(), is_run_here=True).steps[0].id
    except PflowError as error:
        got = f"{error.exit}: {error.message}"
    forget_types()
    begin, _, why = found.partition(": ")
    assert got.startswith(begin)
    assert why in got
