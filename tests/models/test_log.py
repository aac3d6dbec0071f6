"""Conversations that go on, and answers in llm's own log, against a real server and with llm's own eyes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from pflow.models import log
from tests.nodes.test_llm import PNG, TREE, failure, run
from tests.peers.openai_server import REPLY

GOES_ON = {"continue": True}


@pytest.fixture
def database(server):
    return server.llm_user_path / "logs.db"


def messages(server, nth=-1):
    return [(each["role"], each["content"]) for each in server.requests()[nth]["body"]["messages"]]


def logged():
    """What `llm logs` shows, the oldest first."""
    shown = subprocess.check_output([sys.executable, "-m", "llm", "logs", "--json", "-n", "0"])
    return sorted(json.loads(shown), key=lambda turn: turn["id"])


def turns(database):
    with sqlite3.connect(database) as connection:
        return connection.execute("select count(*) from turns").fetchone()[0]


class TestGoingOn:
    def test_what_was_said_before_goes_as_messages_to_the_model_that_said_it(self, server):
        first = run("reply", "one", system="be brief", log=True)
        run(None, "two", **GOES_ON)
        run("echo", "three", system="be brief", **GOES_ON)

        said = [("system", "be brief"), ("user", "one"), ("assistant", REPLY), ("user", "two"), ("assistant", REPLY)]
        assert messages(server) == [*said, ("user", "three")]
        assert [each["body"]["model"] for each in server.requests()] == ["reply", "reply", "echo"]
        assert {turn["conversation_id"] for turn in logged()} == {first["usage"]["conversation"]}

    def test_a_new_system_prompt_is_said_where_it_is_new(self, server):
        run("reply", "one", log=True)
        run("reply", "two", system="be brief", **GOES_ON)
        run("reply", "three", system="be brief", **GOES_ON)

        assert [role for role, _ in messages(server)] == ["user", "assistant", "system", *["user", "assistant"], "user"]

    def test_a_conversation_has_an_id(self, server):
        first = run("reply", "one", log=True)["usage"]["conversation"]
        assert run("reply", "other", log=True)["usage"]["conversation"] != first
        run("reply", "two", conversation=first)

        assert [content for _, content in messages(server)] == ["one", REPLY, "two"]
        for wrong in ("gone", ""):
            error = failure("reply", conversation=wrong)
            assert (error.exit, error.message) == (66, f"cannot find the conversation '{wrong}'")
        assert len(server.requests()) == 3

    def test_in_an_empty_log_a_conversation_begins_and_that_is_told(self, server, database, capfd):
        assert failure("reply", conversation="gone").exit == 66
        run("reply", "zero")
        assert not database.exists()
        assert capfd.readouterr().err == ""
        run("reply", "one", **GOES_ON)
        assert "a new conversation begins: llm's log is empty; --log or PFLOW_LLM_LOG=1" in capfd.readouterr().err
        run("reply", "two", **GOES_ON)

        assert capfd.readouterr().err == ""
        assert [content for _, content in messages(server)] == ["one", REPLY, "two"]

    def test_what_went_along_goes_along_again(self, server, tmp_path):
        (tmp_path / "a.png").write_bytes(PNG)
        run("see", "what?", attachment=[str(tmp_path / "a.png")], log=True)
        run("see", "and now?", **GOES_ON)

        assert [part["type"] for part in messages(server)[0][1]] == ["text", "image_url"]
        [first, _] = logged()
        assert [each["path"] for each in first["attachments"]] == [str(tmp_path / "a.png")]
        (tmp_path / "a.png").unlink()
        error = failure("see", "and now?", **GOES_ON)
        assert (error.exit, f"no such file or directory: '{tmp_path}/a.png'" in error.message) == (66, True)

    @pytest.mark.parametrize("model", [None, "echo"])
    def test_what_an_older_llm_logged_goes_on(self, server, database, model):
        database.parent.mkdir(exist_ok=True)
        with log._database(database) as empty:
            empty["conversations"].insert({"id": "old", "name": "one", "model": "reply"})
            answers = {"1": ("be brief", "one", "a"), "2": (None, "two", "b"), "3": (None, "three", "")}
            for id, (system, prompt, response) in answers.items():
                row = {"id": id, "conversation_id": "old", "model": "gone", "options_json": '{"depth": 3}'}
                empty["responses"].insert({**row, "system": system, "prompt": prompt, "response": response})
        run(model, "four", **GOES_ON)

        said = [("system", "be brief"), ("user", "one"), ("assistant", "a"), ("user", "two"), ("assistant", "b")]
        assert messages(server) == [*said, ("user", "four")]
        assert server.requests()[-1]["body"]["model"] == (model or "reply")

    def test_a_model_that_is_gone_is_named_and_another_goes_on(self, server, database):
        run("reply", "one", log=True)
        with sqlite3.connect(database) as connection:
            connection.execute("update turns set model = 'gone.gguf'")

        assert failure(None, **GOES_ON).message == "cannot find the model 'gone.gguf'"
        assert run("echo", "two", **GOES_ON)["response"] == "two"

    def test_a_client_that_is_held_below_a_root_sees_no_conversation(self, server, tmp_path, monkeypatch):
        run("reply", "one", log=True)
        monkeypatch.setenv("PFLOW_ROOT", str(tmp_path / "root"))

        assert failure("reply", **GOES_ON).exit == 77
        assert len(server.requests()) == 1


class TestLogging:
    def test_nothing_is_logged_unasked(self, server, database):
        assert "conversation" not in run("reply")["usage"]
        assert not database.exists()

    def test_llm_shows_what_was_asked_and_what_it_took(self, server):
        run("json-native", "which?", system="be brief", schema=TREE, option=["seed=7"], log=True)

        [turn] = logged()
        assert (turn["prompt"], turn["system"], turn["model"]) == ("which?", "be brief", "json-native")
        assert (turn["output_tokens"], turn["options_json"]) == (4, {"seed": 7})
        assert turn["schema_json"] == TREE
        assert json.loads(turn["response"]) == {"name": "oak", "height": 40}

    @pytest.mark.parametrize("model", ["cut", "filtered", "json-misfit", "rate-limited"])
    def test_what_failed_is_no_answer(self, server, database, model):
        run("reply", "one", log=True)
        failure(model, schema=TREE if model == "json-misfit" else None, **GOES_ON)

        assert turns(database) == 1

    @pytest.mark.parametrize(("params", "count"), [({}, 1), ({"log": False}, 1), ({"log": True}, 2)])
    def test_llm_s_own_switch_holds_where_nobody_said_it(self, server, database, params, count):
        run("reply", "one", log=True)
        (server.llm_user_path / "logs-off").touch()
        run("reply", "two", **GOES_ON, **params)

        assert turns(database) == count
        assert len(messages(server)) == 3

    def test_no_log_holds_for_what_goes_on_too(self, server, database):
        run("reply", "one", log=True)
        run("reply", "two", log=False, **GOES_ON)

        assert turns(database) == 1

    def test_many_that_begin_the_log_at_once_are_all_in_it(self, server, database):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: run("reply", str(n), log=True), range(8)))

        assert turns(database) == 8

    def test_while_another_writes_the_log_the_answer_waits_and_is_never_lost(
        self, server, database, monkeypatch, capfd
    ):
        run("reply", log=True)
        monkeypatch.setattr(log, "PATIENCE", 0.01)
        with sqlite3.connect(database) as other:
            other.execute("begin immediate")
            assert run("reply", log=True)["response"] == REPLY
            assert failure("reply", **GOES_ON).exit == 75

        assert capfd.readouterr().err.count("database is locked") == 1

    @pytest.mark.parametrize(("fault", "exit"), [("a directory", 73), ("no database", 65)])
    def test_a_log_that_cannot_be_used_costs_no_answer(self, server, database, capfd, fault, exit):
        database.mkdir() if fault == "a directory" else database.write_text("text" * 100)

        assert run("reply", log=True)["response"] == REPLY
        said = capfd.readouterr().err
        assert f"warning: the answer is not in llm's log '{database}': " in said
        assert said.count("\n") == 1
        assert failure("reply", **GOES_ON).exit == exit
        assert len(server.requests()) == 1

    def test_without_a_home_stderr_says_that_nothing_is_logged(self, server, monkeypatch, capfd):
        place = server.directory / "pflow-without-home-stand-in"
        server.llm_user_path.rename(place)
        monkeypatch.setenv("LLM_USER_PATH", str(place))

        assert "conversation" not in run("reply", log=True)["usage"]
        assert "there is no home directory" in capfd.readouterr().err
        assert not (place / "logs.db").exists()


@pytest.mark.parametrize(
    ("chunks", "text", "kept"),
    [
        (["Hi ", "you"], "Hi you", ["Hi ", "you"]),
        (["<think>a", "b</think>", "Hi"], "Hi", ["", "", "Hi"]),
        (["<think>a</think>H", "i"], "Hi", ["H", "i"]),
        (["<think>a</think>"], "", [""]),
        (["<think>ab</think>", "H"], "H", ["", "H"]),
    ],
)
def test_thoughts_in_a_text_are_not_kept(tmp_path, monkeypatch, chunks, text, kept):
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    events = [
        SimpleNamespace(type="reasoning", chunk="beside"),
        *(SimpleNamespace(type="text", chunk=c) for c in chunks),
    ]
    written = []
    response = SimpleNamespace(_chunks=chunks, _stream_events=events, log_to_db=written.append)
    assert log.write(response, text)
    assert [event.chunk for event in events] == ["beside", *kept]
    assert len(written) == 1
