"""Progress and -v: what a person at a terminal hears of a run."""

import pytest

from pflow.run import listeners
from pflow.run.listeners import Progress, say_places


@pytest.fixture
def said(monkeypatch):
    texts = []
    monkeypatch.setattr(listeners, "write_stderr", texts.append)
    return texts


def event(event, step="a", node="text", **more):
    return {"event": event, "step": step, "node": node, "visit": 1, **more}


def test_each_step_has_a_line_that_its_end_replaces(said):
    progress = Progress(lambda: None)
    for each in (event("start"), event("end", ms=12.4), event("start", "text"), event("end", "text", ms=1234.5)):
        progress.show(each)
    assert "".join(said) == ("[1] a (text) …\r\x1b[K[1] a (text)  12 ms\n[2] text …\r\x1b[K[2] text  1.2 s\n")


def test_branches_keep_their_numbers_and_failures_and_later_visits_are_said(said):
    progress = Progress(lambda: None)
    for each in (event("start", lane="f/a"), event("start", "b", lane="f/b", visit=2)):
        progress.show(each)
    progress.show(event("end", lane="f/a", ms=5))
    progress.show(event("end", "b", lane="f/b", visit=2, ms=6, exit=66))
    ended = [text for text in said if text.endswith("\n")]
    assert ended == ["[1] a (text)  5 ms\n", "[2] b (text) #2  6 ms  failed (66)\n"]


def test_v_says_where_each_value_came_from_and_went_to(monkeypatch):
    said = []
    monkeypatch.setattr(listeners, "say", lambda program, text: said.append(text))
    say_places(event("end", reads={"text": ["x.y", "z"], "n": []}, writes={"out": ["a.out"]}))
    assert said == ["a reads text from x.y, z", "a reads n from the flow itself", "a writes out to a.out"]
