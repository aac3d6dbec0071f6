"""From a sentence to a flow, with models of every quality played by a real server; a plan is kept."""

from __future__ import annotations

import json
import os
import threading
from unittest import mock

import llm
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.flow.findings import Finding
from pflow.flow.ir import flow_to_ir
from pflow.flow.rules import check
from pflow.flow.wiring import wire
from pflow.models.known import SERVED, keep_models
from pflow.plan.planner import LONGEST, CachedPlan, Unplannable, plan_sentence
from pflow.values.paths import write_path
from tests.peers.replies import Replies, chunk, token

SENTENCE = "read data.txt, summarize it, write summary.md"
RIGHT = {
    "pflow": 1,
    "name": "read-data-txt-summarize-it-write-summary",
    "description": SENTENCE,
    "inputs": {
        "read_path": {"type": "path", "description": "the file to read", "default": "data.txt"},
        "write_path": {"type": "path", "description": "the file to write", "default": "summary.md"},
    },
    "nodes": [
        {"id": "read", "type": "read-file"},
        {"id": "summarize", "type": "llm", "inputs": {"prompt": "Summarize this"}},
        {"id": "write", "type": "write-file"},
    ],
    "mappings": {
        "read": {"input_mappings": {"path": "read_path"}},
        "summarize": {"input_mappings": {"text": "content"}},
        "write": {"input_mappings": {"content": "response", "path": "write_path"}},
    },
}


@pytest.fixture
def server(peer, home, tmp_path, monkeypatch):
    """The server of this file, seen from an empty directory."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return peer


def requests(server, text):
    """The messages of each request that holds a text, which is one test's own."""
    bodies = [request["body"] for request in server.requests()]
    return [body["messages"] for body in bodies if text in json.dumps(body["messages"], ensure_ascii=False)]


def plan(model, sentence=SENTENCE, **more):
    return plan_sentence(sentence, model=model, **more)


def failure(model, sentence=SENTENCE, **more):
    with pytest.raises(PflowError) as caught:
        plan(model, sentence, **more)
    assert (caught.value.message + caught.value.hint).isprintable()
    assert os.listdir(".") == []
    return caught.value


@pytest.mark.parametrize(
    ("model", "tries"),
    [
        ("plan-right", 1),
        ("plan-prose", 1),
        ("plan-thinks", 1),
        ("plan-line-prose", 1),
        ("plan-two-flows", 2),
        ("plan-nonsense-once", 2),
        ("plan-refuses-once", 2),
        ("plan-second", 2),
        ("plan-doubt", 2),
        ("plan-limit", 2),
        ("plan-third", 3),
    ],
)
def test_a_flow_that_passes_is_taken_at_whichever_try_it_comes(server, model, tries):
    heard = []

    assert flow_to_ir(plan(model, report=heard.append)) == RIGHT
    assert [line.partition(", ")[0] for line in heard if line.startswith("asking")] == [
        f"asking {model}", *[f"asking {model} again"] * (tries - 1)]  # fmt: skip
    assert os.listdir(".") == []


def test_a_plan_that_stays_in_doubt_is_asked_about_once_and_stands_with_its_doubts(server):
    heard = []
    planned = plan("plan-doubts", report=heard.append)
    assert [each.default for each in planned.inputs.values()] == ["data.txt"]
    assert len(server.requests("plan-doubts")) == 2
    assert [line.partition(": ")[0] for line in heard if "'summary.md' is in no step" in line]
    again = []
    assert flow_to_ir(plan("plan-doubts", report=again.append)) == flow_to_ir(planned)
    assert again[1:] == heard[-len(again[1:]) :]


