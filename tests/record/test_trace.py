"""The trace: from a run's events and from a document's header, as text, JSON, a timeline and spans."""

import json

import pytest

from pflow.record import trace_formats as formats
from pflow.record.trace import Trace, store_with, trace_of_document, trace_text
from pflow.stage.document import Document
from tests.peers.otlp_receiver import read_request
from tests.record.traces import ID, RUN, end, finish, start
from tests.record.traces import traced as traced

END = f"run {ID} (fix-issue): done after 5.0 s\n"


def shown(trace: Trace, **more: object) -> str:
    return trace_text(trace, **{"now": 110.0, "with_store": False, **more}).decode()


def test_a_step_is_shown_as_seed_001_does(traced):
    reads = {"prompt": ["fetcher.issue_data.body"], "model": []}
    trace = traced(start("analyzer"), end("analyzer", ms=1234.5, reads=reads, writes={"r": ["analyzer.r"]}), finish())
    assert shown(trace) == (
        "[1] analyzer (llm)  1.2 s\n"
        "    ← reads: prompt from fetcher.issue_data.body, model given\n"
        "    → writes: analyzer.r\n"
        "\n" + END
    )


@pytest.mark.parametrize(
    ("begun", "written", "shape", "expected"),
    [
        ({"a": "one"}, [], {"type": "str", "size": 3}, "one"),
        ({"a": "one"}, [{"a": "two"}], {"type": "str", "size": 3}, "two"),
        ({"a": "one"}, [None], {"type": "str", "size": 3}, ...),  # what was written was not kept
        ({"a": {"b": 1}}, [{"a.c": [2]}, {"a.c": [3]}], {"type": "dict", "size": 2}, {"b": 1, "c": [3]}),
        ({}, [{"a.c": 2}], {"type": "dict", "size": 2}, ...),  # its other member was not kept
        ({"a": {"$digest": "x"}}, [], {"type": "str", "size": 99_999_999}, ...),
        ({}, [{"a": "***"}], {"type": "str", "size": 14}, "***"),
    ],
)
def test_the_store_has_a_value_if_all_of_it_was_kept(traced, begun, written, shape, expected):
    ends = [end(f"s{number}", writes={"a": [*(each or {"a": 0})]}) for number, each in enumerate(written)]
    values = {number: each for number, each in enumerate(written, 1) if each}
    trace = traced(*ends, finish(store={"a": shape})) | {"snapshot": {"cli_injections": begun}, "values": values}
    assert store_with(trace)["store"] == {"a": shape if expected is ... else {**shape, "value": expected}}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"tokens": {"in": 3, "out": 0}, "model": "m", "cost": 0.5}, "12 ms, tokens in 3 out 0, model m, $0.50"),
        ({"tokens": {"in": 3}}, "12 ms, tokens in 3, cost unknown"),
        ({"tries": 2, "dry": True}, "12 ms, tries 2, dry"),
        ({"items": {"done": 9, "failed": 1}}, "12 ms, items done 9 failed 1"),
        ({"visit": 3, "lane": "fork/b"}, "12 ms, visit 3, branch fork/b"),
        ({"action": "retry", "exit": 66, "message": "gone"}, "12 ms, action retry, exit 66\n    ✗ gone"),
    ],
)
def test_what_a_step_took_and_how_it_ended_stands_behind_it(traced, more, told):
    assert shown(traced(start("a", **more), end("a", **more), finish())) == f"[1] a (llm)  {told}\n\n{END}"


def test_the_failure_that_ended_a_run_is_said_once(traced):
    error = {"step": "b", "node": "llm", "exit": 1, "message": "no"}
    assert shown(traced(start("b"), end("b", exit=1, message="no"), finish(1, error=error))) == (
        f"[1] b (llm)  12 ms, exit 1\n\nfailed: b (exit 1): no\n\nrun {ID} (fix-issue): failed with 1 after 5.0 s\n"
    )


