"""A change in words to a flow: what a model makes of it, what is refused, where it goes."""

from __future__ import annotations

import json
import os

import pytest

from pflow.catalog.find import forget_types
from pflow.errors import PflowError
from pflow.plan.change import ChangeOptions
from pflow.plan.edit import main

READ = {"id": "read", "type": "read-file"}
ASK = {"id": "ask", "type": "llm", "inputs": {"prompt": "Sum up"}}
WRITE = {"id": "write", "type": "write-file", "inputs": {"path": "out.md"}}
DIGEST = {
    "pflow": 1,
    "name": "digest",
    "description": "read notes.txt, sum it up",
    "inputs": {"source": {"type": "path", "default": "notes.txt"}},
    "nodes": [READ, ASK, WRITE],
    "mappings": {
        "read": {"input_mappings": {"path": "source"}},
        "ask": {"input_mappings": {"text": "read.content"}},
        "write": {"input_mappings": {"content": "ask.response"}},
    },
}
FILE = "digest.pflow.json"
FRENCH, ALSO = "summarize in French", "also write it to b.txt"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A directory with the flow in a file, no model, and no nodes but pflow's own."""
    for name in ("PFLOW_MODEL", "PFLOW_PLAN_MODEL", "PFLOW_NODES", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_text(json.dumps(DIGEST))
    forget_types()
    yield
    forget_types()


def keep(**more):
    """Put the flow, with more members or others, into the file."""
    with open(FILE, "w") as file:
        json.dump({**DIGEST, **more}, file)


def edited(capfd, sentence, file=FILE, **options):
    """The new IR, and what was said on stderr."""
    assert main([file, sentence], ChangeOptions(**options)) == 0
    out, err = capfd.readouterr()
    return json.loads(out), err


def refused(capfd, sentence, file=FILE, **options):
    """The error, and what was said. Nothing is on stdout, and the file is as it was."""
    before = open(file).read()
    with pytest.raises(PflowError) as caught:
        main([file, sentence], ChangeOptions(**options))
    out, err = capfd.readouterr()
    assert out == ""
    assert open(file).read() == before
    return caught.value, err


@pytest.mark.parametrize("model", ["edit-right", "edit-prose", "edit-line", "edit-line-full"])
def test_a_model_makes_the_change(capfd, server, model):
    ir, err = edited(capfd, FRENCH, model=model)
    assert ir == {**DIGEST, "nodes": [READ, {**ASK, "inputs": {"prompt": "Sum up in French"}}, WRITE]}
    assert len(server.requests(model)) == 1
    assert '+        "prompt": "Sum up in French"' in err


def test_a_model_is_told_the_flow_its_faults_the_nodes_and_what_stays(capfd, server):
    keep(mappings={**DIGEST["mappings"], "write": {"input_mappings": {"content": "ask.respons"}}})
    edited(capfd, FRENCH, model="edit-right")
    (request,) = server.requests("edit-right")
    system, user = [each["content"] for each in request["body"]["messages"]]
    assert system.startswith("You write flows for pflow")
    for part in (
        "write-file: Write a file, whole or not at all.",
        "read-file:read --path=notes.txt\n  => llm:ask --prompt='Sum up' --map-in=text=read.content",
        "--map-in=content=ask.respons",
        "PF14: no 'respons' in ask",
        f"only this changes: {FRENCH}\nFlow:",
    ):
        assert part in user


@pytest.mark.parametrize(
    ("model", "kept", "lost"),
    [
        ("edit-line", {"outputs": {"digest": "ask.response"}}, {}),
        ("edit-right", {}, {"max_visits": 7}),  # the diff shows it: that may be what was asked for
    ],
)
def test_what_models_leave_out_stays(capfd, server, model, kept, lost):
    read = {**READ, "description": "the text", "version": "1.0.0", "repeats": False}
    kept = {**kept, "$schema": "flow.schema.json"}
    keep(**kept, **lost, nodes=[read, ASK, WRITE])
    ir, _ = edited(capfd, FRENCH, model=model)
    assert ir == {**DIGEST, **kept, "nodes": [read, {**ASK, "inputs": {"prompt": "Sum up in French"}}, WRITE]}


def test_another_value_in_a_line_is_the_default_of_its_input_and_doubted_if_nobody_gave_it(capfd, server):
    ir, err = edited(capfd, "use b.txt instead of notes.txt", model="edit-line-value")
    assert ir == {**DIGEST, "inputs": {"source": {"type": "path", "default": "b.txt"}}}
    assert '+      "default": "b.txt"' in err
    assert "in doubt" not in err
    again, err = edited(capfd, "take another file", model="edit-line-value")
    assert again == ir
    assert "pflow: in doubt: 'b.txt' of --path is not in the sentence" in err
    assert len(server.requests("edit-line-value")) == 3


def test_an_answer_that_changes_nothing_is_doubted_and_not_written_unasked(capfd, server):
    keep(inputs={"source": {"type": "path", "default": "b.txt"}})
    _, err = edited(capfd, "use b.txt", model="edit-line-value")
    assert "in doubt: it changes nothing" in err
    error, _ = refused(capfd, "use b.txt", model="edit-line-value", write=True, yes=True)
    assert (error.exit, "1 doubt" in error.message) == (77, True)


def test_a_step_that_a_line_adds_takes_its_place(capfd, server):
    ir, _ = edited(capfd, "translate it to French before it is written", model="edit-line-step")
    assert [node["id"] for node in ir["nodes"]] == ["read", "ask", "llm", "write"]
    assert (ir["inputs"], ir["mappings"]["read"]) == (DIGEST["inputs"], DIGEST["mappings"]["read"])
    sources = {id: [*each.get("input_mappings", {}).values()] for id, each in ir["mappings"].items()}
    assert sources == {"read": ["source"], "ask": ["read.content"], "llm": ["ask.response"], "write": ["llm.response"]}


def test_an_output_goes_with_its_step(capfd, server):
    keep(outputs={"digest": "ask.response", "text": "read.content"})
    ir, _ = edited(capfd, "copy the text without summing it up", model="edit-line-less")
    assert ([node["id"] for node in ir["nodes"]], ir["outputs"]) == (["read", "write"], {"text": "read.content"})
    assert ir["mappings"]["read"] == DIGEST["mappings"]["read"]


def test_a_flow_that_has_no_pipe_form_is_sent_and_asked_for_as_json(capfd, server):
    keep(mappings={**DIGEST["mappings"], "ask": {"input_mappings": {"text": ["read.content", "source"]}}})
    edited(capfd, FRENCH, model="edit-right")
    user = server.requests("edit-right")[0]["body"]["messages"][1]["content"]
    assert '"content": "ask.response"' in user
    assert user.endswith("as one JSON object\nFlow:")


def test_what_is_wrong_goes_back_to_the_model_with_the_flow(capfd, server):
    ir, err = edited(capfd, ALSO, model="edit-second")
    assert ir["nodes"] == [*DIGEST["nodes"], {"id": "copy", "type": "write-file", "inputs": {"path": "b.txt"}}]
    assert "new: copy (write-file) writes files: path " in err
    _, again = [each["body"]["messages"][1]["content"] for each in server.requests("edit-second")]
    for part in ("write-file:copy --pth=b.txt", "no such flag", "llm:ask --prompt='Sum up' --map-in"):
        assert part in again


def test_the_name_and_description_stay_what_they_are(capfd, server):
    ir, _ = edited(capfd, FRENCH, model="edit-renames")
    assert (ir["name"], ir["description"]) == (DIGEST["name"], DIGEST["description"])
    renamed, _ = edited(capfd, "rename it to french-digest", model="edit-renames")
    assert (renamed["name"], renamed["description"]) == ("french-digest", DIGEST["description"])


@pytest.mark.parametrize(
    ("model", "words"),
    [("edit-never", "PF14"), ("edit-smuggle-secret", "OPENAI_API_KEY")],
)
def test_a_model_that_is_never_right_writes_nothing(capfd, server, model, words):
    error, err = refused(capfd, ALSO, model=model, write=True, yes=True)
    assert error.exit == 65
    assert len(server.requests(model)) == 2
    assert words in err
    assert error.details["findings"]


def test_without_a_capable_model_it_says_what_gives_one(capfd):
    error, _ = refused(capfd, FRENCH)
    assert error.exit == 78
    assert error.message.startswith(f"cannot tell what '{FRENCH}' changes: ")
    assert "PFLOW_PLAN_MODEL" in error.hint


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_flow_with_a_secret_is_not_sent(capfd, server, tmp_path, monkeypatch, is_inside):
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "keyed.py").write_text(
        "import pocketflow\n\nclass Keyed(pocketflow.Node):\n    '''Take a key.\n\n    Interface:\n"
        "    - Params: token: str = null [secret] [env KEYED]  # who asks\n    '''\n"
    )
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path / "nodes"))
    forget_types()
    with open("k.pflow.json", "w") as file:
        nodes = [{"id": "k", "type": "keyed", "params": {"token": "hunter2"}}]
        json.dump({"nodes": [{"id": "outer", "nodes": nodes}] if is_inside else nodes}, file)
    error, err = refused(capfd, "list all files", "k.pflow.json", model="edit-right")
    assert error.exit == 65
    assert "nodes.k.params.token" in error.message
    assert "hunter2" not in str(error) + err
    assert server.requests("edit-right") == []


