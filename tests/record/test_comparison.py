"""Why a step ran: from keys that may be damaged."""

import pytest

from pflow.record.comparison import StepKeys, _unchanged, compare_traces, difference_text, find_earlier
from pflow.record.runs import RecordedRun
from pflow.stage.trace import event_line
from pflow.terminal.columns import PLAIN
from tests.record.traces import RUN, end, finish, start
from tests.record.traces import traced as traced

ABOUT = {"step": "a", "node": "llm", "visit": "a@1", "cache": {"verdict": "miss"}}
PART = {"kind": "read", "name": "text", "digest": "ab"}


@pytest.mark.parametrize("more", [{"type": "", "size": 3}, {"type": "str", "size": "3"}, {"size": 3}, {"name": []}])
def test_keys_with_a_damaged_part_are_left_out(tmp_path, more):
    (tmp_path / "trace.jsonl").write_bytes(event_line("run", {}))
    lines = [
        event_line("key", {**ABOUT, "visit": f"a@{n}", "parts": [part]}) for n, part in enumerate([PART, PART | more])
    ]
    (tmp_path / "keys.jsonl").write_bytes(b"".join(lines))
    assert [*StepKeys(RecordedRun(str(tmp_path)), "a").events] == ["a@0"]


def test_a_step_is_compared_with_the_newest_earlier_run_of_its_flow_that_has_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    runs = [  # the wiring counts for a flow without a name, which is called "flow"
        ("flow", "aa", "a"),
        ("flow", "aa", "a"),
        ("flow", "bb", "a"),
        ("flow", "a", "a"),
        ("fix", "aa", "a"),
        ("tidy", "bb", "a"),
        ("flow", "aa", "b"),
        ("flow", "aa", "a"),
        ("fix", "cc", "a"),
        ("tidy", "cc", "a"),
    ]
    made = []
    for number, (name, wiring, step) in enumerate(runs):
        folder = tmp_path / "pflow" / "runs" / f"01ARZ3NDE{number}TSV4RRFFQ69G5FAV"
        folder.mkdir(parents=True)
        about = RUN | {"name": name, "flow_hash": wiring, "run": folder.name}
        (folder / "trace.jsonl").write_bytes(event_line("run", about))
        others = [event_line(event, ABOUT | {"visit": 1}) for event in ("event", "other")]
        key = event_line("key", {**ABOUT, "step": step, "parts": [PART]})
        (folder / "keys.jsonl").write_bytes(b"".join([*others, key]))
        made.append(RecordedRun(str(folder)))
    before = [find_earlier(made[number], "a") for number in (7, 8, 9, 1, 0)]
    assert [each and int(each.run.id[9]) for each in before] == [1, 4, 5, 0, None]


@pytest.mark.parametrize(
    ("event", "then", "why"),
    [
        ({"cache": {"verdict": "hit"}}, {}, "nothing changed"),
        ({"cache": {"verdict": "miss"}, "refreshed": True}, {}, "nothing changed: --refresh ran it again"),
        ({"cache": {"verdict": "miss"}}, {"why": "too large"}, "nothing changed: that run did not keep it: too large"),
        ({"cache": {"verdict": "miss"}}, {}, "nothing changed: the cache has lost it"),
    ],
)
def test_a_step_that_ran_again_without_a_change_says_why(event, then, why):
    assert _unchanged(event, {"cache": then}) == why


def test_steps_that_differ_in_time_cost_reads_and_writes_are_named_and_others_counted(traced):
    same = (start("same"), end("same", ms=100, writes={"x": ["x"]}))
    gone = (start("gone"), end("gone"))
    read, other = {"text": ["a.b"]}, {"text": ["c"]}
    one = traced(*same, *gone, start("ask"), end("ask", ms=1000, model="m", cost=0.5, reads=read), finish())
    two = traced(
        *same, start("ask"), end("ask", ms=3000, model="m", cost=0.25, reads=other), start("new"), end("new"), finish()
    )
    found = compare_traces(one, two)
    assert found["same"] == 1
    assert [each["step"] for each in found["steps"]] == ["gone", "ask", "new"]
    assert found["steps"][1]["differ"] == {"ms": [1000, 3000], "reads": [read, other], "cost": ["$0.50", "$0.25"]}
    assert difference_text(found, PLAIN).split("\n\n")[1:] == [
        "- gone",
        "  ask\n    ms: 1.0 s → 3.0 s\n    reads: text from a.b → text from c\n    cost: $0.50 → $0.25",
        "+ new",
        "the same: 1 visit\n",
    ]


def test_a_visit_that_ran_again_in_a_later_part_is_compared_with_its_like(traced):
    again = (start("a"), {"event": "resume"}, start("a"), end("a", model="m", cost=1), finish())
    one, two = traced(*again), traced(start("a"), end("a", model="m", cost=1), finish())
    first, second = compare_traces(one, two)["steps"]
    assert first["differ"]["state"] == ["cut", "done"]
    assert (second["visit"], second["differ"]["state"]) == (2, ["done", None])


@pytest.mark.parametrize(
    ("one", "two", "differ"),
    [
        (5, 12, False),
        (10, 20, False),
        (10, 21, True),
        (1000, 1500, False),
        (1000, 1501, True),
        (3000, 1000, True),
        (0, 60_000, True),
    ],
)
def test_times_differ_only_where_a_person_would_say_so(traced, one, two, differ):
    first, second = (traced(start("a"), end("a", ms=ms), finish()) for ms in (one, two))
    assert [each["differ"] for each in compare_traces(first, second)["steps"]] == [{"ms": [one, two]}] * differ