def test_visits_inside_the_items_of_a_batch_are_told_apart(traced):
    items = [{"item": "0"}, {"item": "1"}]
    trace = traced(
        start("b", "flow"),
        *(start("b/a", **each) for each in items),
        end("b/a", ms=1, item="1"),
        end("b/a", ms=2, item="0"),
        start("b/a/x", item="1"),
        finish(),
    )
    visits = trace["execution_trace"]
    assert [(each.get("item"), each["ms"], each.get("outer")) for each in visits] == [
        (None, None, None),
        ("0", 2, 1),
        ("1", 1, 1),
        ("1", None, 3),
    ]
    assert "    [3] b/a (llm)  1 ms, item 2\n" in shown(trace)


def test_visits_of_loops_branches_and_subflows_are_told_apart(traced):
    trace = traced(
        *(start("a"), end("a", writes={"x": ["first"]}), start("a", visit=2), end("a", visit=2)),
        *(start("b", lane="a/b"), start("c", lane="a/c"), end("c", lane="a/c", exit=3), end("b", lane="a/b")),
        *(start("o"), start("o/in"), start("o/in/most"), end("o/in/most"), end("o/in"), end("o")),
        finish(),
    )
    found = [(each["step"], each["visit"], each.get("lane", ""), each["state"]) for each in trace["execution_trace"]]
    assert found == [
        *(("a", 1, "", "done"), ("a", 2, "", "done"), ("b", 1, "a/b", "done"), ("c", 1, "a/c", "failed")),
        *(("o", 1, "", "done"), ("o/in", 1, "", "done"), ("o/in/most", 1, "", "done")),
    ]
    assert [each.get("outer") for each in trace["execution_trace"][4:]] == [None, 5, 6]
    assert "\n    [6] o/in (llm)  12 ms\n\n        [7] o/in/most (llm)  12 ms\n" in shown(trace)


def test_a_run_without_an_end_was_killed_and_one_that_goes_on_is_shown_as_far_as_it_is(traced):
    events = (start("a"), end("a"), start("b"))
    killed = f"run {ID} (fix-issue): killed, its last event after 3.0 s\n"
    assert shown(traced(*events)) == f"[1] a (llm)  12 ms\n\n[2] b (llm)  did not end\n\n{killed}"
    trace = traced(*events, is_running=True)
    text = shown(trace, with_store=True)
    assert "[2] b (llm)  running for 7.0 s\n" in text
    assert text.endswith(f"{ID} (fix-issue): running for 10.0 s\n\nthe store is known when the run has ended\n")
    assert [span["name"] for span in spans_of(trace)] == ["a"]
    assert drawn(trace, "name", "dur") == [("fix-issue", 10e6), ("a", 12300.0), ("b", 7e6)]


def test_the_final_store_is_shown_by_keys_types_and_sizes(traced):
    store = {"text": {"type": "str", "size": 1234}, "one": {"type": "list", "size": 1}, "number": {"type": "int"}}
    said = "the store\n    text: str, 1,234 characters\n    one: list, 1 item\n    number: int\n"
    assert shown(traced(finish(store=store)), with_store=True) == f"{END}\n{said}"
    assert shown(traced(finish()), with_store=True) == f"{END}\nthe store is empty\n"


def test_json_has_the_execution_trace_of_seed_002(traced):
    step = end("fetch", "yt-transcript", reads={"url": ["video_url"]}, writes={"transcript": ["raw_transcript"]})
    trace = traced(start("fetch", "yt-transcript"), step, finish(store={"x": {"type": "int"}}))
    document = json.loads(formats.as_json(trace, now=110.0, with_store=True))
    entry = {name: document["execution_trace"][0][name] for name in ("node", "read_keys", "write_keys")}
    assert entry == {"node": "yt-transcript", "read_keys": ["video_url"], "write_keys": ["raw_transcript"]}
    assert (document["snapshot"], document["store"]) == ({"cli_injections": {}}, {"x": {"type": "int"}})
    assert document["flow"] == {"name": "fix-issue", "hash": "ab" * 32}
    assert (document["run"], document["status"], document["exit"], document["ms"]) == (ID, "done", 0, 5000.0)
    assert [event["event"] for event in document["events"]] == ["run", "start", "end", "finish"]


