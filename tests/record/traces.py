"""Logs of runs that tests make up, an event a second, and their traces."""

import fcntl
import json

import pytest

from pflow.record.log import read_events
from pflow.record.runs import RecordedRun
from pflow.record.trace import Trace, trace_of_run

ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
RUN = {"event": "run", "run": ID, "name": "fix-issue", "flow_hash": "ab" * 32}


@pytest.fixture
def traced(tmp_path):
    """Makes the trace of a run with these events, a second apart."""
    directory = tmp_path / ID
    directory.mkdir()
    (directory / "snapshot.json").write_text('{"cli_injections": {}}')

    def make(*events: dict, is_running: bool = False) -> Trace:
        numbered = enumerate([RUN, *events])
        lines = [json.dumps({"v": 1, "time": 100.0 + number, **event}) + "\n" for number, event in numbered]
        log = directory / "trace.jsonl"
        log.write_text("".join(lines))
        with (directory / "lock").open("w") as lock:
            if is_running:
                fcntl.flock(lock, fcntl.LOCK_EX)
            run = RecordedRun(str(directory))
        return trace_of_run(run, read_events(log.read_bytes())[0])

    return make


def start(step: str, node: str = "llm", visit: int = 1, **more: object) -> dict:
    return {"event": "start", "step": step, "node": node, "visit": visit, **more}


def end(step: str, node: str = "llm", visit: int = 1, ms: float = 12.3, **more: object) -> dict:
    return {"event": "end", "step": step, "node": node, "version": "1.0.0", "visit": visit, "ms": ms, **more}


def finish(exit: int = 0, **more: object) -> dict:
    return {"event": "finish", "exit": exit, "ms": 5000.0, "store": {}, **more}
