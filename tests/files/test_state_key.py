"""The key of the user's state, and the places where tests end a process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.engine.context import Context, name_items
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, PflowError
from pflow.files.state_key import state_key


@pytest.fixture
def state(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "pflow"


def test_the_key_is_made_once_and_is_ours_alone(state):
    before = os.umask(0)
    try:
        key = state_key()
    finally:
        os.umask(before)
    assert len(key) == 32
    assert state_key() == key == (state / "key").read_bytes()
    assert [path.stat().st_mode & 0o777 for path in (state, state / "key")] == [0o700, 0o600]
    assert os.listdir(state) == ["key"]


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_file_that_holds_no_key_is_never_taken_for_one(state, content):
    state.mkdir(parents=True)
    (state / "key").write_bytes(content)
    with pytest.raises(PflowError, match="it holds no key") as caught:
        state_key()
    assert caught.value.exit == BAD_CONFIG


def test_a_key_that_cannot_be_kept_is_73_and_one_without_a_place_78(state, monkeypatch):
    state.parent.write_text("in the way")
    with pytest.raises(PflowError, match="not a directory") as caught:
        state_key()
    assert caught.value.exit == CANNOT_WRITE
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    with pytest.raises(PflowError, match="no place") as caught:
        state_key()
    assert caught.value.exit == BAD_CONFIG


PASS = """
from pflow.files.failpoint import failpoint
for name in ("a.x", "b", "a.y", "b"):
    print(name, flush=True)
    failpoint(name)
"""


@pytest.mark.parametrize(
    ("point", "testing", "passed", "code"),
    [
        ("b", "1", 2, -9),
        ("b:2", "1", 4, -9),
        ("a.*:2", "1", 3, -9),
        ("b:3", "1", 4, 0),
        ("b", "", 4, 0),
        ("", "1", 4, 0),
        ("b:1:enospc", "1", 2, 1),
    ],
)
def test_a_failpoint_ends_the_process_where_a_test_says(point, testing, passed, code):
    environment = {**os.environ, "PFLOW_FAILPOINT": point, "PFLOW_TESTING": testing}
    done = subprocess.run([sys.executable, "-c", PASS], env=environment, capture_output=True, text=True, check=False)
    assert (len(done.stdout.split()), done.returncode) == (passed, code)


def test_an_item_is_called_by_its_value_and_which_of_its_equals_it_is(state):
    names = name_items([1, 1.0, 1, "1", True, {"a": 1}, {"a": 1}])
    digests, numbers = zip(*(name.split(".") for name in names), strict=True)
    assert len(set(digests)) == 5
    assert (digests[0], numbers) == (digests[2], ("0", "0", "1", "0", "0", "0", "1"))
    assert names[:3] == name_items([1, 1.0, 1])


def test_a_visit_is_known_by_its_path(state):
    context = Context(run_id="R")
    context.visits["outer"], context.item = 2, "[D.0]"
    inner = context.inside("outer")
    inner.visits["step"] = 3
    assert (context.visit_path("outer"), inner.visit_path("step")) == ("outer@2[D.0]", "outer@2[D.0]/step@3")
