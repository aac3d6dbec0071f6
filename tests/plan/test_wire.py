"""Wiring a hand-made flow: what names, the pipe and types settle, and what a model may add to it."""

from __future__ import annotations

import json

import pytest

from pflow.catalog.find import forget_types
from pflow.errors import PflowError
from pflow.flow.ir import load_document
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.plan.change import ChangeOptions
from pflow.plan.wire import Wiring, main
from tests.flow.checked import FILES, edges, flow

NUMBER = {"issue_number": {"type": "int"}}
JUDGE = flow("fetch", "j:judge", inputs=NUMBER)
"""Two parts of what is fetched are texts: only a model can tell which one is judged."""
READ = {"id": "read", "type": "read-file", "inputs": {"path": "a"}}
ASK = {"id": "query", "type": "llm", "inputs": {"prompt": "Sum up"}}
WRITE = {"id": "write", "type": "write-file", "inputs": {"path": "b"}}
SECRET = {
    "keyed.py": "import pocketflow\n\nclass Keyed(pocketflow.Node):\n    '''Take a key.\n\n    Interface:\n"
    "    - Reads: shared[\"key\"]: str [secret]  # who asks\n    '''\n"
}


@pytest.fixture(autouse=True)
def nodes(tmp_path, monkeypatch):
    """The nodes of the rules' tests, in a directory that the test works in."""
    folder = tmp_path / "nodes"
    folder.mkdir()
    for name, text in {**FILES, **SECRET}.items():
        (folder / name).write_text(text)
    monkeypatch.setenv("PFLOW_NODES", str(folder))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("PFLOW_MODEL", "PFLOW_PLAN_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.chdir(tmp_path)
    forget_types()
    yield
    forget_types()


def settled(document):
    """Each mapping that is found without a model, and after them each gap that is left, with a `?`."""
    wiring = Wiring(wire(load_document(document, "flow", FlowCatalog())))
    wiring.fill()
    return [f"{each} {each.source}" for each in wiring.filled] + [f"{gap} ?" for gap in wiring.left]


def wired(capfd, document, **options):
    """The mappings of the flow that comes out, with the flow in a file; what was said on stderr."""
    with open("f.pflow.json", "w") as file:
        json.dump(document, file)
    code = main(["f.pflow.json"], ChangeOptions(**options))
    out, err = capfd.readouterr()
    assert code == 0
    return {id: each["input_mappings"] for id, each in json.loads(out).get("mappings", {}).items()}, err


def refused(capfd, document, **options):
    """The error, and what was said on stderr. Nothing is on stdout, and the file is as it was."""
    with open("f.pflow.json", "w") as file:
        json.dump(document, file)
    with pytest.raises(PflowError) as caught:
        main(["f.pflow.json"], ChangeOptions(**{"write": True, "yes": True, **options}))
    out, err = capfd.readouterr()
    assert out == ""
    with open("f.pflow.json") as file:
        assert json.load(file) == document
    return caught.value, err


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        # by equal name: a declared input, by the read's own name or by one more flag of it
        (flow("load", inputs={"path": {"type": "path"}}), ["load.path path"]),
        # by the name of a part
        (
            flow("fetch", {"id": "c", "type": "count", "params": {"least": 1}}, inputs=NUMBER),
            ["c.items fetch.issue_data.labels"],
        ),
        # by the pipe, before the only one of the type
        (flow("query", "save", inputs={"prompt": {"type": "str"}, "path": {"type": "path"}}),
         ["save.content query.answer", "save.path path"]),
        # by the pipe, though another step's write has the read's name, where else a result would be for nothing
        (flow(READ, ASK, WRITE), ["write.content query.response", "query.text read.content"]),
        (flow(READ, ASK), ["query.text read.content"]),
        (flow(READ, {"id": "run", "type": "shell", "inputs": {"command": "sort", "input": "y"}}, WRITE),
         ["write.content run.stdout"]),
        # of two ways the one that was taken
        (flow(READ, "j:judge", {**ASK, "id": "one"}, {**ASK, "id": "other"}, WRITE,
              edges=edges("read j", "j one", "j failed other", "one write", "other write")),
         ["write.content ['one.response', 'other.response']", "one.text read.content", "other.text read.content"]),
    ],
)  # fmt: skip
def test_what_has_one_answer_is_settled(document, expected):
    assert sorted(settled(document)) == sorted(expected)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (JUDGE, ["j.answer ?"]),
        (flow("fetch", "query", inputs=NUMBER), ["query.text fetch.issue_data", "query.prompt ?"]),
        (flow("load", inputs={"one": {"type": "path"}, "other": {"type": "path"}}), ["load.path ?"]),
        # one input of the type, and two files: which one is written over would be a guess
        (
            flow("load", {"id": "s", "type": "save", "inputs": {"content": 1}}, inputs={"file": {"type": "path"}}),
            ["load.path ?", "s.path ?"],
        ),
        # no type decides which file it is
        (flow("load", inputs={"source": {"type": "path"}}), ["load.path ?"]),
        # nothing fits
        (flow("query", {"id": "c", "type": "count", "params": {"least": 1}}, inputs={"prompt": {}}), ["c.items ?"]),
        # an optional input may not be there
        (flow("load", inputs={"source": {"type": "path", "required": False}}), ["load.path ?"]),
    ],
)
def test_what_has_none_or_several_is_left(document, expected):
    assert sorted(settled(document)) == sorted(expected)


