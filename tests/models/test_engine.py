"""The engine of local models: its processors, its life in a talk, and the state of a text that it keeps."""

import os
import resource
import tempfile
import threading
from pathlib import Path

import pytest

from pflow.models import engine
from pflow.models.ask import Talk
from pflow.models.engine import LocalEngine
from pflow.models.local import LocalModel
from pflow.words.budget import Calls

SYSTEM = "You name trees, and nothing else. An oak is a tree; a rose is none."


@pytest.fixture
def model(local_models, tmp_path, monkeypatch):
    """The small model in a directory of the test's own, which may keep a state."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "pflow" / "models").mkdir(parents=True)
    path = tmp_path / "pflow" / "models" / "SmolLM2.gguf"
    path.symlink_to(Path(local_models, "pflow", "models", "SmolLM2.gguf"))
    return LocalModel("SmolLM2", str(path))


def kept(model):
    """What is beside the model's file: inodes and contents, by name."""
    beside = [each for each in Path(model.path).parent.iterdir() if each.name != "SmolLM2.gguf"]
    return {each.name: (each.stat().st_ino, each.read_bytes()) for each in beside}


def ask(model, text="Name a tree", system=SYSTEM):
    """Ask an engine of its own; return the tokens that it did not have to read."""
    of_talk = model.in_talk().talk
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    request = {"messages": messages, "max_tokens": 2, "stream": True, "stream_options": {"include_usage": True}}
    usage = [chunk["usage"] for chunk in of_talk.answer(request) if "usage" in chunk]
    of_talk.end()
    return usage[-1]["prompt_tokens_details"]["cached_tokens"]


@pytest.mark.parametrize(
    ("siblings", "quota", "cores"),
    [
        (["0", "1", "2", "3"], "max 100000", 4),
        (["0,2", "1,3", "0,2", "1,3"], "max 100000", 2),
        (["0-1", "0-1", "", ""], "", 3),
        (["0", "1", "2", "3"], "250000 100000", 2),
        (["0", "1", "2", "3"], "50000 100000", 1),
    ],
)
def test_the_threads_are_the_real_cores_that_the_process_may_use(siblings, quota, cores, monkeypatch):
    files = {f"/sys/devices/system/cpu/cpu{at}/topology/thread_siblings_list": text for at, text in enumerate(siblings)}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.setattr(engine, "_read", {**files, "/sys/fs/cgroup/cpu.max": quota}.get)
    assert engine.real_cores() == cores


def test_a_talk_has_one_engine_which_ends_with_it(model, monkeypatch):
    loaded, load = [], engine.load
    monkeypatch.setattr(engine, "load", lambda *path, **more: loaded.append(path) or load(*path, **more))
    before = threading.active_count()
    with Talk(model, SYSTEM, Calls()) as talk:
        assert talk.say("Name a tree", grammar='root ::= "oak"').response == "oak"
        talk.restart()
        assert talk.say("Name another", grammar='root ::= "ash"').response == "ash"
        next(talk._model.talk.answer({"messages": [{"role": "user", "content": "Count"}], "stream": True}))
        assert talk.say("Name a third", grammar='root ::= "elm"').response == "elm"
    assert (len(loaded), threading.active_count(), engine._turn.locked()) == (1, before, False)
    assert "GOMP_SPINCOUNT" not in os.environ


def test_a_question_outside_a_talk_keeps_nothing(model):
    assert model.prompt("Hi", system=SYSTEM, max_tokens=2).text()
    assert kept(model) == {}


def test_the_state_of_a_system_text_is_kept_alone_for_other_engines(model):
    assert ask(model, "Name an ash") > 10
    first, place = kept(model), Path(model.path).with_name("SmolLM2.plan.state")
    assert (first.keys(), place.stat().st_mode & 0o777) == ({place.name}, 0o600)
    assert ask(model, "Name an elm") > 10
    assert kept(model) == first
    place.unlink()
    ask(model, "A question of another length")
    assert kept(model)[place.name][1] == first[place.name][1]


@pytest.mark.parametrize("change", ["text", "model", "garbage", "cut"])
def test_a_state_that_does_not_fit_is_thrown_away_and_made_anew(model, change):
    ask(model)
    place = Path(model.path).with_name("SmolLM2.plan.state")
    whole = place.read_bytes()
    if change == "model":
        copy = Path(model.path).read_bytes()
        Path(model.path).unlink()
        Path(model.path).write_bytes(copy)
    elif change != "text":
        place.write_bytes(b"x" * 100_000 if change == "garbage" else whole[:100_000])
    before = kept(model)
    assert ask(model, system=SYSTEM + " So is an elm." if change == "text" else SYSTEM) > 10
    after = kept(model)
    assert after.keys() == before.keys() == {place.name}
    assert after != before
    assert (after[place.name][1] == whole) == (change in ("garbage", "cut"))


def test_a_state_for_which_there_is_no_room_is_not_kept(model, monkeypatch):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        assert ask(model) > 10
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert kept(model) == {}
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", f"{model.path}/none")
        assert ask(model) == 0
    for name in ("XDG_DATA_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    assert ask(model) == 0


def test_an_engine_that_cannot_be_loaded_says_so_at_each_question(tmp_path):
    broken = LocalEngine(str(tmp_path / "none.gguf"))
    for _ in range(2):
        with pytest.raises(Exception, match="cannot load the model"):
            next(broken.answer({"messages": []}))
    broken.end()
