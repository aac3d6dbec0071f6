"""The derived snapshot: overrides and injections, without secrets and without what is too large."""

import hashlib
import os

import pytest

from pflow.driver.driver import parse
from pflow.driver.initial_state import InitialState
from pflow.driver.inputs import RunInputs
from pflow.flow.flags import DATA, INPUT, PARAM
from pflow.flow.ir import flow_hash
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.wiring import wire
from pflow.record.snapshot import MOST_PIPED, Snapshot, place_of
from pflow.stage.document import RAW, STORE, Document, Intake, read_document, read_json
from pflow.values.jsontext import decode, encode
from pflow.values.secrets import Secrets
from tests.engine.flows import plan_of, write_flow

LOCKED = '''from pflow import Node


class Locked(Node):
    """Post a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # what to post
    - Reads: shared["key"]: str = null [secret]  # who may
    - Params: token: str = null [secret] [env LOCKED_TOKEN]  # whose it is
    - Params: level: int = 1 [env LOCKED_LEVEL]  # how loud
    """
'''


def came(store, **header):
    """A store that came through the pipe."""
    document = Document({"v": 1, **header})
    for key, value in store.items():
        document.set(key, value)
    return document


@pytest.fixture
def locked(nodes):
    """A flow of one step that takes secrets, with these members."""
    (nodes / "locked.py").write_text(LOCKED)
    return lambda mapped=None, **members: plan_of(
        {"nodes": [{"id": "one", "type": "locked", **members}], "mappings": {"one": {"input_mappings": mapped or {}}}}
    )


@pytest.mark.parametrize(
    ("mapped", "params", "store", "kept"),
    [
        ({}, {}, {"key": "hush", "text": "x"}, {"key": "***", "text": "x"}),
        ({"key": "vault.key"}, {}, {"vault": {"key": "hush"}, "key": "x"}, {"vault": "***", "key": "x"}),
        ({}, {"token": "$mine"}, {"mine": "hush", "text": "x"}, {"mine": "***", "text": "x"}),
    ],
)
def test_a_secret_that_comes_through_the_pipe_is_masked(locked, mapped, params, store, kept):
    snapshot = Snapshot()
    snapshot.note_piped(locked(mapped, params=params), Intake(came(store), STORE), store)
    assert snapshot.cli_injections == kept


@pytest.mark.parametrize(
    ("node", "mapped", "inputs"),
    [
        ({}, {"key": "stdin"}, {}),
        ({}, {"key": "template:Bearer ${stdin}"}, {}),
        ({"params": {"token": "$stdin"}}, {}, {}),
        ({"type": "opened"}, {}, {}),
        ({"batch": {"over": "stdin"}}, {"key": "item"}, {}),
        ({"batch": {"over": "stdin", "as": "key"}}, {}, {}),
        ({"batch": {"over": "stdin"}, "params": {"token": "$item"}}, {}, {}),
        ({}, {"key": "given"}, {"given": {"pipe": True}}),
    ],
)
def test_a_secret_that_comes_raw_is_masked(locked, nodes, node, mapped, inputs):
    opened = LOCKED.replace("Locked", "Opened").replace(" [pipe]  # what", "  # what")
    (nodes / "opened.py").write_text(opened.replace("[secret]  # who may", "[pipe] [secret]  # who may"))
    flow = {"nodes": [{"id": "one", "type": "locked", **node}], "mappings": {"one": {"input_mappings": mapped}}}
    snapshot = Snapshot()
    snapshot.note_piped(plan_of({**flow, "inputs": inputs} if inputs else flow), Intake({"stdin": "hush"}, RAW), {})
    assert snapshot.cli_injections == {"stdin": "***"}


def test_a_secret_member_of_the_object_that_the_pipe_carries_is_masked(locked):
    wired, intake, snapshot = locked(), Intake(read_json(b'{"key":"hush","n":1}'), STORE), Snapshot()
    wired = RunInputs(wired).with_pipe(intake, allow_empty=False).wired
    snapshot.note_piped(wired, intake, dict(intake.document))
    carried = {"key": "***", "n": 1}
    assert snapshot.cli_injections == {"key": "***", "n": 1, "stdin": carried, "one.text": carried}


def test_the_object_that_the_pipe_carries_is_masked_where_a_secret_is_a_part_of_it(locked):
    wired, intake, snapshot = locked({"key": "stdin.key"}), Intake(read_json(b'{"key":"hush"}'), STORE), Snapshot()
    wired = RunInputs(wired).with_pipe(intake, allow_empty=False).wired
    snapshot.note_piped(wired, intake, {"stdin": intake.document["stdin"]})
    assert snapshot.cli_injections == {"stdin": "***", "one.text": "***"}


@pytest.mark.parametrize(
    ("text", "kept"),
    [({"a": "at hush!"}, {"a": "at ***!"}), (b"\xffhush", "***"), ({"hush": 1}, "***"), ('["hush"]', '["***"]')],
)
def test_a_secret_is_masked_wherever_it_stands_in_what_came_through_the_pipe(locked, text, kept):
    secrets = Secrets()
    secrets.add("hush")
    snapshot, store = Snapshot(secrets), {"key": "hush", "text": text}
    snapshot.note_piped(locked(), Intake(came(store), STORE), store)
    assert snapshot.cli_injections == {"key": "***", "text": kept}
    assert snapshot.piped["again"] == ["key", "text"]


