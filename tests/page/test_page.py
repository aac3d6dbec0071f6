"""The page of a run: what its first screen says, that data is text, and that the trace in it can be read back."""

import contextlib
import gzip
import re
import subprocess
import sys
from base64 import b64encode
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.page.drawings import shape_of
from pflow.page.page import read_page, run_page
from pflow.record.trace_formats import public_members
from tests.record.traces import ID, end, finish, start
from tests.record.traces import traced as traced

CANARY = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"' onclick=alert(1) {{ 7777 * 7 }} \x1b[31m"
NO_MAP = {"dots": [], "values": None}


class Elements(HTMLParser):
    """What a browser makes of a page: its text, and the names and attributes of its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.elements = "", list[tuple[str, dict[str, str | None]]]()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.text += " " * (tag not in ("b", "a", "code", "small"))

    def handle_data(self, data):
        self.text += data


def page_of(trace, **more) -> str:
    return run_page({**trace, **NO_MAP, **more}, now=200.0).decode()


def first_screen(page: str) -> str:
    return " ".join(Elements(page[: page.index("<h2")].partition("<body>")[2]).text.split())


def failed_run(traced):
    error = {"step": "ask", "node": "llm", "exit": 75, "message": "cannot ask 'gpt': slow down"}
    usage = {"model": "gpt", "tokens": {"in": 3, "out": 4}, "cost": 0.25, "calls": 1, "unpriced": 0}
    tried = [{"ms": 500, "exit": 75, "message": "busy"}]
    events = [start("read", "read-file"), end("read", "read-file", model="gpt", cost=0.25)]
    events += [start("ask"), end("ask", exit=75, message=error["message"], tried=tried)]
    return {**traced(*events, finish(75, error=error, usage=usage)), "next": [f"pflow resume {ID}"]}


def test_the_first_screen_of_a_failed_run_says_which_step_why_what_it_cost_and_what_to_type(traced):
    said = first_screen(page_of(failed_run(traced)))
    assert "What failed ask (llm), with exit code 75, which in pflow means: try again later" in said
    assert "Why cannot ask 'gpt': slow down" in said
    assert "What it cost tokens in 3 out 4, model gpt, $0.25, in 5.0 s" in said
    assert f"What to type pflow resume {ID}" in said


def test_the_first_screen_names_the_step_in_which_a_run_was_killed(traced):
    said = first_screen(page_of(traced(start("read"), end("read"), start("ask"))))
    assert "What failed ask (llm) Why the run was killed" in said


def test_failures_that_were_kept_stand_on_the_first_screen(traced):
    items = [{"event": "item", "step": "ask", "visit": 1, "index": n, "ms": 10} for n in range(3)]
    items[1] |= {"exit": 66, "message": "no such ticket"}
    items[2] |= {"exit": 1, "message": ["of another program"]}
    said = first_screen(page_of(traced(start("ask"), *items, end("ask", items={"done": 2, "failed": 1}), finish(1))))
    assert "2 items failed" in said
    assert "ask 3 1 ['of another program']" in said
    assert "ask 2 66 no such ticket" in said


def test_every_try_is_in_its_place_with_its_reason(traced):
    page = Elements(page_of(failed_run(traced)))
    assert "a try failed 500 ms after the beginning, with 75: busy" in page.text
    [mark] = [about for name, about in page.elements if about.get("class") == "try"]
    assert mark["title"] == "a try failed 500 ms after the beginning, with 75: busy"


def test_of_many_items_a_sample_is_drawn_and_every_failure(traced):
    items = [
        {"event": "item", "step": "ask", "visit": 1, "index": n, "ms": 10, "time": 101 + n / 1e4} for n in range(4000)
    ]
    for number in (1, 3997):
        items[number]["exit"] = 66
    page = page_of(traced(start("ask"), *items, end("ask", ms=900), finish()))
    assert page.count("<rect") == 503  # with the box of the graph
    assert page.count('<rect class="failed"') == 2
    assert "3,498 more items are not drawn" in page


def test_strings_from_data_are_text_and_nothing_comes_from_elsewhere(traced):
    error = {"step": CANARY, "node": CANARY, "exit": 1, "message": CANARY}
    read = {CANARY: [CANARY]}
    events = [start(CANARY, CANARY, lane=CANARY), end(CANARY, CANARY, exit=1, message=CANARY, model=CANARY, reads=read,
              writes=read, lane=CANARY, tried=[{"ms": 1, "exit": 1, "message": CANARY}])]  # fmt: skip
    trace = traced(*events, finish(1, error=error, store={CANARY: {"type": CANARY}}))
    trace |= {
        "flow": {"name": CANARY, "hash": ""},
        "next": [CANARY],
        "snapshot": {"config_overrides": {}, "cli_injections": {CANARY: CANARY}},
    }
    ir = {
        "nodes": [{"id": CANARY}, {"id": "b", "type": CANARY}],
        "edges": [{"from": CANARY, "to": "b", "action": CANARY}],
    }
    page = Elements(page_of(trace, ir=shape_of(ir), values={1: {CANARY: CANARY}}))
    assert [about for name, about in page.elements if name == "script"] == [{"type": "application/gzip", "id": "trace"}]
    assert "img" not in dict(page.elements)
    for _, about in page.elements:
        assert not any(name.startswith("on") for name in about)
        assert about.get("src") is None
        assert about.get("href", "#").startswith(("#", "data:,"))
    assert "alert(1)" in page.text
    assert "54439" not in page.text
    turned = page_of(trace, values={1: {"a": "\u202e\x9b\x1b\r\0"}})
    assert not set("\u202e\x9b\x1b\r\0") & set(turned)
    assert r"\u202e\u009b\u001b\u000d\u0000" in turned


def test_values_stand_where_they_were_kept_else_the_command_that_keeps_them(traced):
    trace = traced(start("ask"), end("ask", writes={"response": ["ask.response"]}), finish())
    kept = Elements(page_of(trace, values={1: {"ask.response": "Oak & ash"}})).text
    assert "Oak & ash" in kept
    assert "--keep-store" not in kept
    assert f"pflow replay {ID} --keep-store" in Elements(page_of(trace)).text


def test_a_resumed_run_shows_its_parts_without_the_pause_between(traced):
    day = 86_400.0
    events = [start("a"), end("a", ms=1000), start("b"), {"event": "resume", "time": day}]
    events += [{**event, "time": day + n} for n, event in enumerate([start("b"), end("b", ms=1000), finish()], 1)]
    page = page_of(traced(*events))
    widths = [float(width) for width in re.findall(r'class="bar \w+" style="left:[\d.]+%;width:([\d.]+)%', page)]
    assert len(widths) == 3
    assert min(widths) > 5
    assert "did not end" in page
    assert "resumed" in first_screen(page)


def test_a_map_shows_a_dot_for_each_item_and_a_table_of_failures(traced):
    failure = {"status": "failed", "exit": 66, "message": "no such ticket", "count": 7, "number": 3}
    report = {"ledger": "l.db", "items": {"total": 99}, "statuses": {"done": 92, "failed": 7}, "models": [],
              "failures": [failure], "slowest": [{"number": 8, "ms": 1500.0}]}  # fmt: skip
    dots = [[n, 101.0 + n / 10, 10.0 * n, "failed" if n < 7 else "done"] for n in range(99)]
    page = page_of(traced(finish(1)), map=report, dots=dots)
    assert [line.count("h0") for line in re.findall(r'<path d="(M[\d.]+ [\d.]+h0.*?)"', page)] == [92]
    assert page.count('<circle class="failed"') == 7
    assert "92 done, 7 failed of 99" in first_screen(page)
    assert f"7 failed 66 no such ticket pflow why {ID} 3" in first_screen(page)


def test_the_page_of_a_thousand_steps_is_smaller_than_a_megabyte(traced):
    names = [f"step{number}" for number in range(1000)]
    events = [
        each
        for name in names
        for each in (start(name), end(name, reads={"text": ["a.b"]}, writes={"c": [f"{name}.c"]}))
    ]
    ir = {"nodes": [{"id": name, "type": "llm"} for name in names]}
    values = {number: {f"{name}.c": "word " * 1000} for number, name in enumerate(names, 1)}
    store = {name: {"type": "dict", "size": 1} for name in names}
    assert len(page_of(traced(*events, finish(store=store)), ir=shape_of(ir), values=values)) < 1e6


@pytest.fixture
def page(traced, tmp_path):
    file = tmp_path / "page.html"
    trace = failed_run(traced)
    file.write_bytes(run_page({**trace, **NO_MAP}, now=200.0))
    return file, trace


def test_a_page_gives_back_the_trace_that_it_holds(page):
    file, trace = page
    found, wanted = (public_members(each, with_store=True) for each in (read_page(str(file)), trace))
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize("filling", [b"[],", b" ", b'"",'])
def test_a_page_with_a_bomb_is_refused_before_it_fills_the_memory(tmp_path, filling):
    events = gzip.compress(b'{"flow": 1, "events": [' + filling * (100_000_000 // len(filling)) + b"0]}")
    file = tmp_path / "page.html"
    file.write_bytes(b'<script type="application/gzip" id="trace">' + b64encode(events) + b"</script>")
    code = "from resource import *; setrlimit(RLIMIT_AS, (10**9,) * 2); import pflow.commands.main as m; m.main()"
    ended = subprocess.run([sys.executable, "-c", code, "trace", file], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (65, f"pflow: cannot read the trace in '{file}': it is damaged\n")


@given(st.data())
def test_a_damaged_page_is_refused_or_read_and_never_a_bug(page_bytes, data):
    whole, file = page_bytes
    at = data.draw(st.integers(0, len(whole) - 1))
    more = data.draw(st.binary(max_size=4))
    file.write_bytes(whole[:at] + more + whole[at + data.draw(st.sampled_from([0, 1, len(whole)])) :])
    with contextlib.suppress(PflowError):
        run_page(read_page(str(file)), now=200.0)


@pytest.fixture(scope="module")
def page_bytes(tmp_path_factory):
    """A small page of a store's stages, and a file for what becomes of it."""
    from pflow.record.trace import trace_of_document
    from pflow.stage.document import Document

    trace = trace_of_document(Document({"a": 1}), with_store=True)
    page = run_page(trace, now=1.0)
    return page[page.index(b"<script") :], tmp_path_factory.mktemp("page") / "page.html"