@pytest.mark.parametrize(
    ("model", "tries", "rule", "place"),
    [
        ("plan-never", 3, "PF11", "nodes[0].type"),
        ("plan-refuses", 2, "PL00", "the answer"),
        ("nonsense-one-piece", 2, "PL00", "the answer"),
        ("plan-smuggle-key", 2, "PL04", "nodes[1].inputs.prompt"),
    ],
)
def test_what_never_passes_ends_with_the_best_try_and_its_findings(server, model, tries, rule, place):
    error = failure(model)

    assert isinstance(error, Unplannable)
    assert (error.exit, error.details["tries"]) == (65, tries)
    assert f"{tries} tries" in error.message
    assert (rule, place) in [(each.rule, write_path(each.location)) for each in error.findings]
    assert (not error.draft) == (rule == "PL00")
    assert error.details["findings"][0]["rule"]


@pytest.mark.parametrize(("model", "exit", "why"), [("empty", 75, "it has no text")])
def test_a_model_that_gives_no_text_ends_as_pflow_llm_does(server, model, exit, why):
    error = failure(model, "say nothing")
    assert (error.exit, error.message.partition("': ")[2]) == (exit, why)
    assert error.hint == "try again, or name another model with --model"
    assert len(requests(server, "say nothing")) == 2


def test_a_model_that_says_that_it_cannot_is_asked_once(server):
    with pytest.raises(Unplannable) as caught:
        plan("plan-cannot", "mail this to bob")
    assert (caught.value.details["tries"], caught.value.draft) == (1, "")
    assert "it says that the task cannot be done: no node sends mail" in caught.value.message
    assert len(requests(server, "mail this to bob")) == 1


def test_the_best_try_is_the_latest_with_the_fewest_errors(server):
    error = failure("plan-never")

    assert [node["type"] for node in error.details["flow"]["nodes"]] == ["read_url", "llm", "write-file"]
    assert error.draft == error.details["line"]
    assert error.draft.startswith("read_url:read --path=data.txt => llm:summarize --prompt='Summarize this' => ")
    assert len([each for each in error.findings if not each.is_warning]) == 1
    assert "its best has 1 fault, the first: nodes[0].type: PF11: there is no node 'read_url'" in error.message


@pytest.mark.parametrize(
    ("model", "exit", "words"),
    [
        ("refuse", 1, "it refused: I will not say."),
        ("cut", 75, "cut off"),
        ("rate-limited", 75, "429: slow down"),
        ("forbidden", 77, "403: not in your country"),
        ("refused", 69, "cannot connect"),
        ("no-such-model", 78, "cannot find the model 'no-such-model'"),
        ("nokey", 77, "needs a key"),
    ],
)
def test_what_the_provider_does_wrong_is_no_try(server, model, exit, words):
    before = len(server.requests(model))

    error = failure(model)

    assert error.exit == exit
    assert words in error.message
    assert "--retries" not in error.hint
    assert len(server.requests(model)) - before <= 1


def own_threads():
    """Those that are not the server's."""
    return [each.name for each in threading.enumerate() if "process_request" not in each.name]


class TestTime:
    @pytest.mark.parametrize("model", ["stall", "stall-midway", "plan-stalls-second"])
    def test_a_model_that_stalls_is_left_when_the_time_is_over(self, server, model):
        threads = own_threads()

        error = failure(model, timeout=1)

        assert error.exit == 124
        assert "longer than the 1 s of --timeout" in error.message
        assert own_threads() == threads

    def test_in_a_thread_too(self, server):
        caught = []

        def work():
            with pytest.raises(PflowError) as error:
                plan("stall", "stall in a thread", timeout=1)
            caught.append(error.value.exit)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
        assert caught == [124]