@pytest.mark.parametrize("words", [[], [FILE], [FILE, "  "]])
def test_without_a_flow_or_a_sentence_nothing_is_done(words):
    with pytest.raises(PflowError) as caught:
        main(words, ChangeOptions())
    assert caught.value.exit == 2


def test_a_flow_in_another_dialect_is_written_back_as_ir(capfd, server):
    old = {**DIGEST, "nodes": [{**READ, "config": {"encoding": "ascii"}}, ASK, WRITE]}
    with open("old.pflow.json", "w") as file:
        json.dump(old, file)
    main(["old.pflow.json", FRENCH], WRITTEN)
    assert "the flow was in an older form; its new form is IR" in capfd.readouterr().err
    assert prompt_in("old.pflow.json") == "Sum up in French"


WRITTEN = ChangeOptions(model="edit-right", write=True, yes=True)


def prompt_in(file):
    return json.load(open(file))["nodes"][1]["inputs"]["prompt"]


def test_a_file_keeps_its_place_and_mode(capfd, server):
    os.chmod(FILE, 0o640)
    os.symlink(FILE, "link.pflow.json")
    assert main(["link.pflow.json", FRENCH], WRITTEN) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert "wrote 'link.pflow.json'" in err
    assert os.path.islink("link.pflow.json")
    assert os.stat(FILE).st_mode & 0o777 == 0o640
    assert prompt_in(FILE) == "Sum up in French"


def test_what_has_no_file_cannot_be_written_back():
    with pytest.raises(PflowError) as caught:
        main(["read-file --path=out.md => llm", FRENCH], WRITTEN)
    assert caught.value.exit == 2
