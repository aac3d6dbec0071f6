import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from pflow.map import progress
from pflow.map.ledger import LedgerEntry
from pflow.map.progress import MapProgress
from pflow.record.runs import read_status
from pflow.terminal import messages
from tests.driver.test_listeners import hear
from tests.map.server import Server

DONE = LedgerEntry("id", "", 0, "done", 0, usage={"cost": 0.01, "calls": 1, "model": "m"})
FAILED = LedgerEntry("id", "", 0, "failed", 65)


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def said(monkeypatch):
    texts = []
    monkeypatch.setattr(progress, "say", lambda program, text: texts.append(text))
    monkeypatch.setattr(progress, "write_stderr", texts.append)
    monkeypatch.setattr(progress.time, "time", lambda: 5.0)
    return texts


def go(shown, clock, seconds, each=(DONE,)):
    for _ in range(seconds):
        clock.now += 1
        for entry in each:
            shown.note(entry, True)
        shown.show()


def test_a_log_gets_a_line_a_minute_with_the_rate_of_the_last_minute(said, tmp_path):
    clock = Clock()
    shown = MapProgress(str(tmp_path), "", 10_000, clock)
    for _ in range(1000):
        shown.note(DONE, False)  # done in an earlier map, or counted before: they tell nothing about cost and rate
    go(shown, clock, 60, [DONE, FAILED])
    go(shown, clock, 60)
    assert said == [
        "1,120/10,000, 60 failed, $0.60, 120/min, 1h14m left",
        "1,180/10,000, 60 failed, $1.20, 60/min, 2h27m left",
    ]
    shown.finish()
    assert len(said) == 2


def test_none_says_nothing(said, tmp_path):
    shown = MapProgress(str(tmp_path), "none", 120, clock := Clock())
    go(shown, clock, 61)
    shown.finish()
    assert said == []


def test_json_has_a_line_at_the_start_one_a_minute_and_a_last_one(said, tmp_path):
    clock = Clock()
    shown = MapProgress(str(tmp_path), "json", 120, clock)
    shown.show("429 from h, next try in", 5)
    first = json.loads(said.pop())
    assert (first["done"], first["per_minute"], first["waits"]) == (0, 0, "429 from h, next try in 5s")
    go(shown, clock, 60)
    go(shown, clock, 1, [FAILED])
    shown.finish()
    counts = {
        "done": 60,
        "failed": 0,
        "total": 120,
        "cost": 0.6,
        "per_minute": 60.0,
        "left_s": 60,
        "waits": None,
        "time": 5.0,
    }
    assert [*map(json.loads, said)] == [counts, {**counts, "failed": 1, "left_s": 59}]
    usage = {"model": "m", "cost": 0.6, "calls": 60, "unpriced": 0}
    kept = {"total": 120, "done": 60, "failed": 1, "begun": 0, "left": 59, "usage": usage, "time": 5.0}
    assert read_status(str(tmp_path)) == kept


def test_a_stream_without_a_known_end_has_no_total(said, tmp_path):
    clock = Clock()
    shown = MapProgress(str(tmp_path), "", None, clock)
    go(shown, clock, 60)
    assert said == ["60, $0.60, 60/min"]
    assert read_status(str(tmp_path))["left"] is None


def test_a_terminal_has_one_line_and_q_nothing(said, tmp_path, monkeypatch):
    monkeypatch.setattr(progress.os, "isatty", lambda fd: True)
    monkeypatch.setenv("TERM", "xterm")
    hear(monkeypatch, said)
    clock = Clock()
    shown = MapProgress(str(tmp_path), "", 4, clock)
    go(shown, clock, 2)
    assert said == ["1/4  $0.01  60/min  3s left", "\r\x1b[K", "2/4  $0.02  60/min  2s left"]
    messages.clear()
    shown.show("429 from h, next try in", 40)  # a row was printed: the line stands below it at once
    shown.finish()
    assert said[3:] == ["\r\x1b[K", "2/4  $0.02  60/min  2s left  429 from h, next try in 40s", "\r\x1b[K"]
    said.clear()
    monkeypatch.setattr(messages, "is_quiet", True)
    go(MapProgress(str(tmp_path), "json", 4, clock), clock, 70)
    assert not said


def test_a_log_is_told_of_a_long_wait_at_once_and_the_next_time_after_a_minute(said, tmp_path):
    clock = Clock()
    shown = MapProgress(str(tmp_path), "", 9, clock)
    for left in range(45, -45, -1):
        clock.now += 1
        shown.show("429 from h, next try in", left % 45)
    assert said == ["0/9, 429 from h, next try in 44s", "0/9, 429 from h, next try in 29s"]


def test_a_map_whose_server_refuses_says_so_before_an_item_ends(tmp_path):
    with Server(rate=1) as server:
        pflow = shutil.which("pflow", path=os.path.dirname(sys.executable))
        command = [pflow, "map", f"llm --model={server.model()} Brief", "--progress=json"]
        pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)}, **pipes) as process:
            process.stdin.write(b"a\nb\n")
            process.stdin.flush()  # and no end: more could come
            waits = (json.loads(line)["waits"] for line in process.stderr)
            first, second = next(waits), next(each for each in waits if each != "waiting for items")
            process.send_signal(signal.SIGINT)
    assert first is None
    assert second.startswith("429 from 127.0.0.1, next try in ")