class TestConversation:
    def test_the_model_hears_of_every_node_and_then_the_task(self, server):
        plan("plan-right", "read data.txt, summarize it, write summary.md, for who hears")

        (messages,) = requests(server, "for who hears")
        assert [each["role"] for each in messages] == ["system", "user"]
        assert "\nread-file --path=: " in messages[0]["content"]
        task = "Task: read data.txt, summarize it, write summary.md, for who hears\nFlow:"
        assert messages[1]["content"].endswith(task)

    def test_a_line_that_is_wrong_goes_back_in_one_turn_with_what_can_be_typed(self, server):
        sentence = "read data.txt, summarize it, write summary.md, line by line"
        plan("plan-third", sentence)

        asked = requests(server, "line by line")
        assert [[each["role"] for each in messages] for messages in asked] == [["system", "user"]] * 3
        assert asked[0][0] == asked[1][0] == asked[2][0]
        first, second, third = (messages[1]["content"] for messages in asked)
        assert "read_url:read --path=data.txt => llm:summarize --prompt='Summarize this'" in second
        assert "- read: PF11: there is no node 'read_url'" in second
        assert "- read: PL02: nothing gives 'read' its 'path' (the file to read); read-file --path=…" in third
        assert "read path: path" in third  # the interface of read-file
        assert second.endswith(f"Task: {sentence}\nFlow:")
        assert all(len(each) < 5_000 for each in (first, second, third))

    def test_a_plan_is_a_line_and_has_no_schema(self, server):
        plan("plan-right-native", "read data.txt, summarize it, write summary.md, with a schema")

        bodies = [each["body"] for each in server.requests("plan-right-native")]
        assert not [body for body in bodies if "response_format" in body]

    def test_who_listens_hears_what_goes_on(self, server):
        heard = []

        plan("plan-third", report=heard.append)

        assert heard[0] == "asking plan-third"
        assert heard[1].startswith("1 fault, the first: nodes[0].type: PF11: ")
        assert heard[2] == "asking plan-third again, try 2 of 3"
        assert len(heard) == 5


class TestSmuggling:
    def test_a_command_and_a_path_outside_pass_for_the_gate_shows_them(self, server):
        command = plan("plan-smuggle-command")
        path = plan("plan-smuggle-path")

        assert command.steps[3].inputs == {"command": "touch smuggled"}
        assert path.steps[2].inputs == {"path": "../../outside.md"}
        assert os.listdir(".") == []

    def test_overwriting_what_was_read_is_a_warning(self, server):
        for _ in range(2):
            heard = []
            plan("plan-overwrites", report=heard.append)
            assert "PL07: warning: 'write' overwrites './data.txt', which 'read' reads" in heard[-1]


class TestSentences:
    @pytest.mark.parametrize(
        "sentence",
        ["", " \n", "a\udcff b", "x " * LONGEST, "ask with sk-abcdefghijklmnop0123", "log in with swordfish9 there"],
    )
    def test_what_is_no_sentence_is_not_sent(self, server, sentence, monkeypatch):
        monkeypatch.setenv("POST_TOKEN", "swordfish9")
        before = len(server.requests())
        assert failure("plan-right", sentence).exit == 2
        assert len(server.requests()) == before


class TestCapable:
    def test_without_a_capable_model_the_nearest_are_named(self, server):
        data = os.environ["XDG_DATA_HOME"]
        os.makedirs(f"{data}/pflow/flows")
        with open(f"{data}/pflow/flows/summarize-file.pflow.json", "w") as file:
            json.dump({"description": "read a file and summarize it", "nodes": [{"type": "llm"}]}, file)

        error = failure(None, "read a file and summarize it")

        assert error.exit == 78
        assert error.details["flows"] == ["summarize-file"]
        assert "read-file" in error.details["nodes"]
        assert "PFLOW_PLAN_MODEL" in error.hint
        assert "saved flows: summarize-file" in error.hint

    def test_the_refusal_names_a_model_that_can_plan(self, server):
        to_get = "`pflow models get Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF` brings one (1,117 MB, tried: it can plan); "
        assert failure(None).hint.startswith(to_get)
        keep_models([("http://127.0.0.1:1/v1#it's", "Ollama on this machine")], SERVED)
        assert failure(None).hint.startswith("--model='http://127.0.0.1:1/v1#it'\"'\"'s' asks Ollama on this machine; ")

    def test_a_model_for_planning_comes_first(self, server, monkeypatch):
        monkeypatch.setenv("PFLOW_MODEL", "plan-never")
        monkeypatch.setenv("PFLOW_PLAN_MODEL", "plan-right")
        heard = []
        plan(None, report=heard.append)
        plan("plan-second", report=heard.append)
        assert [line for line in heard if line.startswith("asking")][:2] == ["asking plan-right", "asking plan-second"]

    def test_settings_with_a_fault_in_them_are_not_quoted(self, monkeypatch, server, tmp_path):
        (tmp_path / "llm").mkdir()
        text = """- {model_id: x, model_name: x, headers: {Authorization: "Bearer hunter2" oops"""
        (tmp_path / "llm" / "extra-openai-models.yaml").write_text(text)
        monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))

        error = failure("x")
        assert error.exit == 78
        assert "extra-openai-models.yaml: expected ',' or '}', but got '<scalar>' at line 1, column 74" in error.message
        assert "hunter2" not in error.message

    def test_the_small_local_model_plans_only_where_it_is_named(self, server, monkeypatch, local_models, capfd):
        monkeypatch.setenv("XDG_DATA_HOME", local_models)
        from pflow.models.choose import choose_capable

        assert failure(None).exit == 78
        assert "is asked" not in capfd.readouterr().err
        for model in ("SmolLM2", f"{local_models}/pflow/models/SmolLM2.gguf"):
            monkeypatch.setenv("PFLOW_MODEL", model)
            assert failure(None).exit == 78
        assert choose_capable("SmolLM2").model_id == "SmolLM2"
        monkeypatch.setenv("PFLOW_PLAN_MODEL", "SmolLM2")
        assert choose_capable(None).model_id == "SmolLM2"


