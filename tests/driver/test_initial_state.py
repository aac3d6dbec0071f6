"""What a run began with: kept as JSON, and restored so that the run goes on as it would have."""

import json
import os

import pytest

from pflow.binding.sources import find
from pflow.driver.arguments import RunFlags
from pflow.driver.initial_state import (
    InitialState,
    enter,
    is_same,
    restore_environment,
    restore_flow,
    restore_inputs,
    restore_intake,
)
from pflow.driver.inputs import RunInputs
from pflow.errors import PflowError
from pflow.flow.ir import flow_hash, flow_to_ir
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog, load_named
from pflow.flow.wiring import wire
from pflow.record.journal import pieces_of, read_lines, seal, unseal
from pflow.record.snapshot import directory_of
from pflow.stage.document import NOTHING, RAW, STORE, Document, Intake, new_run_id, read_document
from pflow.values.jsontext import text_of
from pflow.values.secrets import Secrets
from tests.engine.flows import plan_of, write_flow

FLOW = {
    "nodes": [
        {"id": "in", "type": "read-file"},
        {"id": "out", "type": "write-file", "inputs": {"path": "o"}},
        {"id": "ask", "type": "llm", "inputs": {"prompt": "hi"}},
    ]
}
STORED = b'{"$pflow":{"v":1,"last":"a.b","run":"R","members":3},\n"a":{"b":"x"},\n"odd":[1, 2 ,NaN],\n"\xc3\xa9":1\n}\n'


def written(begin: dict) -> bytes:
    return b"".join(pieces_of(begin))


def again(begin: dict) -> dict:
    """It, once it was written and read."""
    return read_lines(written(begin))[0][0]


def kept(intake: Intake, **values: object) -> tuple[RunInputs, dict]:
    """The inputs of a run, and what its journal has once it was written and read."""
    inputs = RunInputs(plan_of(FLOW))
    for name, value in values.items():
        inputs.set_input(name, value)
    begin = InitialState(inputs, intake, Secrets()).record(RunFlags({"jobs": ["3"]}))
    return inputs, again(begin)


@pytest.mark.parametrize("data", [STORED, STORED.replace(b"NaN", b"1e3")])
def test_a_store_comes_back_in_its_order_and_byte_for_byte(data):
    document = read_document(data)
    assert document is not None
    restored = restore_intake(kept(Intake(document, STORE, data))[1])
    assert restored.kind == STORE
    assert b"".join(map(bytes, restored.document.pieces())) == b"".join(map(bytes, document.pieces()))


@pytest.mark.parametrize("data", ["a text", b"\xff\x00"])
def test_raw_input_comes_back(data):
    document = Document({"v": 1, "last": "stdin"})
    document.set("stdin", data)
    restored = restore_intake(kept(Intake(document, RAW))[1])
    assert (restored.kind, restored.document["stdin"], restored.document.header["last"]) == (RAW, data, "stdin")


def test_flags_and_answers_come_back():
    inputs, begin = kept(Intake(Document(), NOTHING), path="in.txt")
    inputs.params["ask"] = {"temperature": 1.0}
    restored = restore_inputs(begin, plan_of(FLOW), restore_intake(begin))
    assert (restored.values, restored.data, restored.origins) == (inputs.values, inputs.data, inputs.origins)
    assert begin["flags"]["jobs"] == 3


def test_a_path_that_is_not_utf_8_comes_back_as_its_bytes():
    _, begin = kept(Intake(Document(), NOTHING), path=os.fsdecode(b"\xff"))
    assert restore_inputs(begin, plan_of(FLOW), restore_intake(begin)).values["path"] == b"\xff"


def test_what_a_declared_input_took_from_the_pipe_is_taken_from_there_again():
    flow = plan_of({"inputs": {"text": {"pipe": True}}, "nodes": [{"id": "t", "type": "template"}]})
    for given, origin in (({}, "stdin"), ({"text": "by a flag"}, "--text")):
        document = Document({"v": 1, "last": "stdin"})
        document.set("stdin", "piped")
        intake, inputs = Intake(document, STORE), RunInputs(flow)
        for name, value in given.items():
            inputs.set_input(name, value)
        inputs = inputs.with_pipe(intake, allow_empty=False)
        begin = again(InitialState(inputs, intake, Secrets()).record(RunFlags({})))
        restored = restore_inputs(begin, flow, restore_intake(begin)).with_pipe(
            restore_intake(begin), allow_empty=False
        )
        assert restored.values == inputs.values == {"text": given.get("text", "piped")}
        assert restored.origins == inputs.origins
        assert restored.origins["text"] == origin
        assert restored.stored_by_flags() == inputs.stored_by_flags()


def test_variables_of_params_are_as_they_were_and_others_are_left_alone(monkeypatch):
    monkeypatch.setenv("PFLOW_MODEL", "before")
    begin = kept(Intake(Document(), NOTHING))[1]
    monkeypatch.setenv("PFLOW_MODEL", "after")
    monkeypatch.setenv("OTHER", "after")
    restore_environment(begin)
    assert (os.environ["PFLOW_MODEL"], os.environ["OTHER"]) == ("before", "after")
    monkeypatch.delenv("PFLOW_MODEL")
    begin = kept(Intake(Document(), NOTHING))[1]
    monkeypatch.setenv("PFLOW_MODEL", "after")
    restore_environment(begin)
    assert "PFLOW_MODEL" not in os.environ


