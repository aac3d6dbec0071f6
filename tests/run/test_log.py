"""The log of a run: what is written of it, for whose eyes, and that nothing about it can fail the run."""

import errno
import json
import os
import stat
import subprocess
import sys

import pytest

from pflow.run.log import PRUNED, RunLog, describe
from pflow.run.runs import find_run, prune
from pflow.stage.document import new_run_id

IDS = [new_run_id() for _ in range(3)]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "pflow" / "runs"


def open_log(id: str = IDS[0], **more: str) -> RunLog:
    about = {"name": "fix-issue", "flow_hash": "ab" * 32, "steps": 3}
    log = RunLog.open(id, lambda: b'{"pflow": 1}', {**about, **more})
    assert log is not None
    return log


def lines(place, id: str = IDS[0]) -> list[dict]:
    return [json.loads(line) for line in (place / id / "trace.jsonl").read_text().splitlines()]


def modes(place) -> dict[str, int]:
    """The mode of everything that lies in a folder, and of the folder."""
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in [place, *place.rglob("*")]}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_what_is_written_of_a_run_is_for_its_owner_alone(place, umask):
    before = os.umask(umask)
    try:
        log = open_log()
        log.write_snapshot({})
        log.finish(0, None, {})
        prune(str(place))
    finally:
        os.umask(before)
    folders = {"state": 0o700, "pflow": 0o700, "runs": 0o700, IDS[0]: 0o700}
    files = dict.fromkeys(("flow.pflow.json", "snapshot.json", "trace.jsonl", "lock", PRUNED), 0o600)
    assert modes(place.parent.parent) == folders | files


def test_a_run_begins_with_what_is_known_of_it(place):
    open_log(traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01")
    (first,) = lines(place)
    assert first.pop("time") > 1e9
    assert first.pop("by").startswith("pflow-shell ")
    assert first == {
        "v": 1,
        "event": "run",
        "run": IDS[0],
        "pid": os.getpid(),
        "name": "fix-issue",
        "flow_hash": "ab" * 32,
        "steps": 3,
        "traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01",
    }
    assert (place / IDS[0] / "flow.pflow.json").read_text() == '{"pflow": 1}'


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ("é", {"type": "str", "size": 1}),
        ([1, 2], {"type": "list", "size": 2}),
        (1, {"type": "int"}),
        (None, {"type": "null"}),
    ],
)
def test_a_value_is_described_without_telling_it(value, shape):
    assert describe(value) == shape


def test_where_the_environment_names_no_place_nothing_is_kept_and_nothing_said(monkeypatch, capfd):
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.delenv("HOME")
    assert RunLog.open(IDS[0], lambda: b"{}", {}) is None
    assert capfd.readouterr().err == ""


def test_a_place_that_cannot_be_written_is_one_warning(tmp_path, monkeypatch, capfd):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert RunLog.open(IDS[0], lambda: b"{}", {}) is None
    told = capfd.readouterr().err
    assert told.startswith("pflow run: warning: cannot keep a log of this run in ")
    assert told.count("\n") == 1


def test_a_full_disk_ends_the_log_with_one_warning_and_not_the_run(place, monkeypatch, capfd):
    log = open_log()

    def write(fd: int, data: bytes) -> int:
        if fd != 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return really_write(fd, data)

    really_write = os.write
    monkeypatch.setattr(os, "write", write)
    for _ in range(3):
        log.line(b"{}\n")
    log.finish(0, None, {})
    monkeypatch.undo()
    told = capfd.readouterr().err
    assert "cannot go on with the log" in told
    assert told.count("\n") == 1


def test_a_run_is_going_on_while_a_program_that_it_started_holds_its_lock(place):
    log = open_log()
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    os.close(log.lock)
    assert find_run(IDS[0]).status == "running"
    child.communicate()
    assert find_run(IDS[0]).status == "killed"


KILLED = """
import os, signal
from pflow.run.log import RunLog
from pflow.stage.trace import event_line
log = RunLog.open({id!r}, lambda: b"{{}}", {{}})
for visit in range(3):
    log.line(event_line("end", {{"step": "a", "visit": visit}}))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_written_before_kill_9_is_there(place):
    ended = subprocess.run([sys.executable, "-c", KILLED.format(id=IDS[0])], check=False)
    assert ended.returncode == -9
    assert [line.get("visit") for line in lines(place)] == [None, 0, 1, 2]


def test_once_a_day_and_after_a_large_run_pruning_is_due(place):
    assert open_log(IDS[0]).finish(0, None, {})
    prune(str(place))
    assert not open_log(IDS[1]).finish(0, None, {})
    os.utime(place / PRUNED, (1, 1))
    assert open_log(IDS[2]).finish(0, None, {})
    prune(str(place))
    log = open_log(new_run_id())
    log.write_snapshot({"cli_injections": {"text": "x" * (1 << 20)}})
    assert log.finish(0, None, {})