class Parrot(llm.Model):
    """A model that says what it was made with, whatever it is asked."""

    model_id = "parrot"
    can_stream = True

    def __init__(self, *answers):
        self.answers = answers
        self.heard = []

    def execute(self, prompt, stream, response, conversation):
        self.heard.append(prompt.messages)
        said = sum(message.role == "assistant" for message in prompt.messages)
        yield self.answers[min(said, len(self.answers) - 1)]


ANSWERS = st.text(max_size=40) | st.sampled_from(
    [
        json.dumps(RIGHT),
        json.dumps(RIGHT)[:-4],
        json.dumps(RIGHT).replace("read.content", "$x"),
        "{}",
        "[]",
        '{"nodes": 1}',
    ]
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(answers=st.lists(ANSWERS, min_size=1, max_size=4))
def test_whatever_is_answered_is_a_flow_that_passes_or_unplannable_or_no_text(server, answers):
    parrot = Parrot(*answers)
    findings: list[Finding] = []
    none = None
    with mock.patch("pflow.plan.planner._choose_model", return_value=parrot):
        try:
            planned = plan("parrot", fresh=True)
        except Unplannable as error:
            findings = error.findings
        except PflowError as error:
            none = error
    if none:
        assert (none.exit, "it has no text" in none.message, parrot.heard[1:] != []) == (75, True, True)
        return
    if findings:
        assert parrot.heard[1:]
        assert any(not each.is_warning for each in findings)
        return
    assert not [each for each in check(wire(planned)) if not each.is_warning]
    assert planned.description == SENTENCE


SHORT = "read data.txt, summarize it in summary.md"
SHOUT = '''from pflow import Node


class Shout(Node):
    """Say a text loudly.

    Interface:
    - Reads: shared["text"]: str [pipe]  # what to say
    - Writes: shared["shouted"]: str [pipe]  # {doc}
    """

    def exec(self, text):
        return {body}
'''


@pytest.fixture
def asked(peer, home):
    """How many requests there were since this test began."""
    before = len(peer.requests())
    return lambda: len(peer.requests()) - before


def asked_for(sentence=SHORT, model="plan-right", **more):
    heard = []
    planned = plan_sentence(sentence, model=model, report=heard.append, **more)
    return flow_to_ir(planned), heard[0] == "planned before: no model is asked"


def entries(home):
    return sorted((home / "cache" / "pflow" / "plans").glob("*.json"))


def put(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def shout(home, doc="loud", body="text.upper()"):
    put(home / "data" / "pflow" / "nodes" / "shout.py", SHOUT.format(doc=doc, body=body))


def save(home, description):
    flow = {"description": description, "nodes": [{"type": "llm", "inputs": {"prompt": "x"}}]}
    put(home / "data" / "pflow" / "flows" / "mine.pflow.json", json.dumps(flow))


def test_the_same_sentence_twice_sends_one_request(home, asked):
    first, again = asked_for(), asked_for("  read data.txt,\n summarize it in summary.md ")

    assert (first[1], again[1]) == (False, True)
    assert first[0] == again[0]
    assert asked() == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda home: asked_for("read data.txt, summarize it in summary.md well"),
        lambda home: asked_for(model="plan-prose"),
        lambda home: asked_for(fresh=True),
        lambda home: (shout(home), asked_for()),
        lambda home: (save(home, "a flow"), asked_for()),
    ],
    ids=["sentence", "model", "fresh", "node", "flow"],
)
def test_what_is_not_the_same_sends_another(home, asked, change):
    asked_for()
    change(home)
    assert asked() == 2


