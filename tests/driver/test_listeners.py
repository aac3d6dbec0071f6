"""Progress and -v: what a person at a terminal hears of a run."""

import os
import re

import pytest

from pflow.driver import listeners, progress
from pflow.driver.listeners import say_places
from pflow.driver.progress import LogProgress, Progress
from pflow.terminal import messages
from pflow.terminal.messages import clear_line


@pytest.fixture
def said(monkeypatch):
    return hear(monkeypatch, [])


def hear(monkeypatch, texts):
    """Add to the texts what is written to stderr, the end of a line that was drawn and what follows it one by one."""
    write = os.write

    def listen(fd, data):
        texts.extend(filter(None, re.split(r"(\r\x1b\[K)", data.decode())) if fd == 2 else [])
        return len(data) if fd == 2 else write(fd, data)

    monkeypatch.setattr(messages, "is_drawn", False)
    monkeypatch.setattr(os, "write", listen)
    return texts


def event(event, step="a", node="text", **more):
    return {"event": event, "step": step, "node": node, "visit": 1, **more}


def test_each_step_has_a_line_that_its_end_replaces(said):
    shown = Progress()
    for each in (event("start"), event("end", ms=12.4), event("start", "text"), event("end", "text", ms=1234.5)):
        shown.show(each)
    assert "".join(said) == ("[1] a (text) …\r\x1b[K[1] a (text)  12 ms\n[2] text …\r\x1b[K[2] text  1.2 s\n")


def test_branches_keep_their_numbers_and_failures_and_later_visits_are_said(said):
    shown = Progress()
    for each in (event("start", lane="f/a"), event("start", "b", lane="f/b", visit=2)):
        shown.show(each)
    shown.show(event("end", lane="f/a", ms=5))
    shown.show(event("end", "b", lane="f/b", visit=2, ms=6, exit=66))
    ended = [text for text in said if text.endswith("\n")]
    assert ended == ["[1] a (text)  5 ms\n", "[2] b (text) #2  6 ms  failed (66)\n"]


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def item(step="ask", **more):
    return {"event": "item", "step": step, "visit": 1, **more}


BATCH = {"event": "batch", "step": "ask", "visit": 1, "count": 200}
PRICED, UNPRICED = {"model": "m", "cost": 0.01}, {"model": "m", "tokens": {"in": 3}}


def test_a_batch_has_one_line_that_says_how_far_it_is_and_what_it_cost_in_the_end_too(said):
    clock = Clock()
    shown = Progress(clock)
    for each in (event("start", "ask", "llm"), BATCH):
        shown.show(each)
    clock.now += 10
    for each in [*[item(**PRICED)] * 4, *[item(exit=66)] * 16]:
        shown.show(each)
    shown.show(event("start", "ask/inner", **UNPRICED))
    assert said[0] == "[1] ask (llm) …"
    assert [text for text in said if "/200" in text][:2] == [
        "[1] ask (llm)  0/200",
        "[1] ask (llm)  1/200  $0.01  33m10s left",
    ]
    assert said[-1] == "[1] ask (llm)  20/200  16 failed  $0.04 + unknown  1m30s left"
    assert said.count("\r\x1b[K") == len(said) / 2 - 1 / 2
    shown.show(event("end", "ask", "llm", ms=10_000, items={"done": 4, "failed": 16}, cost=0.04, model="m", calls=5))
    assert said[-2:] == ["\r\x1b[K", "[1] ask (llm)  10.0 s  20/200  16 failed  $0.04 + unknown\n"]


def test_a_log_hears_of_a_batch_after_a_minute_and_then_each_minute(monkeypatch):
    said, clock = [], Clock()
    monkeypatch.setattr(progress, "say", lambda program, text: said.append(text))
    log = LogProgress(clock)
    log.show(BATCH)
    for seconds, more in ((59, PRICED), (1, UNPRICED), (59, {"exit": 1}), (2, {})):
        clock.now += seconds
        log.show(item(**more))
    assert said == ["ask: 2/200, $0.01 + unknown, 1h39m left", "ask: 4/200, 1 failed, $0.01 + unknown, 1h38m left"]


def test_of_batches_within_a_batch_the_outermost_is_shown(said):
    shown = Progress(Clock())
    inner = {**BATCH, "step": "ask/each", "count": 7}
    for each in (event("start", "ask"), BATCH, event("start", "ask/each"), inner, item("ask/each", **PRICED)):
        shown.show(each)
    shown.show(event("end", "ask/each", ms=1, items={"done": 1, "failed": 0}, **PRICED))
    shown.show(item())
    assert said[-1] == "[1] ask (text)  1/200  $0.01  0s left"
    assert not [text for text in said if "/7" in text or "each" in text]


def test_a_line_that_is_redrawn_never_wraps(said, monkeypatch):
    monkeypatch.setattr("pflow.terminal.columns.stderr_width", lambda: 30)
    shown = Progress()
    shown.show(event("start", "x" * 40))
    assert len(said[0]) < 30


def test_whatever_is_shown_next_replaces_the_line(said):
    for show in (
        lambda: messages.say("shell", "warning: x"),
        lambda: messages.write_stderr("by a program"),
        clear_line,
    ):
        Progress().show(event("start"))
        show()
        show()
    line = ["[1] a (text) …", "\r\x1b[K"]
    assert said == [*line, *["shell: warning: x\n"] * 2, *line, *["by a program"] * 2, *line]


def test_v_says_where_each_value_came_from_and_went_to(monkeypatch):
    said = []
    monkeypatch.setattr(listeners, "say", lambda program, text: said.append(text))
    say_places(event("end", reads={"text": ["x.y", "z"], "n": []}, writes={"out": ["a.out"]}))
    assert said == ["a reads text from x.y, z", "a reads n from the flow itself", "a writes out to a.out"]