def timeline(trace: Trace) -> list[dict]:
    return json.loads(formats.as_chrome(trace, now=110.0, with_store=False))["traceEvents"]


def drawn(trace: Trace, *names: str) -> list[tuple]:
    return [tuple(event[name] for name in names) for event in timeline(trace) if event["ph"] == "X"]


def test_a_timeline_has_the_flow_and_a_track_for_each_lane(traced):
    trace = traced(
        *(start("a"), end("a", ms=1000.0), start("b", lane="a/b"), start("c", lane="a/c")),
        *(end("b", lane="a/b", ms=250.5), end("c", lane="a/c"), finish()),
    )
    names = {event["tid"]: event["args"]["name"] for event in timeline(trace) if event["name"] == "thread_name"}
    assert names == {1: "fix-issue", 2: "a/b", 3: "a/c"}
    assert drawn(trace, "name", "cat", "tid", "ts", "dur") == [
        ("fix-issue", "flow", 1, 0.0, 7e6),
        ("a", "llm", 1, 1e6, 1e6),
        ("b", "llm", 2, 3e6, 250500.0),
        ("c", "llm", 3, 4e6, 12300.0),
    ]


def spans_of(trace: Trace) -> list[dict]:
    (resource,) = json.loads(formats.as_otlp(trace, now=110.0, with_store=False))["resourceSpans"]
    return resource["scopeSpans"][0]["spans"]


def test_a_run_and_each_visit_of_a_step_are_spans(traced):
    used = {"tokens": {"in": 3, "out": 4}, "model": "m", "reads": {"x": ["y"]}, "cost": 0.5}
    inner_end = end("a/b", visit=2, exit=66, message="no", **used)
    run, outer, inner, call = spans_of(
        traced(start("a", "flow:x"), start("a/b", visit=2), inner_end, end("a", "flow:x", ms=2000.0), finish())
    )
    assert ({len(span["traceId"]) for span in (run, outer, inner)}, len(inner["spanId"])) == ({32}, 16)
    assert "parentSpanId" not in run
    assert (outer["parentSpanId"], inner["parentSpanId"]) == (run["spanId"], outer["spanId"])
    assert (outer["startTimeUnixNano"], outer["endTimeUnixNano"]) == ("101000000000", "103000000000")
    assert [span["status"] for span in (run, inner)] == [{"code": 1}, {"code": 2, "message": "no"}]
    assert {each["key"]: next(iter(each["value"].values())) for each in inner["attributes"]} == {
        "pflow.node": "llm",
        "pflow.version": "1.0.0",
        "pflow.visit": "2",
        "pflow.exit": "66",
        "pflow.read_keys": {"values": [{"stringValue": "y"}]},
        "error.type": "66",
    }
    assert (call["name"], call["kind"], call["parentSpanId"], call["status"]) == (
        *("chat m", 3, inner["spanId"], inner["status"]),
    )


@pytest.mark.parametrize(
    ("about", "calls"),
    [
        ({"model": "m", "tokens": {"in": 3}}, ["chat m"]),
        ({"model": "https://h.example/v1#n"}, ["chat n"]),
        ({"model": "http://[h/v1#n"}, ["chat http://[h/v1#n"]),
        ({"model": "m", "calls": 2, "tries": 2, "cost": 0.5}, ["chat m"]),
        ({"model": "m", "calls": 2, "cost": 0.5}, ["chat m"]),
        ({"model": "m", "cost": 0.5, "items": {"done": 1, "failed": 0}}, ["chat m"]),
        ({"cost": 0.5}, ["chat"]),
        ({"model": "m", "cost": 0.5, "asked": [{"model": "m", "cost": 0.5}, {"model": "n"}]}, ["chat m", "chat n"]),
        ({"asked": [{"at": "x", "ms": [], "tokens": 3, "cost": {}, "model": 7}]}, ["chat 7"]),
        ({"action": True, "version": 1 << 63}, []),
    ],
)
def test_each_call_of_a_model_is_a_span_and_what_is_known_as_a_sum_another(traced, about, calls):
    trace = traced(start("a"), {**end("a"), **about}, finish())
    spans = spans_of(trace)
    assert [span["name"] for span in spans] == ["fix-issue", "a", *calls]
    keys = [each["key"] for span in spans for each in span["attributes"]]
    assert keys.count("pflow.cost.usd") == ("cost" in about)
    read_request(formats.as_otlp(trace, now=110.0, with_store=False))


