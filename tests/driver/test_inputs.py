"""What a flow needs and nobody gave: asked for on a terminal, else said in words."""

from copy import deepcopy

import pytest

from pflow.driver import inputs as driver_inputs
from pflow.driver.driver import parse
from pflow.driver.inputs import ask_for, inputs_missing, missing_inputs
from pflow.errors import PflowError
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.wiring import wire
from pflow.stage.document import NOTHING, STORE, Document, Intake
from tests.engine.flows import plan_of

ISSUE = '''from pflow import Node


class GithubGetIssue(Node):
    """Fetch an issue.

    Interface:
    - Reads: shared["issue_number"]: int [flag issue]  # issue number
    - Reads: shared["repo"]: str = "here"  # whose
    """
'''
WEIGH = '''from pflow import Node


class Weigh(Node):
    """Weigh a text.

    Interface:
    - Reads: shared["text"]: str  # a text
    - Reads: shared["scale"]: any = "here" [pipe]  # on what
    """
'''
SECRET = '''from pflow import Node


class Secret(Node):
    """Need a key.

    Interface:
    - Reads: shared["key"]: str [secret]  # a key
    """
'''


@pytest.fixture(autouse=True)
def more_nodes(nodes):
    (nodes / "github_get_issue.py").write_text(ISSUE)
    (nodes / "secret.py").write_text(SECRET)


def test_where_nobody_is_to_be_asked_all_are_named_at_once(monkeypatch):
    monkeypatch.setattr(driver_inputs, "_open_terminal", lambda: None)
    plan = plan_of({"nodes": [{"id": "i", "type": "github-get-issue"}, {"id": "w", "type": "wait_for"}]})
    assert [each.name for each in missing_inputs(plan, {"issue_number": 1})] == ["file"]
    with pytest.raises(PflowError) as caught:
        ask_for(plan, missing_inputs(plan, {}))
    assert (caught.value.exit, caught.value.hint) == (66, "--issue=STR --file=PATH")
    assert caught.value.message == (
        "cannot find 'issue_number' (its number, #12, or its URL) for github-get-issue, "
        "'file' (the file) for wait_for: nothing gives it (PF03)"
    )


def test_the_mapping_that_would_give_it_is_told_as_the_flow_is_written(nodes):
    (nodes / "weigh.py").write_text(WEIGH)
    ir = plan_of({"nodes": [{"id": "load", "type": "load-json"}, {"id": "w", "type": "weigh"}]})
    for plan, mapping in (
        (ir, '"mappings": {"w": {"input_mappings": {"text": "load.data"}}}'),
        (wire(parse_pipe(["load-json:load => weigh:w --scale=1"])), "w --map-in=text=load.data"),
    ):
        assert inputs_missing(plan, missing_inputs(plan, {})).hint == f"--text=STR; or {mapping}"


@pytest.mark.parametrize(("type", "is_dry"), [("secret", False), ("github-get-issue", True)])
def test_a_secret_is_never_asked_for_and_nothing_is_in_a_dry_run(monkeypatch, type, is_dry):
    monkeypatch.setattr(driver_inputs, "_open_terminal", lambda: pytest.fail("it asks"))
    plan = plan_of({"nodes": [{"id": "s", "type": type}]})
    with pytest.raises(PflowError) as caught:
        ask_for(plan, missing_inputs(plan, {}), is_dry=is_dry)
    assert caught.value.hint == ("--issue=STR" if is_dry else "a secret is never a flag; it comes from the store")


