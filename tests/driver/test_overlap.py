"""One run of a flow at a time: whose turn it is, and who else waits, does nothing or hears of it."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from pflow.driver.overlap import FlowLock
from pflow.flow.ir import flow_to_ir, load_document
from pflow.flow.load import load_file
from pflow.record.log import RunLog
from pflow.record.snapshot import Snapshot, place_of
from pflow.values.jsontext import encode
from tests.nodes.child import in_child

RACES = 300
RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def flow_of(command):
    return load_document({"nodes": [{"id": "shell", "inputs": {"command": command}}]}, "it")


def race(flow, how):
    """Take the turn, and be alone then: `ran` or `skipped`, one byte of it."""
    turn = FlowLock(flow)
    try:
        if turn.try_lock():
            if how == "skip":
                return b"s"
            turn.wait(20)
        os.close(os.open("alone", os.O_CREAT | os.O_EXCL))
        os.unlink("alone")
        return b"r"
    finally:
        turn.release()


def racer(flow, how):
    """A process that races once for each `.` it gets: its id, and our ends of its two pipes."""
    (theirs, to), (back, answers) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            while os.read(theirs, 1) == b".":
                os.write(answers, race(flow, how))
        except FileExistsError:
            os.write(answers, b"2")
        finally:
            os._exit(0)
    for fd in (theirs, answers):  # so that a racer which fails is read as one that has ended
        os.close(fd)
    return pid, to, back


def test_of_300_races_none_has_two_at_once_and_who_waits_comes_in_the_end():
    racers = [racer(flow_of("true"), how) for how in ("skip", "skip", "wait")]
    seen = set()
    try:
        for _ in range(RACES):
            for _, to, _ in racers:
                os.write(to, b".")
            seen.add(b"".join(os.read(back, 1) for _, _, back in racers))
    finally:
        for pid, to, _ in racers:
            os.write(to, b"q")
            os.waitpid(pid, 0)
    assert seen <= {b"ssr", b"srr", b"rsr", b"rrr"}


def test_an_orphan_of_a_killed_run_holds_its_turn_and_is_named():
    flow = flow_of("true")
    reader, writer = os.pipe()

    def run():
        turn = FlowLock(flow)
        assert turn.try_lock() is None
        log = RunLog.open(RUN, encode(flow_to_ir(flow)), {"name": "it"})
        assert log is not None
        snapshot = Snapshot()
        snapshot.place = place_of(flow)
        log.write_snapshot(snapshot.as_json())
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
        os.write(writer, f"{child.pid}".encode())
        os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(run) == -signal.SIGKILL
    orphan = int(os.read(reader, 20))
    turn = FlowLock(flow)
    assert str(turn.try_lock()) == f"run {RUN} is still going ({orphan} (sleep))"
    os.kill(orphan, signal.SIGKILL)
    assert None in (time.sleep(0.01) or turn.try_lock() for _ in range(1000))  # it lets go of its files a moment later
    turn.release()


def name_of(flow):
    turn = FlowLock(flow)
    turn.release()
    return turn.name


def test_a_turn_is_that_of_a_file_by_whatever_name_else_that_of_a_text_in_a_directory(place, monkeypatch):
    (place / "a.pflow.json").write_text('{"nodes": [{"id": "read-file"}]}')
    (place / "b.pflow.json").symlink_to("a.pflow.json")
    one, same = (load_file(name) for name in ("a.pflow.json", str(place / "b.pflow.json")))
    (place / "a.pflow.json").write_text('{"nodes": [{"id": "write-file"}]}')
    edited = load_file("./a.pflow.json")
    assert name_of(one) == name_of(same) == name_of(edited)
    texts = [name_of(flow_of(command)) for command in ("a", "a", "b")]
    assert texts[0] == texts[1] != texts[2]
    monkeypatch.chdir("/")
    assert name_of(flow_of("a")) != texts[0]


def test_locks_are_for_their_owner_alone(place):
    before = os.umask(0)
    try:
        FlowLock(flow_of("a")).release()
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in sorted((place / "pflow").rglob("*"))]
    assert modes == [0o700, 0o600]