def test_the_calls_of_a_batch_are_spans_where_its_items_tell_them_apart(traced, monkeypatch):
    used = {"event": "item", "model": "m", "tokens": {"in": 3}, "cost": 0.5}
    items = [
        {**used, "time": 103.0, "ms": 500.0, "index": 0},
        {**used, "time": 103.0, "ms": 250.0, "index": 1, "exit": 75, "message": "busy"},
        {**used, "time": 103.0, "ms": 250.0, "index": 2, "calls": 3, "unpriced": 0},
        {**used, "time": 103.0},
    ]
    trace = traced(start("a"), end("a", items={"done": 3, "failed": 1}, ms=2000.0), finish())
    monkeypatch.setattr(formats, "_MOST", 2)
    lines = formats.as_otlp(trace | {"batch_items": {1: items}}, now=110.0, with_store=False).splitlines()
    spans = [span for line in lines for span in read_request(line).resource_spans[0].scope_spans[0].spans]
    assert (len(lines), [span.name for span in spans]) == (3, ["fix-issue", "a", *["chat m"] * 4])
    _, step, first, second, third, _ = spans
    assert len({span.span_id for span in spans}) == 6
    assert {span.parent_span_id for span in spans[2:]} == {step.span_id}
    assert (first.start_time_unix_nano, first.end_time_unix_nano) == (102_500_000_000, 103_000_000_000)
    assert (second.status.code, second.status.message) == (2, "busy")
    assert [each.value.int_value for each in third.attributes if each.key == "pflow.calls"] == [3]


def test_calls_of_a_visit_begin_when_they_did_and_have_their_own_failures(traced):
    used = {"model": "m", "tokens": {"in": 3, "out": 4}, "cost": 0.5}
    asked = [{"at": 125.0, "ms": 62.5, "model": "m", "exit": 75, "message": "busy"}, {"at": 500.0, "ms": 250.0, **used}]
    *_, step, first, second = spans_of(traced(start("a"), end("a", ms=1000.0, **used, asked=asked), finish()))
    assert [(span["startTimeUnixNano"], span["endTimeUnixNano"]) for span in (step, first, second)] == [
        *(("101000000000", "102000000000"), ("101125000000", "101187500000"), ("101500000000", "101750000000")),
    ]
    assert [span["status"] for span in (first, second)] == [{"code": 2, "message": "busy"}, {"code": 1}]
    about = {each["key"]: each["value"] for each in second["attributes"]}
    assert about["gen_ai.usage.input_tokens"] == {"intValue": "3"}
    assert json.loads(about["mlflow.llm.cost"]["stringValue"])["total_cost"] == 0.5  # else mlflow takes its own price
    assert not [each["key"] for each in step["attributes"] if each["key"].startswith(("gen_ai", "pflow.cost"))]


TRACE, PARENT, OWN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"


def test_a_run_that_another_trace_began_is_a_span_of_it(traced, monkeypatch):
    monkeypatch.setitem(RUN, "traceparent", f"00-{TRACE}-{OWN}-01")
    monkeypatch.setitem(RUN, "parent", f"00-{TRACE}-{PARENT}-01")
    run, visit = spans_of(traced(start("a"), end("a"), finish()))
    assert {run["traceId"], visit["traceId"]} == {TRACE}
    assert (run["spanId"], run["parentSpanId"], visit["parentSpanId"]) == (OWN, PARENT, OWN)


def piped(**header: object) -> Trace:
    document = Document({"v": 1, "run": ID, **header})
    document.set("data", b"\xff")
    return trace_of_document(document, with_store=True)


