"""The logs of runs: what is written of one, that nothing about it can fail the run; finding, reading, pruning them."""

import errno
import json
import os
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from pflow.errors import MISSING, PflowError
from pflow.record.comparison import reasons
from pflow.record.journal import Journal, pieces_of
from pflow.record.log import AHEAD, KEYS, PRUNED, STATUS, RunLog, describe, parse_event, read_events, write_status
from pflow.record.records import JOURNAL
from pflow.record.runs import RecordedRun, find_run, list_runs, prune, read_status, time_of
from pflow.record.trace import trace_of_run, trace_text, visit_paths
from pflow.record.trace_formats import as_chrome, as_json, as_otlp
from pflow.stage.document import new_run_id
from pflow.stage.trace import event_line
from pflow.values.secrets import Secrets

OLD, NEW = "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01BX5ZZKBKACTAV9WEVGEMMVRZ"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    place = tmp_path / "pflow" / "runs"
    place.mkdir(parents=True)
    return place


def open_log(id: str = NEW, **about: object) -> RunLog:
    log = RunLog.open(id, b'{"pflow": 1}', about)
    assert log is not None
    return log


def test_a_run_begins_with_what_is_known_of_it(place):
    open_log(name="fix-issue", steps=3)
    (line,) = (place / NEW / "trace.jsonl").read_text().splitlines()
    first = json.loads(line)
    assert first.pop("time") > 1e9
    assert first.pop("by").startswith("pflow-shell ")
    assert first == {"v": 1, "event": "run", "run": NEW, "pid": os.getpid(), "name": "fix-issue", "steps": 3}
    assert (place / NEW / "flow.pflow.json").read_text() == '{"pflow": 1}'


@pytest.mark.parametrize(
    ("value", "shape"),
    [("é", {"type": "str", "size": 1}), ([1, 2], {"type": "list", "size": 2}), (1, {"type": "int"})],
)
def test_a_value_is_described_without_telling_it(value, shape):
    assert describe(value) == shape


def test_a_full_disk_ends_the_log_with_one_warning_and_not_the_run(place, monkeypatch, capfd):
    log = open_log()

    def write(fd: int, data: bytes) -> int:
        if fd != 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return really_write(fd, data)

    really_write = os.write
    monkeypatch.setattr(os, "write", write)
    for _ in range(3):
        log.write_line(b"{}\n")
    log.finish(0, None, {})
    monkeypatch.undo()
    told = capfd.readouterr().err
    assert "cannot continue the log" in told
    assert told.count("\n") == 1


def test_a_run_is_going_on_while_a_program_that_it_started_holds_its_lock(place):
    log = open_log()
    assert (find_run().status, find_run().ms) == ("running", None)
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    log.release()
    assert find_run(NEW).status == "running"
    child.communicate()
    assert find_run(NEW).status == "killed"


def test_no_program_of_a_run_can_release_its_lock(place):
    log = open_log()
    release = f"import fcntl; fcntl.flock({log.lock}, fcntl.LOCK_UN)"
    subprocess.run([sys.executable, "-c", release], close_fds=False, check=True)
    assert find_run().status == "running"
    with pytest.raises(PflowError, match="still running"):
        RunLog.reopen(log.directory, ms=0)
    log.release()
    os.close(RunLog.reopen(log.directory, ms=0).lock)


def test_a_log_goes_on_behind_its_last_whole_line_and_keeps_its_time(place):
    keep(place, OLD, UNFINISHED + b'{"v": 1, "event": "en')
    log = RunLog.reopen(str(place / OLD), ms=60_000)
    log.write_line(event("resume"))
    log.finish(0, None, {})
    assert (find_run(OLD).status, [each["event"] for each in find_run(OLD).events()[0]][-2:]) == (
        "done",
        ["resume", "finish"],
    )
    assert 60_000 <= (find_run(OLD).ms or 0) < 70_000


def test_no_log_is_reopened_while_something_of_its_run_goes_on(place):
    log = open_log()
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    log.release()
    with pytest.raises(PflowError) as raised:
        RunLog.reopen(log.directory, ms=0)
    child.communicate()
    assert raised.value.exit == 75
    assert raised.value.message == f"cannot resume the run {NEW}: it is still running: {child.pid} (cat)"
    os.close(RunLog.reopen(log.directory, ms=0).lock)