class Terminal:
    """A terminal whose person types these lines, and then is gone."""

    def __init__(self, lines):
        self.lines = list(lines)
        self.said = []

    def read_line(self, question):
        self.said.append(question)
        return self.lines.pop(0) if self.lines else None

    read_path = read_line

    def say(self, text):
        self.said.append(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.said.append("closed")


@pytest.mark.parametrize(
    ("type", "lines", "value", "end"),
    [
        ("int", ["twelve", "", "12"], 12, "int? "),
        ("path", ["a b"], "a b", "path? "),
        ("bool", ["maybe", "Y"], True, "y|n? "),
        ("warm|cold", ["hot", "cold"], "cold", "warm|cold? "),
        ("dict", ["[1]", '{"a": 1}'], {"a": 1}, "JSON object? "),
        ("list[int]", ["two", "2"], [2], "an item, or a JSON list? "),
        ("list[int]", ["[1", "[1, 2]"], [1, 2], "an item, or a JSON list? "),
        ("int", ["x"], None, "int? "),
    ],
)
def test_it_asks_until_an_answer_is_of_the_input_s_type(monkeypatch, type, lines, value, end):
    terminal = Terminal(lines)
    monkeypatch.setattr(driver_inputs, "_open_terminal", lambda: terminal)
    ir = {"inputs": {"it": {"type": type, "description": "x"}}}
    ir["nodes"] = [{"id": "e", "type": "wait_for", "inputs": {"file": "$it"}}]
    plan = plan_of(ir)
    if value is None:
        with pytest.raises(PflowError, match="nothing gives it"):
            ask_for(plan, [plan.inputs["it"]])
    else:
        assert ask_for(plan, [plan.inputs["it"]]) == {"it": value}
        assert len([each for each in terminal.said if each.startswith("cannot take --it")]) == len(
            [line for line in lines[:-1] if line]
        )
    assert terminal.said[0] == f"wait_for needs --it (x): {end}"
    assert terminal.said[-1] == "closed"


def test_a_flag_that_the_run_would_take_for_its_own_is_not_told():
    ir = {"inputs": {"json": {"type": "str"}, "jobs": {"type": "str"}, "it": {"type": "str"}}}
    ir["nodes"] = [{"id": "e", "type": "shell", "inputs": {"command": "true", "args": ["$json", "$jobs", "$it"]}}]
    plan = plan_of(ir)
    error = inputs_missing(plan, missing_inputs(plan, {}))
    assert error.hint.startswith("--it=STR; an input with the name of a flag of pflow run comes from the store")
    assert [each["name"] for each in error.details["missing"]] == ["it"]


def started(source, flags, store):
    """What a flow whose second step takes its text from `source` lacks, and the store that it begins with."""
    nodes = [{"id": "a", "type": "split-text", "inputs": {"text": "b"}}, {"id": "q", "type": "split-text"}]
    inputs = parse(plan_of({"nodes": nodes, "mappings": {"q": {"input_mappings": {"text": source}}}}), flags)[1]
    document = Document()
    for key, value in store.items():
        document.set(key, value)
    missing = [each.name for each in inputs.missing(document)]
    inputs.fill(begun := {**store})
    return missing, begun


@pytest.mark.parametrize(
    ("flags", "store", "missing", "begun"),
    [
        (["--q.text=x"], {}, [], {"deep": {"p": "x"}}),
        (["--q.text=x"], {"deep": {"p": "y", "k": 1}}, [], {"deep": {"p": "x", "k": 1}}),
        (["--deep.p=5"], {"z": 0}, [], {"z": 0, "deep": {"p": "5"}}),
        (['--deep={"p": 1}'], {}, [], {"deep": '{"p": 1}'}),
        ([], {"deep": {"p": 1}}, [], {"deep": {"p": 1}}),
        ([], {"deep": {"k": 1}}, ["deep.p"], {"deep": {"k": 1}}),
        ([], {}, ["deep.p"], {}),
    ],
)
def test_a_flag_fills_the_place_in_an_input_that_a_mapping_names(flags, store, missing, begun):
    kept = deepcopy(store)
    assert started("deep.p", flags, store) == (missing, begun)
    assert store == kept


@pytest.mark.parametrize("source", ["template:${deep.p}!", ["x.y", "w.z"]])
def test_a_flag_of_a_read_that_takes_more_than_one_place_is_refused(source):
    with pytest.raises(PflowError, match=r"cannot take --q.text: 'q' takes it from .* \(PF01\)"):
        started(source, ["--q.text=x"], {})


@pytest.mark.parametrize(
    ("source", "flags", "store", "missing"),
    [
        (["x.y", "z"], [], {"z": "z"}, []),
        (["x.y", "z"], [], {"x": {"y": "y"}}, []),
        (["x.y", "z"], [], {"x": {"k": 1}}, ["z"]),
        (["x.y", "z"], [], {}, ["z"]),
        (["x.y", "z"], ["--q.text=t"], {}, []),
        (["x.y", "z"], ['--x={"y": 1}'], {}, []),
        (["z", "stdin"], [], {"stdin": "s"}, []),
        (["z", "stdin"], [], {}, ["z"]),
        (["a.chunks[0]", "z"], [], {}, []),
        (["z"], [], {}, ["z"]),
    ],
)
def test_of_a_list_of_places_one_must_be_there(source, flags, store, missing):
    assert started(source, flags, store)[0] == missing


def test_a_place_that_a_flag_fills_for_one_step_is_one_of_the_list_of_another():
    nodes = [{"id": "a", "type": "split-text"}, {"id": "q", "type": "split-text"}]
    sources = {"a": {"input_mappings": {"text": "deep.p"}}, "q": {"input_mappings": {"text": ["deep.p", "z"]}}}
    for flags, missing in ((["--a.text=x"], []), (["--z=x"], ["deep.p"]), ([], ["deep.p", "z"])):
        inputs = parse(plan_of({"nodes": nodes, "mappings": sources}), flags)[1]
        assert [each.name for each in inputs.missing(Document())] == missing


def test_a_first_read_that_no_input_gives_is_missing_before_anything_runs():
    node = {"id": "s", "type": "write-file", "inputs": {"path": "$p"}}
    wired = plan_of({"inputs": {"p": {"default": "o"}}, "nodes": [node]})
    for kind in (NOTHING, STORE):
        with pytest.raises(PflowError, match="for write-file: nothing came through") as caught:
            parse(wired, [])[1].with_pipe(Intake(Document(), kind), allow_empty=False)
        assert (caught.value.exit, "--content" in caught.value.hint) == (66, False)
    with pytest.raises(PflowError, match=r"cannot take --content: 's' takes it from the pipe \(PF01\)"):
        parse(wired, ["--content=x"])
    filled = plan_of({"inputs": {"p": {"default": "o"}}, "nodes": [{**node, "params": {"content": "x"}}]})
    assert parse(filled, [])[1].with_pipe(Intake(Document(), NOTHING), allow_empty=False).values == {}