def test_a_nodes_interface_counts_and_not_its_code(home, asked):
    shout(home)
    asked_for()
    shout(home, body="text.upper() + '!'")
    asked_for()
    assert asked() == 1

    shout(home, doc="very loud")
    asked_for()
    assert asked() == 2


def test_what_does_not_pass_is_not_kept(home, asked):
    with pytest.raises(Exception, match="cannot plan"):
        asked_for(model="plan-never")
    assert entries(home) == []


def test_nobody_else_may_read_a_plan(home):
    asked_for()
    (file,) = entries(home)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def _cut(file):
    file.write_text(file.read_text()[:-20])


def _smuggled(file):
    entry = json.loads(file.read_text())
    entry["nodes"][1] = {"id": "summarize", "type": "./evil.pflow.json"}
    file.write_text(json.dumps(entry))


def _writable_by_all(file):
    file.chmod(0o666)


@pytest.mark.parametrize(
    "damage",
    [_cut, _smuggled, _writable_by_all],
    ids=lambda damage: damage.__name__,
)
def test_what_is_damaged_or_foreign_counts_as_not_there(home, asked, damage):
    whole, _ = asked_for()
    damage(entries(home)[0])

    assert asked_for() == (whole, False)
    assert asked() == 2


def test_a_cache_that_cannot_be_written_is_none(home, asked):
    put(home / "cache" / "pflow" / "plans", "a file")

    assert [asked_for()[1], asked_for()[1]] == [False, False]
    assert asked() == 2


def test_the_oldest_go_where_there_are_many(home):
    for number in range(8):
        CachedPlan(f"sentence {number}", "nodes", "model").write({"nodes": []})
        os.utime(CachedPlan(f"sentence {number}", "nodes", "model").file, (number, number))
    for number in range(495):  # of no sentence
        put(home / "cache" / "pflow" / "plans" / f"{number:064}.json", "{}")
    put(home / "cache" / "pflow" / "plans" / "mine.txt", "not a plan")
    CachedPlan("one more", "nodes", "model").write({"nodes": []})

    assert len(entries(home)) == 500
    assert CachedPlan("sentence 0", "nodes", "model").read() is None
    assert CachedPlan("sentence 7", "nodes", "model").read() == {"nodes": []}
    assert (home / "cache" / "pflow" / "plans" / "mine.txt").exists()


@pytest.mark.parametrize(
    ("likely", "refusal", "guess", "asked"),
    [(-0.1, -5.0, "", 1), (-5.0, -5.0, "--path=a.txt", 8), (-0.1, -4.0, "read-file", 8)],
)
def test_a_plan_with_a_guess_is_not_kept(likely, refusal, guess, asked, home, tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    line = [token("read-file", -0.1, cannot=refusal), token(" --path=a.txt", likely), chunk(end="stop")]
    with Replies(line, owner="llamacpp") as peer:
        flows = [plan_sentence("what is in a.txt?", model=peer.model("m")) for _ in range(2)]
    assert ([flow.guess for flow in flows], len(peer.asked)) == ([guess, guess], asked)
