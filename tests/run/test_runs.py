"""Finding runs and reading their logs, whole or torn, and pruning them."""

import json
import os
import time

import pytest

from pflow.errors import MISSING, PflowError
from pflow.run.log import RunLog
from pflow.run.runs import Run, find_run, list_runs, parse_event, prune, read_events
from pflow.run.trace import trace_of_run
from pflow.stage.document import new_run_id

OLD, NEW = "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01BX5ZZKBKACTAV9WEVGEMMVRZ"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    place = tmp_path / "pflow" / "runs"
    place.mkdir(parents=True)
    return place


def event(kind: str, time: float = 100.0, **more: object) -> bytes:
    return json.dumps({"v": 1, "event": kind, "time": time, **more}).encode() + b"\n"


LOG = (
    event("run", 100.0, run=OLD, name="fix-issue", flow_hash="ab", steps=2)
    + event("start", 101.0, step="a", node="shell", visit=1)
    + event("end", 102.0, step="a", node="shell", visit=1, reads={"x": ["y"]}, writes={"z": ["a.z"]}, ms=900.0)
    + event("start", 103.0, step="b", node="llm", visit=1)
    + event("end", 104.0, step="b", node="llm", visit=1, reads={}, writes={}, ms=1000.0, exit=66, message="no")
    + event("finish", 105.0, exit=66, ms=5000.0, error={"step": "b", "exit": 66}, store={})
)


def keep(place, id: str, log: bytes) -> None:
    (place / id).mkdir()
    (place / id / "trace.jsonl").write_bytes(log)
    (place / id / "lock").write_bytes(b"")


def test_runs_are_listed_newest_first(place):
    for id in (NEW, OLD):
        keep(place, id, LOG)
    assert [run.id for run in list_runs()] == [NEW, OLD]
    assert [run.id for run in list_runs(1)] == [NEW]


UNFINISHED = LOG[: LOG.rindex(b'{"v": 1, "event": "finish"')]


@pytest.mark.parametrize(
    ("log", "status", "exit", "ms"),
    [
        (LOG, "failed", 66, 5000.0),
        (LOG.replace(b'"exit": 66, "ms": 5000', b'"exit": 0, "ms": 5000'), "done", 0, 5000.0),
        (UNFINISHED, "killed", None, 4000.0),
        (LOG + event("start", 106.0, step="b", node="llm", visit=1), "killed", None, 6000.0),
        (LOG + b"of another\n", "failed", 66, 5000.0),
        (event("run", 100.0), "killed", None, 0.0),
    ],
)
def test_a_run_ended_as_its_last_event_says(place, log, status, exit, ms):
    keep(place, OLD, log)
    run = find_run(OLD)
    assert (run.status, run.exit, run.ms) == (status, exit, ms)


def test_a_run_goes_on_while_its_lock_is_held(place):
    log = RunLog.open(NEW, lambda: b"{}", {"name": "long"})
    assert log is not None
    assert (find_run().status, find_run().ms) == ("running", None)
    log.finish(0, None, {})
    assert find_run().status == "done"


@pytest.mark.parametrize(
    ("word", "id"),
    [
        ("last", NEW),
        ("@1", NEW),
        (OLD, OLD),
        ("01A", OLD),
    ],
)
def test_a_run_is_found_by_its_id_by_how_that_begins_and_by_its_place(place, word, id):
    for each in (NEW, OLD):
        keep(place, each, LOG)
    assert find_run(word).id == id


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("01", "cannot tell which run '01' is: 2 begin so", f"{NEW}, {OLD}"),
        ("@3", "cannot find the run '@3'", "pflow runs lists them"),
        ("lats", "cannot find the run 'lats'", "pflow runs lists them"),
    ],
)
def test_a_run_that_is_not_there_is_66(place, word, message, hint):
    for each in (NEW, OLD):
        keep(place, each, LOG)
    with pytest.raises(PflowError) as raised:
        find_run(word)
    assert (raised.value.message, raised.value.hint, raised.value.exit) == (message, hint, MISSING)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b'{"v":2,"event":"end","time":1}',
        b'{"v":1,"event":"end","time":"now"}',
        b'{"v":1,"event":"end","time":NaN}',
        b'{"v":1,"event":"end","time":1} x',
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_no_event_is_left_out_with_a_warning(line):
    assert parse_event(line) is None
    events, warnings = read_events(event("run") + line + b"\n" + event("finish"))
    assert [each["event"] for each in events] == ["run", "finish"]
    assert warnings == ["lines of the log that are torn or no events are left out: 1"]


def ended(place, log: bytes) -> set[str]:
    """The steps that a log says have ended."""
    (place / OLD / "trace.jsonl").write_bytes(log)
    run = Run(str(place / OLD))
    trace = trace_of_run(run, run.events()[0])
    return {visit["step"] for visit in trace["execution_trace"] if visit["state"] in ("done", "failed")}


def steps_ended_in(lines: bytes) -> set[str]:
    events = [json.loads(line) for line in lines.split(b"\n")[:-1]]
    return {each["step"] for each in events if each["event"] == "end"}


def test_a_log_that_is_cut_anywhere_is_read_and_no_step_ended_that_it_does_not_say(place):
    keep(place, OLD, b"")
    for length in range(len(LOG) + 1):
        assert ended(place, LOG[:length]) == steps_ended_in(LOG[:length])
        assert (find_run(OLD).status == "failed") is (length == len(LOG))


DAY = 86_400


def id_of(age: float) -> str:
    """The id of a run that began so many days ago."""
    digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    number = int((time.time() - age * DAY) * 1000)
    return "".join(digits[number >> shift & 31] for shift in range(45, -1, -5)) + "0" * 16


def test_runs_are_pruned_after_so_many_days(place):
    ages = {age: id_of(age) for age in (0, 29, 31, 400)}
    for id in ages.values():
        keep(place, id, LOG)
    prune(str(place))
    assert [run.id for run in list_runs()] == [ages[0], ages[29]]


def test_the_oldest_are_pruned_until_the_rest_has_room(place):
    ids = [id_of(age) for age in (1, 2, 3, 4)]
    for id in ids:
        keep(place, id, b"x" * 100_000)
    prune(str(place), size=250_000)
    assert [run.id for run in list_runs()] == ids[:2]


def test_the_newest_run_stays_however_old_and_large(place):
    keep(place, OLD, LOG)
    prune(str(place), size=0)
    assert [run.id for run in list_runs()] == [OLD]


def test_a_run_that_goes_on_is_never_pruned(place):
    log = RunLog.open(OLD, lambda: b"{}", {})
    assert log is not None
    keep(place, NEW, LOG)
    keep(place, new_run_id(), LOG)
    prune(str(place))
    assert [run.id for run in list_runs()][1:] == [OLD]
    log.finish(0, None, {})
    prune(str(place))
    assert len(list_runs()) == 1


def test_pruning_takes_whole_runs_and_nothing_else(place):
    keep(place, new_run_id(), LOG)
    keep(place, OLD, LOG)
    (place / OLD / "store").mkdir()
    (place / OLD / "store" / "key").write_text("x")
    os.symlink(place / "notes", place / OLD / "link")
    (place / "notes").mkdir()
    (place / "notes" / "note").write_text("mine")
    prune(str(place))
    assert not (place / OLD).exists()
    assert (place / "notes" / "note").read_text() == "mine"
