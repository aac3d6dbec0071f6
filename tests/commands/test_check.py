"""pflow check: what it prints, and how it ends."""

import json
import os

import pytest

from pflow.commands._command import run_command
from pflow.commands.check import command

GOOD = {"nodes": [{"id": "read", "type": "read-file"}]}
DOUBTFUL = {"nodes": [{"id": "ask", "type": "llm", "inputs": {"prompt": "${a"}}]}
WRONG = {"nodes": [{"id": "read", "type": "raed-file"}, {"id": "a b", "type": "llm", "params": {"modle": "m"}}]}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("PFLOW_NODES", raising=False)
    return tmp_path


@pytest.fixture
def check(here, capfd):
    """Run the command on a flow in a file: its exit code, stdout and stderr."""

    def run(flow, *flags, file="f.json"):
        text = flow if isinstance(flow, str) else json.dumps(flow)
        (here / file).write_text(text)
        code = run_command(command, [*flags, file])
        return code, *capfd.readouterr()

    return run


def test_json_is_one_document(check):
    code, out, err = check(WRONG, "--json")
    document = json.loads(out)
    assert (code, err, out.count("\n")) == (65, "", 1)
    assert (document["file"], document["dialect"], document["steps"]) == ("f.json", "pflow", 2)
    assert document["findings"][0] == {
        "rule": "PF11",
        "level": "error",
        "place": "nodes[0].type",
        "message": "there is no node 'raed-file'",
        "remedy": "did you mean read-file?",
        "pointer": "/nodes/0/type",
        "near": ["read-file"],
    }
    assert json.loads(check(GOOD, "--json")[1])["findings"] == []


NEEDY = {
    "description": "Keep a text.",
    "inputs": {"text": {"type": "str", "description": "what to keep"}},
    "nodes": [{"id": "save", "type": "write-file", "inputs": {"path": "out.txt"}}],
}
MAPPED = {**NEEDY, "mappings": {"save": {"input_mappings": {"content": "text"}}}}


def test_json_tells_what_the_flow_needs_gives_and_touches(check):
    document = json.loads(check(MAPPED, "--json")[1])
    assert (document["ok"], document["exit"], document["description"]) == (True, 0, "Keep a text.")
    (need,) = document["needs"]
    assert {name: need[name] for name in ("name", "flag", "type", "doc", "required", "read_by")} == {
        "name": "text",
        "flag": "--text",
        "type": "str",
        "doc": "what to keep",
        "required": True,
        "read_by": ["save"],
    }
    assert document["gives"] == {"outputs": {}, "carries": None}
    (touch,) = document["touches"]
    assert (touch["effect"], touch["step"], list(touch["what"])) == ("writes files", "save", ["path"])


def test_a_remedy_that_is_a_member_of_the_flow_can_be_merged(check):
    flow = {**NEEDY, "nodes": [{"id": "say", "type": "shell", "inputs": {"command": "date"}}, *NEEDY["nodes"]]}
    (finding,) = json.loads(check(flow, "--json")[1])["findings"]
    assert (finding["rule"], finding["pointer"], "near" in finding) == ("PF03", "/nodes/1", False)
    assert finding["merge"] == {"mappings": {"save": {"input_mappings": {"content": "say.stdout"}}}}
    assert json.loads(check(flow | finding["merge"], "--json")[1])["ok"] is True


def test_what_cannot_be_printed_as_it_is_stays_in_its_line(check):
    odd = {"nodes": [{"id": "a\nb", "type": "llm"}], "outputs": {"é": "llm.response"}}
    code, out, _ = check(odd)
    assert code == 65
    assert "'a\\nb' is not a valid name for a step" in out
    assert out.count("\n") == 3
    name = os.fsdecode(b"\xff.json")
    _, out, _ = check(GOOD, file=name)
    assert out == "\\udcff.json: 1 step, pflow form: no findings\n"
    assert json.loads(check(GOOD, "--json", file=name)[1])["file"] == "\\udcff.json"
