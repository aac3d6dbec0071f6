"""What a map tells: its progress, and what pflow runs, trace and why tell of it while it runs and afterwards."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.commands._command import run_command
from pflow.commands.runs import command as runs
from pflow.commands.trace import command as trace
from pflow.commands.why import command as why
from pflow.errors import MISSING, USAGE, PflowError
from pflow.map import report
from pflow.map.ledger import Ledger, LedgerEntry, item_digest
from pflow.map.report import MapProgress
from pflow.record.log import RunLog, write_status
from pflow.record.runs import read_status
from pflow.terminal import messages
from pflow.values.jsontext import decode
from tests.driver.test_listeners import hear
from tests.map.server import Server

ID = "01BX5ZZKBKACTAV9WEVGEMMVRZ"
USED = {"model": "m", "calls": 1, "unpriced": 0, "cost": 0.5, "tokens": {"in": 3, "out": 4}}

END = {"status": "done", "exit": 0, "outputs": {}, "carried": "", "error": "", "usage": USED}


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A map of six items that goes on: two are done, three failed, one of them without a repeat, one is left."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = str(tmp_path / "map.db")
    log = RunLog.open(ID, b"{}", {"name": "map", "steps": 1, "map": {"ledger": path}})
    assert log is not None
    ledger = Ledger(path)
    ledger.begin({}, ID)
    for at in range(6):
        entry = ledger.claim(at, item_digest(at), f"item-{at}")
        result = {**END, "ms": 10.0 * at, "error": "it is cut" if at == 0 else ""}
        if at > 1:
            result |= {"status": "failed", "exit": 66, "error": "cannot read '\x1b'", "usage": {}}
        if at == 4:
            ledger.start(entry.id)
            result |= {"status": "begun", "exit": 143, "error": "it died"}
        if at != 5:
            ledger.end(entry.id, result)
    ledger.commit()
    write_status(log.directory, {"total": 1000, "done": 2, "failed": 3, "left": 995, "usage": USED, "time": 1.0})
    yield log
    ledger.close()
    log.release()


def printed(command, capfd, *words: str) -> str:
    run_command(command, list(words))
    return capfd.readouterr().out


def test_runs_shows_the_counts_of_a_map_while_it_goes_and_after(log, capfd):
    assert f"  running     5/1,000  3 failed  map  $0.50  pflow cancel {ID}\n" in printed(runs, capfd)
    log.finish(1, None, {}, 3, {"calls": 2, "cost": 1.0, "unpriced": 0})
    Path(log.directory, "journal.jsonl").write_text("kept for what failed")
    last = f"  finished 1  5/1,000  3 failed  map  $1.00  finished with failures  pflow resume {ID} --failed\n"
    assert last in printed(runs, capfd, "--failed")
    (run,) = decode(printed(runs, capfd, "--json").encode())
    assert run["items"] == {"total": 1000, "done": 2, "failed": 3, "left": 995}


def test_trace_shows_how_the_items_ended_and_which_to_ask_about(log, capfd):
    assert printed(trace, capfd, ID).splitlines()[:5] == [
        "items: done 2, failed 2, begun 1, todo 1 of 1,000",
        "model: 2 calls, tokens in 6 out 8, model m, $1.00",
        rf"2 failed with 66: cannot read '\x1b'  (pflow why {ID} 3)",
        f"1 begun with 143: it died  (pflow why {ID} 5)",
        "slowest: #5 40 ms, #4 30 ms, #3 20 ms",
    ]
    told = decode(printed(trace, capfd, ID, "--json").encode())["map"]
    assert [(each["id"], each["count"]) for each in told["failures"]] == [("item-2", 2), ("item-4", 1)]
    for flag in ("--chrome", "--store"):
        with pytest.raises(PflowError, match=f"cannot take {flag} for a map") as caught:
            printed(trace, capfd, ID, flag)
        assert caught.value.exit == USAGE


def test_why_tells_of_an_item_by_its_id_or_number_and_what_to_type(log, capfd):
    said = "".join(printed(why, capfd, ID, word) for word in ("item-0", "#3", "5", "6"))
    assert said.splitlines() == [
        "#1 item-0: done, tries 1, tokens in 3 out 4, model m, $0.50",
        "    warning: it is cut",
        "#3 item-2: failed with 66, tries 1, 20 ms",
        r"    cannot read '\x1b'",
        f"    pflow resume {ID} --failed runs it again",
        "#5 item-4: begun with 143, tries 1, 40 ms",
        "    it died",
        "    a step of it has begun that does not repeat",
        f"    pflow resume {ID} --redo runs it again",
        "#6 item-5: todo, tries 0",
        f"    pflow resume {ID} runs it",
    ]


@pytest.mark.parametrize(("words", "exit"), [("item", MISSING), ("7", MISSING), ("0 --against=last", USAGE)])
def test_why_refuses_an_item_that_is_unknown_or_compared(log, words, exit):
    with pytest.raises(PflowError) as caught:
        run_command(why, [ID, *words.split()])
    assert caught.value.exit == exit


DONE = LedgerEntry("id", "", 0, "done", 0, usage={"cost": 0.01, "calls": 1, "model": "m"})
FAILED = LedgerEntry("id", "", 0, "failed", 65)


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def said(monkeypatch):
    texts = []
    monkeypatch.setattr(report, "say", lambda program, text: texts.append(text))
    monkeypatch.setattr(report, "write_stderr", texts.append)
    monkeypatch.setattr(report.time, "time", lambda: 5.0)
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
    monkeypatch.setattr(report.os, "isatty", lambda fd: True)
    monkeypatch.setenv("TERM", "xterm")
    hear(monkeypatch, said)
    clock = Clock()
    shown = MapProgress(str(tmp_path), "", 4, clock)
    go(shown, clock, 2)
    assert said == ["1/4  $0.01  60/min  3s left", "\r\x1b[K", "2/4  $0.02  60/min  2s left"]
    messages.clear_line()
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