@pytest.mark.parametrize(
    "document",
    [
        flow("fetch"),
        flow("fetch", {"id": "query", "type": "query", "inputs": {"prompt": "Fix ${issue_data}"}}),
        flow(READ, {**ASK, "inputs": {"prompt": "Sum up ${read.content}"}}),
        flow("query", "judge"),
        flow("anything", "j:judge", inputs={"x": {}}),
        flow("query", "j:judge", inputs={"prompt": {"type": "str"}}),
    ],
)
def test_a_flow_that_needs_nothing_is_left_alone(document):
    assert settled(document) == []


def test_data_never_decides_where_a_file_is_written(capfd):
    document = flow("fetch", {"id": "s", "type": "save", "inputs": {"content": 1}}, inputs=NUMBER)
    error, _ = refused(capfd, document)
    assert error.exit == 78
    assert "s.path" in error.message


def test_what_a_branch_writes_is_not_taken_by_the_other():
    document = flow("a:query", "b:fetch", "c:count", inputs={"prompt": {}, **NUMBER}, edges=edges("a b", "a c"))
    document["nodes"][2]["params"] = {"least": 1}
    assert settled(document) == ["c.items ?"]


def test_a_step_that_is_run_for_its_effect_gives_nothing_unasked():
    make = {"id": "make", "type": "shell", "inputs": {"command": "mkdir x"}}
    assert settled(flow(make, ASK)) == []


def test_several_steps_that_lead_to_one_give_a_list():
    document = flow(
        "x:query", "j:judge", "y:fetch", "s:save",
        inputs={"prompt": {}, **NUMBER, "path": {"type": "path"}},
        edges=edges("x j", "j failed y", "j s", "y s"),
    )  # fmt: skip
    assert "s.content ['j.verdict', 'y.issue_data']" in settled(document)


def test_a_mapping_that_would_break_a_rule_is_left_out(capfd):
    load = {"id": "load", "type": "load", "inputs": {"path": "a"}}
    content = {"content": {"type": "str", "required": False}}
    document = flow(ASK, {"id": "save", "type": "save", "inputs": {"path": "p"}}, load, inputs=content)
    mappings, err = wired(capfd, document)
    assert mappings == {}
    assert "nothing to wire" in err


@pytest.mark.parametrize(
    "source", ["query.respons", "query.content", "query..content", "template:${query.respons}", ""]
)
def test_a_wrong_source_is_left_for_it_meant_something(source):
    given = {"query": {"input_mappings": {"text": "read.content"}}, "write": {"input_mappings": {"content": source}}}
    assert settled(flow(READ, ASK, WRITE, mappings=given)) == ["write.content ?"]


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (flow("nobody", "j:judge", inputs=NUMBER), "nodes[0].type"),
        (flow("fetch", "j:judge", inputs=NUMBER, outputs={"x": "nowhere.y"}), "outputs.x"),
        (flow("fetch", {"id": "a", "type": "query", "inputs": {"prompt": "${fetch.no}"}}), "nodes[1].inputs.prompt"),
        ({"nodes": []}, "nodes"),
        (flow({"id": 7, "typ": "query"}), "nodes[0]"),
    ],
)
def test_what_no_mapping_puts_right_is_said_and_nobody_asked(capfd, document, place):
    error, err = refused(capfd, document, model="no-such-model")
    assert error.exit == 65
    assert f"{place}" in err
    assert [each for each in error.details["findings"] if each["place"].startswith(place)]


def test_a_read_that_may_stay_an_input_does_so_without_a_model(capfd):
    mappings, err = wired(capfd, flow("fetch", "j:judge"))
    assert mappings == {}
    assert "j.answer has no source, and stays an input of the flow: it could be fetch.issue_data" in err


@pytest.mark.parametrize(("model", "tries"), [("wire-right", 1), ("wire-second", 2)])
def test_a_model_settles_the_rest(capfd, server, model, tries):
    mappings, err = wired(capfd, JUDGE, model=model)
    assert mappings == {"j": {"answer": "fetch.issue_data.title"}}
    assert len(server.requests(model)) == tries
    assert "j.answer ← fetch.issue_data.title: the model says so" in err


def test_a_model_that_is_never_right_writes_nothing(capfd, server):
    error, err = refused(capfd, JUDGE, model="wire-never")
    assert error.exit == 65
    assert len(server.requests("wire-never")) == 2
    assert "'nowhere.title' is not one of its sources" in err
    assert error.details["findings"]


@pytest.mark.parametrize(
    ("model", "document"),
    [
        ("wire-data-path", flow("fetch", {"id": "s", "type": "save", "inputs": {"content": 1}}, inputs=NUMBER)),
        ("wire-secret", flow("k:keyed", "fetch", "j:judge", inputs={"key": {"type": "str"}, **NUMBER})),
    ],
)
def test_a_model_can_take_neither_a_secret_nor_a_path_from_data(capfd, server, model, document):
    error, err = refused(capfd, document, model=model)
    assert error.exit == 65
    assert "is not one of its sources" in err


def test_a_model_is_told_the_reads_and_their_candidates(capfd, server):
    wired(capfd, JUDGE, model="wire-right")
    (request,) = server.requests("wire-right")
    told = str(request["body"]["messages"])
    assert "j.answer: str (what to judge): it could be issue_number (int), fetch.issue_data (dict), fetch." in told
    assert "judge: A node." in told
    assert request["body"]["messages"][0]["content"].startswith("You write flows for pflow")


def test_the_grammar_of_an_answer_has_only_the_candidates():
    wiring = Wiring(wire(load_document(JUDGE, "flow", FlowCatalog())))
    wiring.fill()
    grammar = wiring.turns().grammar(0)
    assert grammar.startswith('root ::= ( "j.answer = " ( "issue_number" | "fetch.issue_data" | "fetch.issue_data.')
    assert grammar.endswith(' ) "; " )\n')
