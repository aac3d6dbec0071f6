"""Plans are kept: the same sentence for the same nodes, flows and model sends one request, anything else another."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pflow.flow.unload import flow_to_ir
from pflow.plan.planner import CachedPlan, plan_sentence

ROOT = Path(__file__).parents[2]
SENTENCE = "read data.txt, summarize it"

SHOUT = '''from pflow import Node


class Shout(Node):
    """Say a text loudly.

    Interface:
    - Reads: shared["text"]: str [pipe]  # what to say
    - Writes: shared["shouted"]: str [pipe]  # {doc}
    """

    def exec(self, text):
        return {body}
'''


@pytest.fixture
def asked(peer, home):
    """How many requests there were since this test began."""
    before = len(peer.requests())
    return lambda: len(peer.requests()) - before


def plan(sentence=SENTENCE, model="plan-right", **more):
    planned = plan_sentence(sentence, model=model, **more)
    return flow_to_ir(planned.flow), planned.is_remembered


def entries(home):
    return sorted((home / "cache" / "pflow" / "plans").glob("*.json"))


def put(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def shout(home, doc="loud", body="text.upper()"):
    put(home / "data" / "pflow" / "nodes" / "shout.py", SHOUT.format(doc=doc, body=body))


def save(home, description):
    flow = {"description": description, "nodes": [{"type": "llm", "inputs": {"prompt": "x"}}]}
    put(home / "data" / "pflow" / "flows" / "mine.pflow.json", json.dumps(flow))


def test_the_same_sentence_twice_sends_one_request(home, asked):
    first, again = plan(), plan("  read data.txt,\n summarize it ")

    assert (first[1], again[1]) == (False, True)
    assert first[0] == again[0]
    assert asked() == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda home: plan("read data.txt, summarize it well"),
        lambda home: plan(model="plan-prose"),
        lambda home: plan(fresh=True),
        lambda home: (shout(home), plan()),
        lambda home: (save(home, "a flow"), plan()),
    ],
    ids=["sentence", "model", "fresh", "node", "flow"],
)
def test_what_is_not_the_same_sends_another(home, asked, change):
    plan()
    change(home)
    assert asked() == 2


def test_a_nodes_interface_counts_and_not_its_code(home, asked):
    shout(home)
    plan()
    shout(home, body="text.upper() + '!'")
    plan()
    assert asked() == 1

    shout(home, doc="very loud")
    plan()
    assert asked() == 2


def test_what_does_not_pass_is_not_kept(home, asked):
    with pytest.raises(Exception, match="cannot plan"):
        plan(model="plan-never")
    assert entries(home) == []


def test_nobody_else_may_read_a_plan(home):
    plan()
    (file,) = entries(home)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def _cut(file):
    file.write_text(file.read_text()[:-20])


def _smuggled(file):
    entry = json.loads(file.read_text())
    entry["nodes"][1] = {"id": "summarize", "type": "./evil.pflow.json"}
    file.write_text(json.dumps(entry))


def _writable_by_all(file):
    file.chmod(0o666)


@pytest.mark.parametrize(
    "damage",
    [_cut, _smuggled, _writable_by_all],
    ids=lambda damage: damage.__name__,
)
def test_what_is_damaged_or_foreign_counts_as_not_there(home, asked, damage):
    whole, _ = plan()
    damage(entries(home)[0])

    assert plan() == (whole, False)
    assert asked() == 2


def test_a_cache_that_cannot_be_written_is_none(home, asked):
    put(home / "cache" / "pflow" / "plans", "a file")

    assert [plan()[1], plan()[1]] == [False, False]
    assert asked() == 2


def test_the_oldest_go_where_there_are_many(home, monkeypatch):
    monkeypatch.setattr("pflow.plan.planner._MOST", 5)
    for number in range(8):
        CachedPlan(f"sentence {number}", "nodes", "model", 1).write({"nodes": []})
        os.utime(CachedPlan(f"sentence {number}", "nodes", "model", 1).file, (number, number))
    (home / "cache" / "pflow" / "plans" / "mine.txt").write_text("not a plan")
    CachedPlan("one more", "nodes", "model", 1).write({"nodes": []})

    assert len(entries(home)) == 5
    assert CachedPlan("sentence 0", "nodes", "model", 1).read() is None
    assert CachedPlan("sentence 7", "nodes", "model", 1).read() == {"nodes": []}
    assert (home / "cache" / "pflow" / "plans" / "mine.txt").exists()