STEPS = [
    {"id": "first", "node": "shell", "version": "1", "reads": {"command": ["--command"], "input": ["stdin"]}, "ms": 5},
    {"id": "llm", "node": "llm", "reads": {"prompt": ["--prompt (first.stdout, a.b)"]}, "writes": {"r": ["response"]}},
]
EARLIER = [
    {"id": "first", "node": "shell", "version": "1", "reads": {"command": "--command", "input": "stdin"}, "ms": 5},
    {"id": "llm", "node": "llm", "reads": {"prompt": "--prompt (first.stdout, a.b)"}, "writes": {"r": "response"}},
]
"""The same as earlier versions and programs of others wrote it: one place without a list around it."""


def test_a_document_shows_its_stages_as_they_tell_them():
    told = (
        "[1] first (shell)  5 ms\n    ← reads: command from --command, input from stdin\n\n"
        "[2] llm (llm)\n    ← reads: prompt from --prompt (first.stdout, a.b)\n    → writes: response\n"
    )
    assert shown(piped(steps=STEPS)) == shown(piped(steps=EARLIER)) == told
    trace = piped(steps=STEPS, error={"step": "llm", "node": "llm", "exit": 69, "message": "no"})
    assert (shown(trace), trace["exit"]) == (f"{told}\nfailed: llm (exit 69): no\n", 69)
    assert shown(piped()) == "no step has run\n"


def test_a_document_has_every_form():
    trace = piped(steps=STEPS, traceparent=f"00-{TRACE}-{PARENT}-01")
    document = json.loads(formats.as_json(trace, now=0.0, with_store=True))
    assert document["store"] == {"data": {"type": "bytes", "size": 1, "value": {"$bytes": "/w=="}}}
    assert [entry["read_keys"] for entry in document["execution_trace"]] == [["stdin"], ["first.stdout", "a.b"]]
    assert (document["flow"], document["status"], document["events"]) == (None, "done", STEPS)
    assert drawn(trace, "name", "dur") == [("pipe", 5000.0), ("first", 5000.0), ("llm", 0.0)]
    assert [(span["name"], span["traceId"]) for span in spans_of(trace)] == [
        *(("pipe", TRACE), ("first", TRACE), ("llm", TRACE)),
    ]


def test_entries_of_a_header_that_another_program_wrote_are_shown_or_left_out():
    steps = [{"id": "a", "node": "n", "reads": {"p": [None]}}, {"id": "b", "lane": []}, {"id": "c", "visit": "2"}]
    trace = piped(steps=[*steps, {"id": "d", "ms": 1e300}])
    assert shown(trace) == "[1] a (n)\n    ← reads: p from None\n"
    assert formats.as_otlp(trace, now=0.0, with_store=True)


RESUME = {"event": "resume"}


def test_both_parts_of_a_resumed_run_are_one_trace(traced):
    failed = finish(exit=1, error={"step": "b", "node": "llm", "exit": 1, "message": "no"})
    first = [start("a"), end("a"), start("b"), end("b", exit=1, message="no"), start("c", lane="a/c"), failed]
    trace = traced(*first, RESUME, start("b"), end("b"), start("c", lane="a/c"), end("c", lane="a/c"), finish())
    states = [(visit["step"], visit["state"]) for visit in trace["execution_trace"]]
    assert states == [("a", "done"), ("b", "failed"), ("c", "cut"), ("b", "done"), ("c", "done")]
    assert (trace["status"], trace["error"], trace["store"], trace["resumed"]) == ("done", {}, {}, 1)
    text = shown(trace)
    assert "✗ no" in text
    assert text.endswith(END.replace("\n", ", resumed\n"))


def test_what_the_first_part_did_not_end_does_not_run_in_the_second(traced):
    trace = traced(start("a"), RESUME, start("a"), RESUME, start("a"), is_running=True)
    assert [visit["state"] for visit in trace["execution_trace"]] == ["cut", "cut", "running"]
    assert shown(trace).endswith("running for 10.0 s, resumed 2 times\n")


def test_a_run_that_failed_and_goes_on_has_no_end_yet(traced):
    failed = finish(exit=1, error={"step": "a", "node": "llm", "exit": 1, "message": "no"})
    trace = traced(start("a"), end("a", exit=1, message="no"), failed, RESUME, is_running=True)
    assert (trace["status"], trace["error"], trace["store"]) == ("running", {}, None)