def test_values_are_kept_until_they_have_ten_megabytes_in_all(locked, monkeypatch):
    monkeypatch.setattr("pflow.record.snapshot.MOST_PIPED", 10)
    snapshot, store = Snapshot(), {"text": "12345", "more": "67890", "last": "x"}
    snapshot.note_piped(locked(), Intake(came(store), STORE), store)
    assert snapshot.piped["again"] == ["last"]


def test_what_the_pipe_carries_is_masked_where_it_is_a_secret_under_another_name(locked):
    flow = {
        "nodes": [{"id": "one", "type": "locked", "inputs": {"key": "$given"}}],
        "inputs": {"given": {"pipe": True}},
    }
    store, snapshot = came({"vault": {"key": "hush"}, "text": "x"}, last="vault.key"), Snapshot()
    snapshot.note_piped(plan_of(flow), Intake(store, STORE), dict(store))
    assert snapshot.cli_injections == {"vault": "***", "text": "x"}


def test_what_the_pipe_carries_is_masked_where_a_batch_over_it_has_secret_items(locked):
    wired, snapshot = locked({"key": "item"}, batch={"over": "stdin"}), Snapshot()
    store = came({"vault": ["hush"], "text": "x"}, last="vault")
    wired = RunInputs(wired).with_pipe(Intake(store, STORE), allow_empty=False).wired
    snapshot.note_piped(wired, Intake(store, STORE), dict(store))
    assert snapshot.cli_injections == {"vault": "***", "text": "x"}


def test_a_secret_param_that_an_earlier_step_writes_is_masked(locked):
    steps = [{"id": "ask", "type": "shell", "inputs": {"command": "x"}}, {"id": "one", "type": "locked"}]
    snapshot, store = Snapshot(), {"stdout": "hush"}
    wired = plan_of({"nodes": [steps[0], {**steps[1], "params": {"token": "$stdout"}}]})
    snapshot.note_piped(wired, Intake(came(store), STORE), store)
    assert snapshot.cli_injections == {"stdout": "***"}


def test_raw_input_is_kept_as_what_the_pipe_carries(locked):
    snapshot = Snapshot()
    snapshot.note_piped(locked(), Intake(came({"stdin": b"raw"}), RAW), {})
    assert snapshot.cli_injections == {"stdin": "raw"}


def test_a_variable_of_the_environment_is_noted_where_nothing_else_sets_the_param(locked, monkeypatch):
    monkeypatch.setenv("LOCKED_TOKEN", "hush")
    monkeypatch.setenv("LOCKED_LEVEL", "3")
    for members, kept in (({}, {"token": "***", "level": 3}), ({"params": {"level": 2}}, {"token": "***"})):
        snapshot = Snapshot()
        snapshot.note_inputs(locked(**members), {}, {}, {})
        assert snapshot.config_overrides == {"one": kept}


def note(snapshot, inputs):
    snapshot.note_inputs(inputs.wired, inputs.params, inputs.data, inputs.stored_by_flags())


def test_flags_are_overrides_of_params_and_injections_into_the_store(locked):
    flags = {(PARAM, "one", "level"): 3, (DATA, "one", "key"): "k", (INPUT, "", "text"): "t"}
    snapshot = Snapshot()
    snapshot.flow_hash = "ab" * 32
    note(snapshot, RunInputs(locked(inputs={"key": "own"}), flags))
    assert snapshot.as_json() == {
        "flow_hash": "ab" * 32,
        "config_overrides": {"one": {"level": 3}},
        "cli_injections": {"one.key": "k", "text": "t"},
    }


def piped(data, ir):
    """The snapshot of a flow that takes a store through the pipe."""
    intake = Intake(read_document(data), STORE)
    return InitialState(RunInputs(plan_of(ir)).with_pipe(intake, allow_empty=False), intake, Secrets()).snapshot


STORE_OF_TWO = b'{"$pflow":{"v":1,"last":"text"},"text":"x","other":"y"}\n'


def test_what_came_through_the_pipe_is_told_apart_from_what_flags_gave(locked):
    one = piped(STORE_OF_TWO, {"nodes": [{"id": "one", "type": "text"}]})
    assert one.piped == {"as": "store", "last": "text", "paths": ["text", "one.text"], "again": []}
    one.inject(("text",), "by a flag")
    assert one.piped["paths"] == ["one.text"]


def test_what_a_declared_input_takes_from_the_pipe_is_kept(nodes):
    flow = {"inputs": {"value": {"pipe": True}}, "nodes": [{"type": "echo"}]}
    assert piped(STORE_OF_TWO, flow).cli_injections == {"text": "x"}


