"""A plan as text, with nothing raw and nothing cut that runs; its edit as text, and the flow that comes back."""

import json
import re

import pytest

from pflow.driver.arguments import RunFlags
from pflow.errors import PflowError
from pflow.flow.findings import Finding
from pflow.flow.ir import flow_to_ir
from pflow.flow.load import load_text
from pflow.flow.subflow import FlowCatalog
from pflow.interface.common import OF_RUNS
from pflow.plan.proposal import (
    Proposal,
    _words_of_run,
    draft_text,
    editable_text,
    explained,
    findings_text,
    offered_name,
    proposal_text,
    read_edited,
)
from pflow.stage.words import take_words

COPY = {
    "name": "copier",
    "description": "copy a.txt to b.txt",
    "inputs": {"path": {"type": "path", "description": "what to copy", "default": "a.txt"}},
    "nodes": [{"id": "read", "type": "read-file"}, {"id": "write", "type": "write-file", "inputs": {"path": "b.txt"}}],
    "mappings": {
        "read": {"input_mappings": {"path": "path"}},
        "write": {"input_mappings": {"content": "read.content"}},
    },
}


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("CLICOLOR_FORCE", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")


def proposal(ir, *words):
    return Proposal(load_text(json.dumps(ir), "plan", FlowCatalog()).usable(), list(words))


def view(ir, *words):
    return proposal_text(proposal(ir, *words))


def test_it_has_the_name_the_pipe_the_steps_the_inputs_and_the_effects_worst_first():
    lines = [line.strip() for line in view(COPY).splitlines()]
    wanted = [
        "copier: copy a.txt to b.txt",
        "As a pipe",
        "read-file:read --path=a.txt",
        "[1] read (read-file 1.0.0)",
        "← path: path    --path",
        "→ content: any  read.content, to write",
        "[2] write (write-file 1.0.0)",
        "← content: any  read.content",
        "Inputs",
        '--path  path  "a.txt"  what to copy',
        "It will touch",
        "writes files  write  path b.txt",
        'reads files   read   path "a.txt" (--path)',
    ]
    assert [line for line in lines if line in wanted] == wanted


def test_what_the_flags_give_stands_in_it():
    text = view(COPY, "--read.path=other.txt", "--write.path=c.txt")
    assert "--path=other.txt" in text
    assert '"other.txt"  what to copy' in text
    assert "path c.txt" in text
    assert "a.txt\n" not in text.split("As a pipe")[1]


def doubted(sentence, *words):
    return Proposal(load_text(json.dumps(COPY), "plan", FlowCatalog()), list(words), sentence)


def test_what_the_plan_may_have_misunderstood_stands_last_and_a_flag_or_an_edit_settles_it():
    said = doubted("copy a.txt to c.txt")
    mind = proposal_text(said).partition("Mind\n")[2]
    assert "'c.txt' is in no step" in mind
    assert "'b.txt' of --path is not in the sentence" in mind
    assert doubted("copy a.txt to c.txt", "--write.path=c.txt").doubts == []
    assert doubted("copy a.txt to b.txt", "--path=other.txt").doubts == []
    assert said.edited(said.flow).findings == []


def test_an_input_without_a_value_says_so():
    wanted = {**COPY, "inputs": {"path": {"type": "path", "required": True}}}
    assert "(asked for when it runs)" in view(wanted)
    piped = {**COPY, "inputs": {"path": {"type": "path", "pipe": True, "required": True}}}
    assert "the pipe" in view(piped)


def test_a_flow_without_a_pipe_form_says_why():
    visits = {
        "nodes": [
            {"id": "list", "type": "list-files", "inputs": {"pattern": "*.txt"}},
            {"id": "read", "type": "read-file", "batch": {"over": "list.files", "as": "path"}},
        ],
        "max_visits": 2,
    }
    assert "Not as a pipe: cannot write the flow in pipe syntax: it has max_visits" in view(visits)
    assert "once for each" in view(visits)


HOSTILE = "\x1b]0;OWNED\x07\x1b[2J\r\nred\u202eexe.txt\u200b\x9b31m\x00"


@pytest.mark.parametrize(
    "ir",
    [
        {**COPY, "name": HOSTILE},
        {**COPY, "description": HOSTILE},
        {**COPY, "inputs": {"path": {"type": "path", "description": HOSTILE, "default": HOSTILE.replace("\0", "")}}},
        {"nodes": [{"id": "s", "type": "shell", "inputs": {"command": HOSTILE}}]},
        {"nodes": [{"id": "s", "type": "llm", "inputs": {"prompt": HOSTILE}, "params": {"system": HOSTILE}}]},
        {"nodes": [{"id": "s", "type": "write-file", "inputs": {"path": HOSTILE, "content": HOSTILE}}]},
    ],
)
def test_no_sign_that_a_terminal_would_obey_is_in_it(ir):
    for text in (view(ir), explained(proposal(ir))):
        assert [sign for sign in text if not sign.isprintable() and sign != "\n"] == []


def test_all_of_a_command_is_shown():
    command = "echo " + "x" * 500 + "; rm -rf end-of-it"
    text = view({"nodes": [{"id": "s", "type": "shell", "inputs": {"command": command}}]})
    assert "end-of-it" in text.split("It will touch")[1].replace("\n", "").replace(" ", "")
    assert "end-of-it" in text.split("As a pipe")[1].split("[1]")[0]


def test_findings_are_a_line_each_with_place_and_rule():
    found = [Finding("PF11", ("nodes", 0, "type"), "there is no node '\x1b[31m'", "leave it out")]
    assert findings_text(found) == "  nodes[0].type: PF11: there is no node '\\x1b[31m'; leave it out\n"


def test_a_draft_is_shown_as_it_was_written_and_cut_where_it_has_no_end():
    found = [Finding("PF11", ("nodes", 0, "type"), "there is no node 'x'")]
    text = draft_text("x\x1b --y=1 =>\nllm", found)
    assert text.startswith("The best try\n")
    assert text.splitlines()[1:3] == ["  x\\x1b --y=1 =>", "  llm"]
    assert text.endswith("  nodes[0].type: PF11: there is no node 'x'\n")
    long = draft_text("x" * 50_000, found)
    assert len(long) < 25_000
    assert "letters more" in long
    assert draft_text("", found) == findings_text(found)


def test_a_schema_that_is_a_file_and_params_for_a_flow_within_are_touched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asking = {"id": "q", "type": "llm", "inputs": {"prompt": "x"}, "params": {"schema": "own.json"}}
    (tmp_path / "inner.pflow.json").write_text(json.dumps({"nodes": [asking]}))
    assert "schema own.json" in view({"nodes": [asking]}).split("It will touch")[1]
    outer = {"nodes": [{"id": "o", "type": "./inner.pflow.json", "params": {"q.schema": "/etc/x"}}]}
    assert "schema /etc/x" in view(outer).split("It will touch")[1]
    asking["params"] = {"schema": {"type": "object"}}
    assert "schema" not in view({"nodes": [asking]}).split("It will touch")[1]


def test_an_edited_flow_runs_with_the_same_flags():
    words = ["--no-cache", "--refresh=draft", "--jobs=1", "--max-cost=1.5", "--timeout=2", "-r", "--from=text"]
    for kept in (words[1:], ["--no-cache"], ["--cache=require"], ["--cache"]):
        flags = RunFlags(take_words(kept, OF_RUNS))
        again = RunFlags(take_words(_words_of_run(flags), OF_RUNS))
        assert vars(again) == vars(flags)


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
