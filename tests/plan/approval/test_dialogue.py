"""Editing a plan: the text that is edited, and the flow that comes back, with its inputs."""

from __future__ import annotations

import json
import re

import pytest

from pflow.errors import PflowError
from pflow.flow.load import load_text
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_to_ir
from pflow.plan.approval.dialogue import editable_text, offered_name, read_edited
from pflow.plan.approval.proposal import Proposal
from tests.plan.approval.test_proposal import COPY


def proposal(ir, *words):
    return Proposal(load_text(json.dumps(ir), "plan", FlowCatalog()).usable(), list(words))


def edited(ir, change, *words):
    before = proposal(ir, *words)
    return read_edited(change(editable_text(before)[0]), before)


VISITS = {
    "nodes": [
        {"id": "list", "type": "list-files", "inputs": {"pattern": "*.txt"}},
        {"id": "read", "type": "read-file", "batch": {"over": "list.files", "as": "path"}},
    ],
    "max_visits": 2,
}


def test_the_text_is_pipe_syntax_under_the_sentence_and_ir_where_there_is_none():
    text, name = editable_text(proposal(COPY))
    assert text.startswith("# copy a.txt to b.txt\nread-file:read --path=a.txt\n")
    assert name == "plan.pflow"
    text, name = editable_text(proposal(VISITS))
    assert json.loads(text)["max_visits"] == 2
    assert name == "plan.pflow.json"


def test_what_flags_gave_stands_in_the_text():
    assert "--path=z.txt" in editable_text(proposal(COPY, "--read.path=z.txt"))[0]
    assert "--path=c.txt" in editable_text(proposal(COPY, "--write.path=c.txt"))[0]


def test_name_description_and_inputs_survive():
    flow = edited(COPY, lambda text: text.replace("b.txt", "c.txt"))[0]
    assert (flow.name, flow.description) == ("copier", "copy a.txt to b.txt")
    assert {name: given.default for name, given in flow.inputs.items()} == {"path": "a.txt"}
    assert flow.inputs["path"].description == "what to copy"
    assert flow.step("read").input_mappings == {"path": "path"}
    assert flow.step("write").inputs == {"path": "c.txt"}


def test_an_input_whose_value_was_edited_has_the_new_one():
    flow = edited(COPY, lambda text: text.replace("--path=a.txt", "--path=new.txt"))[0]
    assert flow.inputs["path"].default == "new.txt"


ROWS = {
    "name": "rows",
    "inputs": {"path": {"type": "path", "default": "a.csv"}},
    "nodes": [
        {"id": "load", "type": "load-csv", "description": "the table", "version": "1.0.0"},
        {"id": "clean", "type": "clean-data"},
        {"id": "save", "type": "save-csv", "inputs": {"path": "o.csv"}},
    ],
    "mappings": {
        "load": {"input_mappings": {"path": "path"}},
        "clean": {"input_mappings": {"rows": "load.rows"}, "output_mappings": {"dropped": "gone"}},
        "save": {"input_mappings": {"rows": "clean.rows"}},
    },
}


@pytest.mark.parametrize("ir", [ROWS, COPY])
def test_only_what_was_edited_changes(ir):
    before = flow_to_ir(load_text(json.dumps(ir), "plan"))
    assert flow_to_ir(edited(ir, lambda text: text + "\n# the same")[0]) == before
    after = flow_to_ir(edited(ir, lambda text: re.sub("--path=(o.csv|b.txt)", "--path=new --retries=2", text))[0])
    before["nodes"][-1] |= {"inputs": {"path": "new"}, "retries": 2}
    assert after == before


def test_a_step_that_is_added_moves_no_key_of_those_before():
    flow, errors = edited(ROWS, lambda text: text + "  => load-csv --path=other.csv => analyze")
    assert errors == []
    assert [flow.step(id).output_mappings for id in ("load", "clean")] == [{}, {"dropped": "gone"}]
    assert flow.step("load-csv").output_mappings["columns"] == "load-csv.columns"
    assert flow.step("analyze").input_mappings["rows"] == "load-csv.rows"
    flow, _ = edited(ROWS, lambda text: text.replace("--map-out=columns=columns", "--map-out=columns=load.columns", 1))
    assert flow.step("load").output_mappings == {"columns": "load.columns"}


def test_a_template_in_place_of_an_inputs_value_stays_one():
    flow = edited(COPY, lambda text: text.replace("--path=a.txt", "--path='$which'"))[0]
    assert flow.inputs == {}
    assert flow.step("read").inputs == {"path": "$which"}


def test_other_names_from_outside_are_inputs_too_those_that_were_and_those_that_are_new():
    wanted = {"type": "str", "description": "where to", "required": True}
    ir = {**COPY, "inputs": {**COPY["inputs"], "target": wanted}}
    ir["nodes"] = [COPY["nodes"][0], {"id": "write", "type": "write-file", "inputs": {"path": "${target}"}}]
    flow, errors = edited(ir, lambda text: text + " => shell --command=cat --input='$more'")
    assert errors == []
    assert list(flow.inputs) == ["path", "target", "more"]
    assert flow.inputs["target"].description == "where to"


@pytest.mark.parametrize(("text", "exit"), [("", 66), (" \n", 66), ("# only\n", 66), ("=> =>", 2), ('{"nodes"', 65)])
def test_what_does_not_parse_is_an_error(text, exit):
    with pytest.raises(PflowError) as raised:
        read_edited(text, proposal(COPY))
    assert raised.value.exit == exit


def test_errors_come_with_what_was_edited():
    _, errors = edited(COPY, lambda text: text + " => lllm")
    assert [each.rule for each in errors] == ["PF11"]
    assert edited(COPY, lambda text: text)[1] == []


def test_outputs_are_edited_as_json_for_pipe_syntax_has_none():
    flow, _ = edited({**COPY, "outputs": {"text": "read.content"}}, lambda text: text.replace("b.txt", "c.txt"))
    assert flow.outputs == {"text": "read.content"}
    assert flow.step("write").inputs == {"path": "c.txt"}


def test_an_edited_flow_keeps_the_runs_flags_and_none_of_the_flows():
    before = proposal(COPY, "--read.path=z.txt", "-r", "--timeout=5", "--jobs=2")
    after = before.edited(read_edited("shell --command=date", before)[0])
    assert sorted(after.words) == ["--jobs=2", "--raw", "--timeout=5.0"]
    assert after.flags.raw is True


@pytest.mark.parametrize(("name", "offered"), [("copy-text", "copy-text"), ("copy-file", ""), ("run", ""), ("", "")])
def test_a_name_that_no_saved_flow_may_have_is_not_offered(name, offered):
    assert offered_name(name) == offered
