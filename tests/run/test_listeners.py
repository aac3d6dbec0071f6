"""Progress: what a person at a terminal hears of a run."""

import json

import pytest

from pflow.run import listeners
from pflow.run.listeners import Progress, say_places


@pytest.fixture
def said(monkeypatch):
    texts = []
    monkeypatch.setattr(listeners, "write_stderr", texts.append)
    return texts


def line(event, step="a", node="text", **more):
    return json.dumps({"event": event, "step": step, "node": node, **more}).encode() + b"\n"


def test_each_step_has_a_line_that_its_end_replaces(said):
    progress = Progress(lambda: None)
    progress.write(line("start"))
    progress.write(line("end", ms=12.4) + line("start", step="text"))
    progress.write(line("end", step="text", ms=1234.5))
    assert "".join(said) == ("[1] a (text) …\r\x1b[K[1] a (text)  12 ms\n[2] text …\r\x1b[K[2] text  1.2 s\n")


def test_a_failure_and_a_later_visit_are_said(said):
    progress = Progress(lambda: None)
    progress.write(line("start", visit=2))
    progress.write(line("end", visit=2, ms=1, exit=66))
    assert said[-1] == "[1] a (text) #2  1 ms  failed (66)\n"


def test_branches_that_run_at_once_keep_their_numbers(said):
    progress = Progress(lambda: None)
    progress.write(line("start", lane="f/a") + line("start", step="b", lane="f/b"))
    progress.write(line("end", lane="f/a", ms=5) + line("end", step="b", lane="f/b", ms=6))
    assert [text for text in said if text.endswith("\n")] == ["[1] a (text)  5 ms\n", "[2] b (text)  6 ms\n"]


def test_v_says_where_each_value_came_from_and_went_to(monkeypatch):
    said = []
    monkeypatch.setattr(listeners, "say", lambda program, text: said.append(text))
    say_places(line("start") + line("end", reads={"text": ["x.y", "z"], "n": []}, writes={"out": ["a.out"]}))
    assert said == ["a reads text from x.y, z", "a reads n from the flow itself", "a writes out to a.out"]