def test_what_is_secret_or_too_large_is_to_be_piped_again(locked):
    store = came({"key": "hush", "text": "x" * (MOST_PIPED + 1)})
    snapshot = Snapshot()
    snapshot.note_piped(locked(), Intake(store, STORE), dict(store))
    assert snapshot.piped["again"] == snapshot.piped["paths"] == ["key", "text"]


def test_the_place_of_a_run_is_kept_in_any_bytes(tmp_path, monkeypatch):
    there = tmp_path / "\udcff"
    there.mkdir()
    monkeypatch.chdir(there)
    snapshot = Snapshot()
    snapshot.place = place_of(plan_of({"nodes": [{"type": "text"}]}, "flows").flow)
    kept = decode(encode(snapshot.as_json()))
    assert kept["directory"] == os.fsencode(there)
    assert kept["flow_directory"] == os.fsencode(there / "flows")


def test_a_variable_of_a_flow_within_is_noted_as_its_param(locked, tmp_path, monkeypatch):
    inner = write_flow(tmp_path, "inner", {"nodes": [{"id": "in", "type": "locked"}]})
    middle = write_flow(tmp_path, "middle", {"nodes": [{"id": "mid", "type": inner}]})
    flow = {"nodes": [{"id": "a", "type": middle}, {"id": "b", "type": inner, "params": {"in.level": 2}}]}
    monkeypatch.setenv("LOCKED_LEVEL", "3")
    snapshot = Snapshot()
    snapshot.note_inputs(plan_of(flow, str(tmp_path)), {}, {}, {})
    assert snapshot.config_overrides == {"a": {"mid.in.level": 3}}


def noted(words, flags=(), store=None):
    """The snapshot of pipe syntax that is run with these flags, on this store; and the flow's hash."""
    wired = wire(parse_pipe([words]))
    snapshot, inputs = Snapshot(), parse(wired, list(flags))[1]
    snapshot.note_piped(wired, Intake(came(store or {}), STORE), store or {})
    note(snapshot, inputs)
    return snapshot.config_overrides, snapshot.cli_injections, flow_hash(wired)


@pytest.mark.parametrize(
    ("words", "flags", "overrides", "injections"),
    [
        ("read-file --path=a => llm --temperature=0.5", [], {"llm": {"temperature": 0.5}}, {"read-file.path": "a"}),
        (
            "llm --prompt='a $$5' --temperature=0.5",
            ["--temperature=1"],
            {"llm": {"temperature": 1}},
            {"llm.prompt": "a $5"},
        ),
        ("llm --prompt='about $topic' --text=a", ["--text=b"], {}, {"llm.text": "b"}),
        ("llm --prompt=a => llm --prompt=b", [], {}, {"llm.prompt": "a", "llm-2.prompt": "b"}),
        ("locked --text=a => llm --text=b --prompt=c", [], {}, {"text": "a", "llm.text": "b", "llm.prompt": "c"}),
    ],
)
def test_flags_inside_pipe_syntax_are_overrides_and_injections_too(locked, words, flags, overrides, injections):
    assert noted(words, flags)[:2] == (overrides, injections)


def test_a_flag_in_pipe_syntax_does_not_hide_what_came_through_the_pipe(locked):
    assert noted("locked --text=a", store={"text": "theirs"})[1] == {"text": "theirs", "locked.text": "a"}


def test_what_flags_say_leaves_the_flow_hash(locked):
    values = ("a", "b", "$$5", "'it is'", "'[1, {}]'")
    hashes = {
        noted(f"read-file --path={each} => llm --prompt={each} --system={each} --max-tokens=5")[2] for each in values
    }
    assert hashes == {noted("read-file --path=c => llm --prompt=c --system=c --max-tokens=6")[2]}
    assert noted("read-file --path=c => llm --prompt='$c' --system=c")[2] not in hashes


@pytest.mark.parametrize(
    "value", ["é", 0, False, None, [1, {"a": [b"\xff"]}], {"$bytes": "of a user"}, b"", b"\xff\x00"]
)
def test_every_value_comes_back_from_its_json(value):
    snapshot = Snapshot()
    snapshot.inject(("x",), value)
    snapshot.override("step", "x", value)
    read = decode(encode(snapshot.as_json()))
    assert read["cli_injections"]["x"] == read["config_overrides"]["step"]["x"] == value


def test_a_path_that_is_not_utf_8_is_kept_as_its_bytes():
    snapshot = Snapshot()
    snapshot.inject(("paths",), ["/x\udcff", {"a": "/x\udcff"}])
    assert snapshot.cli_injections == {"paths": [b"/x\xff", {"a": b"/x\xff"}]}


@pytest.mark.parametrize(
    ("piped", "data"),
    [
        (b"\xff" * (MOST_PIPED + 1), b"\xff" * (MOST_PIPED + 1)),
        (["x" * MOST_PIPED], b'["' + b"x" * MOST_PIPED + b'"]'),
    ],
    ids=["bytes", "list"],
)
def test_of_more_only_the_digest_is_kept(piped, data):
    snapshot = Snapshot()
    snapshot._note_piped_value(set(), ("stdin",), piped, "stdin")
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert snapshot.cli_injections == {"stdin": {"$digest": digest, "size": len(data)}}