KILLED = f"""
import os, signal
from pflow.record.log import RunLog
from pflow.stage.trace import event_line
log = RunLog.open({NEW!r}, b"{{}}", {{}})
for visit in range(3):
    log.write_line(event_line("end", {{"step": "a", "node": "x", "visit": visit}}))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_written_before_kill_9_is_there(place):
    assert subprocess.run([sys.executable, "-c", KILLED], check=False).returncode == -9
    assert [event.get("visit") for event in RecordedRun(str(place / NEW)).events()[0]] == [None, 0, 1, 2]


def test_once_a_day_and_after_a_large_run_pruning_is_due(place):
    assert open_log().finish(0, None, {})
    prune(str(place))
    assert not open_log(new_run_id()).finish(0, None, {})
    os.utime(place / PRUNED, (1, 1))
    assert open_log(new_run_id()).finish(0, None, {})
    prune(str(place))
    log = open_log(new_run_id())
    log.write_snapshot({"cli_injections": {"text": "x" * (1 << 20)}})
    assert log.finish(0, None, {})


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
UNFINISHED = LOG[: LOG.rindex(b'{"v": 1, "event": "finish"')]


def keep(place, id: str, log: bytes = LOG) -> None:
    (place / id).mkdir()
    (place / id / "trace.jsonl").write_bytes(log)
    (place / id / "lock").write_bytes(b"")


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


@pytest.mark.parametrize(
    ("word", "id"),
    [
        ("last", NEW),
        ("@2", OLD),
        (OLD, OLD),
        ("01a", OLD),
        ("01", f"cannot find the run '01': 2 ids begin with it; {NEW}, {OLD}"),
        ("@3", "cannot find the run '@3'; pflow runs lists them"),
        ("lats", "cannot find the run 'lats'; pflow runs lists them"),
    ],
)
def test_a_run_is_found_by_its_id_by_how_that_begins_and_by_its_place(place, word, id):
    for each in (NEW, OLD):
        keep(place, each)
    if len(id) == len(OLD):
        assert find_run(word).id == id
        return
    with pytest.raises(PflowError) as raised:
        find_run(word)
    assert (raised.value.exit, f"{raised.value.message}; {raised.value.hint}") == (MISSING, id)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b'{"v":2,"event":"end","time":1}',
        b'{"v":1,"event":"end","time":"now"}',
        b'{"v":1,"event":"end","time":NaN}',
        b'{"v":1,"event":"end","time":1} x',
        b'{"v":1,"event":"run","time":1e300}',
        b'{"v":1,"event":"run","time":1,"steps":"\\u001f"}',
        b'{"v":1,"event":"run","time":1,"map":5}',
        b'{"v":1,"event":"start","time":1,"step":"a","node":"x","lane":[]}',
        b'{"v":1,"event":"finish","time":1,"store":{"a":{"type":"x","size":1}}}',
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_no_event_is_left_out_with_a_warning(line):
    assert parse_event(line) is None
    events, warnings = read_events(event("run") + line + b"\n" + event("finish"))
    assert [each["event"] for each in events] == ["run", "finish"]
    assert warnings == ["left out lines of the log that are torn or not events: 1"]


def test_a_log_that_is_cut_anywhere_is_read_and_no_step_ended_that_it_does_not_say(place):
    keep(place, OLD)
    for length in range(len(LOG) + 1):
        (place / OLD / "trace.jsonl").write_bytes(LOG[:length])
        run = RecordedRun(str(place / OLD))
        visits = trace_of_run(run, run.events()[0])["execution_trace"]
        whole = [json.loads(line) for line in LOG[:length].split(b"\n")[:-1]]
        ended = {visit["step"] for visit in visits if visit["state"] in ("done", "failed")}
        assert ended == {each["step"] for each in whole if each["event"] == "end"}
        assert (run.status == "failed") is (length == len(LOG))


@pytest.mark.parametrize("byte", [b"x", b"0", b'"'])
def test_a_log_with_another_byte_anywhere_is_shown_without_what_that_spoils(place, byte):
    part = {"kind": "read", "name": "text", "digest": "0", "type": "str", "size": 1}
    about = {"step": "a", "node": "x", "cache": {"verdict": "miss"}, "parts": [part]}
    log = LOG + event_line("start", {"step": "a", "node": "x", "visit": 1}) + event_line("end", {**about, "visit": 1})
    keys = event_line("key", {**about, "visit": "a@1"})
    keep(place, OLD, log)
    keep(place, NEW, log)
    (place / OLD / KEYS).write_bytes(keys)
    for at in range(len(log)):
        (place / NEW / "trace.jsonl").write_bytes(log[:at] + byte + log[at + 1 :])
        run = RecordedRun(str(place / NEW))
        trace = trace_of_run(run, run.events()[0])
        for write in (as_json, as_chrome, as_otlp, trace_text):
            with suppress(PflowError):  # a time that no number in JSON holds
                assert write(trace, now=1.0, with_store=True)
    for at in range(len(keys)):
        (place / NEW / KEYS).write_bytes(keys[:at] + byte + keys[at + 1 :])
        with suppress(PflowError):
            assert reasons(find_run(NEW), "a", find_run(OLD))


def ended(step: str, **more: object) -> bytes:
    return event_line("end", {"step": step, "node": "x", "writes": {"exit": ["a"]}, **more})


def test_the_steps_of_a_run_that_ended_well_are_counted_once_each(place):
    lines = [ended("a"), ended("b", exit=1, message='"exit":0'), ended("c"), ended("a", visit=2), ended("c/inner")]
    lines += [event_line("start", {"step": "d", "node": "end"}), ended("e", message='{"exit":1}', lane="e")]
    keep(place, OLD, event_line("run", {"name": "x", "steps": 5}) + b"".join(lines) + b"no event\n")
    run = find_run(OLD)
    assert (run.steps_done, run.steps) == (3, 5)


def test_the_first_step_that_the_cache_did_not_have_is_known(place):
    said = [{"verdict": "hit"}, {"verdict": "off", "why": '"cache":{"verdict":"miss"'}, {"verdict": "miss"}]
    lines = [ended(step, cache=each) for step, each in zip("abc", said, strict=True)]
    keep(place, OLD, event("run") + b"".join(lines) + ended("d", cache={"verdict": "miss"}))
    keep(place, NEW, event("run") + b"".join(lines[:2]) + lines[2][:-9])
    assert [find_run(id).missed for id in (OLD, NEW)] == ["c", ""]


def test_a_run_that_has_not_ended_well_and_has_a_journal_is_resumable(place):
    for id, log in ((OLD, LOG), (NEW, UNFINISHED)):
        keep(place, id, log)
        assert not find_run(id).is_resumable
        (place / id / JOURNAL).touch()  # it was killed before it began
        assert not find_run(id).is_resumable
        (place / id / JOURNAL).write_text("begun")
        assert find_run(id).is_resumable
    keep(place, done := new_run_id(), event("run") + event("finish", exit=0))
    (place / done / JOURNAL).write_text("begun")
    assert not find_run(done).is_resumable
    log = open_log(new_run_id())
    (place / os.path.basename(log.directory) / JOURNAL).write_text("begun")
    assert not find_run().is_resumable
    os.close(log.lock)


BEGUN = [{"begin": OLD}, {"start": "a@1"}, {"end": "a@1"}, {"start": "in@1/b c@2"}, {"start": "in@1/b c@3"}]
SPENT = {"used": {"calls": 2, "tokens": 9, "cost": 0.5}, "limits": {"calls": 2, "tokens": 10, "cost": 0.25}}
HIGHER = " --max-calls=N --max-cost=N"


def failed(exit: int, hint: str = "", spent: dict | None = None) -> bytes:
    return (event_line("budget", spent) if spent else b"") + event("finish", exit=exit, error={"hint": hint})


@pytest.mark.parametrize(
    ("log", "records", "flags"),
    [
        (failed(1), BEGUN[:3], [""]),
        (b"", BEGUN[:3], [""]),
        (b"", BEGUN, [" --redo='in/b c'", " --skip='in/b c'"]),
        (failed(143), [*BEGUN[:2], {"start": "d@1"}], [" --redo=a --redo=d", " --skip=a --skip=d"]),
        (failed(79, spent=SPENT), BEGUN[:1], [HIGHER]),
        (failed(79, spent=SPENT), BEGUN[:2], [f"{HIGHER} --redo=a", f"{HIGHER} --skip=a"]),
        (failed(79, "it goes on; --max-cost allows more"), BEGUN[:1], [" --max-cost=N"]),
        (failed(79, "pflow resume 01 --max-cost=… goes on"), BEGUN[:1], [" --max-cost=N"]),
        (failed(69, spent=SPENT), BEGUN[:1], [""]),
        (failed(1, "pflow resume 01 --max-visits=N goes on"), BEGUN[:1], [" --max-visits=N"]),
        (event("finish", exit=1, failed_items=2), BEGUN[:1], [" --failed"]),
    ],
)
def test_what_to_type_next_goes_on_with_a_run_that_is_not_done(place, log, records, flags):
    keep(place, OLD, event("run") + ended("a", cache={"verdict": "miss"}) + log)
    assert find_run(OLD).next_commands() == []
    (place / OLD / JOURNAL).write_bytes(b"".join(piece for record in records for piece in pieces_of(record)))
    assert find_run(OLD).next_commands() == [f"pflow resume {OLD}{each}" for each in flags]


@pytest.mark.parametrize(
    ("begun", "flags"), [(0, ["--failed"]), (1, ["--failed", "--failed --redo"]), (2, ["--failed --redo"])]
)
def test_items_of_a_map_that_began_what_may_not_repeat_are_redone(place, begun, flags):
    keep(place, OLD, event("run", map={"ledger": "l"}) + event("finish", exit=1, failed_items=2))
    (place / OLD / JOURNAL).write_bytes(b"".join(pieces_of(BEGUN[0])))
    write_status(str(place / OLD), {"total": 3, "done": 1, "failed": 2, "begun": begun})
    assert find_run(OLD).next_commands() == [f"pflow resume {OLD} {each}" for each in flags]


def test_runs_are_listed_since_a_moment_and_as_they_are_wanted(place):
    ids = [id_of(days) for days in (1, 2, 3, 4)]
    for id in ids:
        keep(place, id, LOG if id != ids[1] else UNFINISHED)
    since = time.time() - 3.5 * 86_400
    assert [run.id for run in list_runs(since=since)] == ids[:3]
    assert [run.id for run in list_runs(1, since=since, is_wanted=lambda run: run.status == "killed")] == [ids[1]]


def id_of(days: float) -> str:
    """The id of a run that began so many days ago."""
    digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    number = int((time.time() - days * 86_400) * 1000)
    return "".join(digits[number >> shift & 31] for shift in range(45, -1, -5)) + "0" * 16


@pytest.mark.parametrize(("size", "left"), [(200 << 20, 2), (150_000, 1), (0, 1)])
def test_runs_are_pruned_by_age_and_then_by_size_and_the_newest_stays(place, size, left):
    ids = [id_of(days) for days in (1, 29, 31, 400)]
    for id in ids:
        keep(place, id, b"x" * 100_000)
    prune(str(place), size=size)
    assert [run.id for run in list_runs()] == ids[:left]


def test_pruning_takes_whole_runs_that_have_ended_and_nothing_else(place):
    log = open_log(OLD)
    for id in (NEW, new_run_id()):
        keep(place, id)
    (place / NEW / "store").mkdir()
    (place / NEW / "store" / "key").write_text("x")
    (place / "notes").mkdir()
    (place / "notes" / "note").write_text("mine")
    os.symlink(place / "notes", place / NEW / "link")
    prune(str(place))
    assert [run.id for run in list_runs()][1:] == [OLD]
    assert not (place / NEW).exists()
    assert (place / "notes" / "note").read_text() == "mine"
    log.finish(0, None, {})
    prune(str(place))
    assert len(list_runs()) == 1


def test_a_run_with_a_damaged_file_is_listed_as_such_and_only_its_journal_says_that_it_is_a_map(place):
    keep(place, OLD, b"\n" + LOG)
    (place / NEW).mkdir()
    os.mkfifo(place / NEW / "trace.jsonl")
    (place / NEW / JOURNAL).write_bytes(b"".join(pieces_of({"begin": NEW, "map": {}})))
    keep(place, third := new_run_id(), LOG)
    (place / third / "status.json").write_text('{"total":"many"}')
    found = [(run.id, run.damaged, run.is_map) for run in list_runs()]
    assert found == [(third, ["status.json"], False), (NEW, ["trace.jsonl"], True), (OLD, ["trace.jsonl"], None)]


def test_a_run_whose_clock_was_ahead_is_the_last_one_only_until_another_begins(place, monkeypatch):
    first, ahead, further = id_of(1), id_of(-400), id_of(-900)
    keep(place, first)
    open_log(further).finish(0, None, {})
    open_log(ahead).finish(0, None, {})
    assert find_run("last").id == ahead
    open_log(now := new_run_id()).finish(0, None, {})
    assert [find_run(word).id for word in ("last", "@2", "@3", "@4")] == [now, ahead, further, first]
    assert [run.id for run in list_runs(since=time.time() - 60)] == [now, ahead, further]
    with monkeypatch.context() as later:
        later.setattr(time, "time", lambda: time_of(further) + 1)
        assert find_run("last").id == now
    (place / now).rename(place / (old := id_of(31)))
    (place / AHEAD).write_text(f"{ahead} {old}\n{further} {old}\n")
    prune(str(place))
    assert [run.id for run in list_runs()] == [first]


ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def kept(directory, *records):
    secrets = Secrets()
    secrets.add(["secret-1234"])
    journal = Journal(str(directory), secrets, b"k" * 32)
    for record in ({"begin": ID}, *records):
        journal.write(record)
    journal.finish(is_kept=True)
    return RecordedRun(str(directory)).written()


@pytest.fixture
def directory(tmp_path):
    (tmp_path / ID).mkdir()
    return tmp_path / ID


def test_each_visit_and_item_has_what_it_wrote_last_by_place(directory):
    assert RecordedRun(str(directory)).written() is None
    assert kept(
        directory,
        {"end": "a@1", "changes": [[["a", "text"], "first"], [["none"], None], [["gone"]]]},
        {"end": "o@1/b@2", "changes": [[["x.y"], b"\xff"]]},
        {"end": "c@1[d.0]", "changes": [[["r"], 1]]},
        {"end": "d@1"},
        {"end": "a@1", "changes": [[["a", "text"], "again"]]},
    ) == {"a@1": {"a.text": "again"}, "o@1/b@2": {'["x.y"]': b"\xff"}, "c@1[d.0]": {"r": 1}}  # fmt: skip


def test_a_value_with_a_secret_is_masked_and_one_that_was_replaced_is_left_out(directory):
    changes = [[["safe"], "yes"], [["token"], "tell secret-1234"], [["old"], None]]
    values = kept(directory, {"end": "a@1", "changes": changes, "dropped": True})
    assert values == {"a@1": {"safe": "yes", "token": "***"}}


def test_a_visit_of_a_trace_has_its_path():
    visits = [
        {"number": 1, "step": "o", "visit": 2},
        {"number": 2, "step": "o/in", "visit": 1, "outer": 1},
        {"number": 3, "step": "o/in/most", "visit": 3, "outer": 2},
    ]
    assert visit_paths(visits) == {1: "o@2", 2: "o@2/in@1", 3: "o@2/in@1/most@3"}


def test_what_was_written_is_read_and_only_its_owner_reads_it(tmp_path):
    write_status(str(tmp_path), {"total": None, "done": 1})
    write_status(str(tmp_path), {"total": 3, "done": 2, "usage": {"cost": 0.5}})
    assert read_status(str(tmp_path)) == {"total": 3, "done": 2, "usage": {"cost": 0.5}}
    assert (tmp_path / STATUS).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", [None, "", "[1]", '{"total": 3, "do'])
def test_a_run_without_a_status_or_with_a_damaged_one_has_no_counts(tmp_path, text):
    if text is not None:
        (tmp_path / STATUS).write_text(text)
    assert read_status(str(tmp_path)) == {}