def sealed(secret: object, store: dict) -> dict:
    """What a journal has of a run with this store, in which this is a secret."""
    document = Document({"v": 1})
    for key, value in store.items():
        document.set(key, value)
    secrets = Secrets()
    secrets.add(secret)
    begin = kept(Intake(document, STORE))[1]
    for _ in range(2):
        seal(begin, secrets, b"key")
    return begin


@pytest.mark.parametrize(
    ("store", "name"),
    [
        ({"token": "CANARY", "other": "x"}, "token"),
        ({"api": {"url": "https://CANARY@host", "port": 1}}, "api.url"),
        ({"list": ["a", "CANARY"]}, "list"),
        ({"odd": {"CANARY": 1}}, "odd"),
        ({"piped": "CANARY\n"}, "piped"),
        ({"pin": 1234567}, "pin"),
    ],
)
def test_a_secret_is_kept_as_a_digest_and_comes_back_when_its_text_is_given_again(store, name):
    begin = sealed(["CANARY", 1234567], store)
    assert not any(secret in written(begin) for secret in (b"CANARY", b"1234567"))
    text = text_of(find(store, tuple(name.split(".")))).removesuffix("\n")
    given = again(begin)
    assert unseal(given, {name: text}.__getitem__, b"key") == []
    assert {key: restore_intake(given).document[key] for key in store} == store
    assert unseal(again(begin), lambda name: "another", b"key") == [name]
    assert sealed(["CANARY", 1234567], store) == begin


@pytest.mark.parametrize("text", ['[NaN,"CANARY"]', '[1e999,"\\u0043ANARY", "\u00e4"]', '["CANARY"'])
def test_a_secret_in_what_cannot_be_decoded_is_kept_as_a_digest(text):
    document, secrets = Document({"v": 1}), Secrets()
    document.set_json("odd", text.encode())
    document.set_json("plain", b"[NaN]")
    secrets.add("CANARY")
    begin = kept(Intake(document, STORE))[1]
    seal(begin, secrets, b"key")
    assert b"ANARY" not in written(begin)
    given = again(begin)
    assert unseal(given, {"odd": text}.__getitem__, b"key") == []
    restored = restore_intake(given).document
    assert [(key, bytes(restored.json(key))) for key in restored] == [("odd", text.encode()), ("plain", b"[NaN]")]


def test_runs_are_the_same_by_flow_store_flags_and_place_and_not_by_the_pipe_around_them():
    def begin(**values: object) -> dict:
        document = Document({"v": 1, "last": "stdin", "run": new_run_id()})
        document.set("stdin", values.pop("stdin", "a"))
        return kept(Intake(document, RAW), **values)[1]

    assert is_same(begin(), begin())
    assert not is_same(begin(), begin(stdin="b"))
    assert not is_same(begin(), begin(path="p"))
    assert not is_same(begin(), {**begin(), "flow": "another"})
    assert not is_same(begin(), {**begin(), "place": {"directory": "/"}})


def restored_flow(tmp_path, flow):
    """The flow as a run in another directory keeps it, loaded again."""
    run = tmp_path / "run"
    run.mkdir(exist_ok=True)
    (run / "flow.pflow.json").write_text(json.dumps(flow_to_ir(flow)))
    return restore_flow(str(run), {"flow_directory": directory_of(flow), "file": ""})


@pytest.mark.parametrize(
    "words",
    [
        "text --text=a => echo:e => count --by=2",
        "text --text='a $$5' =default=> echo; text => count",
        "echo --each --jobs=2 --keep-going --with-item => text --text='n: $n'",
        "count:c =done=> text:t; c => text:u; u => echo:e; t => e",
    ],
)
def test_pipe_syntax_is_the_same_flow_again(tmp_path, words):
    flow = parse_pipe([words], FlowCatalog())
    again = restored_flow(tmp_path, flow)
    assert flow_to_ir(again) == flow_to_ir(flow)
    assert flow_hash(wire(again)) == flow_hash(wire(flow))


def test_the_paths_in_a_flow_begin_where_its_file_is(tmp_path, monkeypatch):
    (tmp_path / "flows").mkdir()
    inner = write_flow(tmp_path / "flows", "inner", {"nodes": [{"type": "text"}]})
    write_flow(tmp_path / "flows", "outer", {"nodes": [{"id": "a", "type": inner}]})
    monkeypatch.chdir(tmp_path)
    flow = load_named(["flows/outer.pflow.json"]).usable()
    before = flow_hash(wire(flow))
    again = restored_flow(tmp_path, flow)
    monkeypatch.chdir("/")
    assert flow_hash(wire(again)) == before


def test_a_flow_that_is_gone_or_damaged_is_an_error(tmp_path):
    with pytest.raises(PflowError, match=r"cannot read the flow '.*flow.pflow.json': no such file") as gone:
        restore_flow(str(tmp_path), {"flow_directory": "/", "file": ""})
    (tmp_path / "flow.pflow.json").write_text('{"nodes": [')
    with pytest.raises(PflowError, match="line 1") as damaged:
        restore_flow(str(tmp_path), {"flow_directory": "/", "file": ""})
    assert (gone.value.exit, damaged.value.exit) == (66, 65)


def test_a_directory_that_is_gone_is_an_error(tmp_path):
    before = os.getcwd()
    with pytest.raises(PflowError, match=r"cannot go on in '.*gone', where the run was: no such file") as gone:
        enter(str(tmp_path / "gone"), "go on")
    assert (gone.value.exit, os.getcwd()) == (66, before)
