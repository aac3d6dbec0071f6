"""What a review of the engine found: each test pins one promise of the design."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from pflow.process.signals import Deadline
from pflow.run.engine.engine import outputs_of
from tests.run.flows import Ran, plan_of, run, write_flow

Ir = dict[str, Any]


def write_node(folder: Path, name: str, lines: list[str], body: str) -> None:
    interface = "".join(f"    - {line}\n" for line in lines)
    title = "".join(part.title() for part in name.split("_"))
    (folder / f"{name}.py").write_text(
        f'from pflow import Node\n\n\nclass {title}(Node):\n    """X.\n\n    Interface:\n{interface}    """\n\n'
        f"    def post(self, shared, prepared, result):\n        {body}\n"
    )


def edge(source: str, target: str, action: str = "default") -> Ir:
    return {"from": source, "to": target, "action": action}


def test_a_branch_may_be_an_edge_straight_to_where_the_branches_meet():
    ir = {
        "nodes": [
            {"id": "a", "type": "echo", "inputs": {"value": 1}},
            {"id": "b", "type": "text", "inputs": {"text": "x"}},
            {"id": "c", "type": "count"},
        ],
        "edges": [edge("a", "b"), edge("a", "c"), edge("b", "c")],
    }
    ran = run(ir)
    assert (ran.error, ran.store.get("n")) == (None, 1)


def test_the_data_of_a_batch_step_goes_into_the_store():
    ir = {
        "nodes": [{"id": "b", "type": "echo", "inputs": {"value": "hello"}, "batch": {"over": "xs"}}],
    }
    assert run(ir, {"xs": [1]}).store["value"] == "hello"


@pytest.mark.parametrize("jobs", [None, 2])
def test_an_item_whose_node_calls_exit_is_kept_as_failed(nodes, jobs):
    write_node(
        nodes,
        "leave",
        ['Reads: shared["item"]: any  # x', 'Writes: shared["out"]: any  # x'],
        "import sys\n        shared['item'] == 2 and sys.exit(3)",
    )
    batch = {"over": "xs", "on_error": "keep"} | ({"jobs": jobs} if jobs else {})
    ran = run({"nodes": [{"id": "b", "type": "leave", "batch": batch}]}, {"xs": [1, 2, 3]})
    assert [each["index"] for each in ran.store["b"]["errors"]] == [1]


def test_an_item_whose_process_is_killed_is_kept_as_failed(nodes):
    body = "import os\n        shared['out'] = 1 if shared['item'] != 2 else os.kill(os.getpid(), 9)"
    write_node(nodes, "die", ['Reads: shared["item"]: any  # x', 'Writes: shared["out"]: any  # x'], body)
    batch = {"over": "xs", "on_error": "keep", "jobs": 2}
    ran = run({"nodes": [{"id": "b", "type": "die", "batch": batch}]}, {"xs": [1, 2, 3]})
    assert ran.store.get("out") == [1, None, 1]


def test_a_branch_whose_process_is_killed_is_named(nodes):
    write_node(nodes, "die", ['Writes: shared["dead"]: any  # x'], "import os; os.kill(os.getpid(), 9)")
    ir = {
        "nodes": [{"id": "a", "type": "count"}, {"id": "d", "type": "die"}, {"id": "c", "type": "echo"}],
        "edges": [edge("a", "d"), edge("a", "c")],
    }
    assert getattr(run(ir, {"value": 1}).error, "step", "").startswith("d")


def test_each_item_has_the_steps_own_input_anew(nodes):
    lines = ['Reads: shared["msgs"]: list = []  # x', 'Writes: shared["size"]: int  # x']
    write_node(nodes, "grow", lines, "m = shared['msgs']; m.append(1); shared['size'] = len(m)")
    ir = {"nodes": [{"id": "a", "type": "grow", "inputs": {"msgs": [0]}, "batch": {"over": "xs"}}]}
    assert run(ir, {"xs": [1, 2]}).store["size"] == [2, 2]


def test_a_subflow_changes_nothing_in_the_store_around_it(tmp_path):
    inner = {
        "inputs": {"doc": {"type": "dict"}},
        "outputs": {"o": "doc.out"},
        "nodes": [{"id": "e", "type": "text", "inputs": {"text": "hey"}}],
        "mappings": {"e": {"output_mappings": {"out": "doc.out"}}},
    }
    ran = run({"nodes": [{"id": "s", "type": write_flow(tmp_path, "inner", inner)}]}, {"doc": {"a": 1}}, str(tmp_path))
    assert ran.store["doc"] == {"a": 1}


@pytest.mark.parametrize("source", ["s.c", "s.list[0]", ["s.c", "s.nope"]])
def test_a_null_that_is_mapped_is_null_wherever_it_comes_from(nodes, source):
    lines = ['Reads: shared["ctx"]: any = 5  # x', 'Writes: shared["seen"]: any  # x']
    write_node(nodes, "opt", lines, "shared['seen'] = shared['ctx']")
    ir = {"nodes": [{"id": "a", "type": "opt"}], "mappings": {"a": {"input_mappings": {"ctx": source}}}}
    assert run(ir, {"s": {"c": None, "list": [None]}}).store["seen"] is None


def _last_of_two(tmp_path: Path, nodes: Path) -> str:
    lines = ['Reads: shared["way"]: str  # x', 'Reads: shared["at"]: int = 0  # x', 'Writes: shared["at"]: int  # x']
    body = "n = shared['at']; shared['at'] = n + 1; return [*shared['way'], 'end'][n]"
    write_node(nodes, "walk", [*lines, "Actions: a, b, end"], body)
    ir = {
        "inputs": {"way": {"type": "str"}},
        "outputs": {"last": "fin.echoed"},
        "nodes": [
            {"id": "m", "type": "walk"},
            {"id": "p", "type": "echo", "inputs": {"value": "A"}},
            {"id": "q", "type": "text", "inputs": {"text": "B"}},
            {"id": "fin", "type": "echo"},
        ],
        "edges": [edge("m", "p", "a"), edge("m", "q", "b"), edge("p", "m"), edge("q", "m"), edge("m", "fin", "end")],
        "mappings": {"fin": {"input_mappings": {"value": ["p.echoed", "q.out"]}}},
    }
    return write_flow(tmp_path, "alt", ir)


def test_two_steps_of_one_flow_each_know_what_was_written_last(tmp_path, nodes):
    type = _last_of_two(tmp_path, nodes)
    ir = {
        "nodes": [
            {"id": "s", "type": type, "inputs": {"way": "ab"}},
            {"id": "t", "type": type, "inputs": {"way": "ba"}},
            {"id": "c", "type": "count", "params": {"enough": 2}},
        ],
        "edges": [edge("s", "t"), edge("t", "c"), edge("c", "s")],
        "mappings": {"s": {"output_mappings": {"last": "one"}}, "t": {"output_mappings": {"last": "two"}}},
    }
    ran = run(ir, directory=str(tmp_path))
    assert ran.error is None
    assert (ran.store["one"], ran.store["two"]) == ("B", "A")


def test_a_template_in_an_output_takes_what_was_written_last():
    ir = {
        "outputs": {"o": "template:<${echoed}>"},
        "nodes": [
            {"id": "c", "type": "count", "params": {"enough": 2}},
            {"id": "p", "type": "echo", "inputs": {"value": "P"}},
            {"id": "q", "type": "echo", "inputs": {"value": "Q"}},
            {"id": "e", "type": "text"},
        ],
        "edges": [edge("c", "p"), edge("p", "c"), edge("c", "q", "done"), edge("q", "e"), edge("q", "p", "again")],
        "mappings": {"e": {"input_mappings": {"text": "template:${p.echoed}${q.echoed}"}}},
    }
    plan = plan_of(ir)
    ran = Ran(plan)
    assert ran.error is None
    assert outputs_of(plan, ran.store) == {"o": "<Q>"}


def test_what_a_branch_wrote_before_it_failed_is_there_for_the_step_that_takes_the_failure():
    ir = {
        "nodes": [
            {"id": "a", "type": "count"},
            {"id": "b", "type": "text", "inputs": {"text": "x"}},
            {"id": "f", "type": "fail"},
            {"id": "c", "type": "count", "inputs": {"n": 1}},
            {"id": "m", "type": "choose"},
            {"id": "h", "type": "echo"},
        ],
        "edges": [
            edge("a", "b"), edge("b", "f"), edge("a", "c"), edge("f", "m"), edge("c", "m"), edge("f", "h", "error"),
        ],
        "mappings": {"h": {"input_mappings": {"value": "b.out"}}, "c": {"output_mappings": {"n": "c.n"}}},
    }  # fmt: skip
    assert run(ir).store.get("echoed") == "x"


def test_the_steps_of_a_subflow_that_runs_in_workers_are_in_the_trace(tmp_path):
    type = write_flow(tmp_path, "inner", {"nodes": [{"id": "e", "type": "echo"}]})
    ir = {"nodes": [{"id": "s", "type": type, "batch": {"over": "xs", "as": "value", "jobs": 2}}]}
    assert run(ir, {"xs": [1, 2]}, str(tmp_path)).ends("step") == ["s/e", "s/e", "s"]


def test_an_isolated_step_that_fails_says_what_it_read():
    ran = run({"nodes": [{"id": "f", "type": "fail"}]}, {"unless": "bad"}, isolate=True)
    assert ran.ends("reads") == [{"unless": ["unless"]}]


def test_a_batch_is_isolated_too(nodes):
    write_node(nodes, "pid", ['Writes: shared["pid"]: int  # x'], "import os; shared['pid'] = os.getpid()")
    ran = run({"nodes": [{"id": "b", "type": "pid", "batch": {"over": "xs"}}]}, {"xs": [1]}, isolate=True)
    assert os.getpid() not in ran.store["pid"]


def test_a_node_that_cannot_be_made_is_no_bug_of_ours(nodes):
    write_node(nodes, "bad", ['Writes: shared["z"]: int  # x'], "pass")
    (nodes / "bad.py").write_text((nodes / "bad.py").read_text() + "\n    def __init__(self, need):\n        pass\n")
    assert getattr(run({"nodes": [{"id": "c", "type": "bad"}]}).error, "step", None) == "c"


def test_a_signal_while_a_process_starts_leaves_no_child_and_no_file(tmp_path, monkeypatch):
    type = write_flow(tmp_path, "inner", {"nodes": [{"id": "x", "type": "count"}]})
    ir = {
        "nodes": [{"id": "s", "type": type, "timeout": 60}, {"id": "h", "type": "choose"}],
        "edges": [edge("s", "h", "error")],
    }
    fork, children = os.fork, []

    def late() -> int:
        pid = fork()
        if pid and not children:
            os.kill(os.getpid(), signal.SIGALRM)
        children.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", late)
    before = len(os.listdir("/proc/self/fd"))
    run(ir, directory=str(tmp_path), isolate=True)
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(children[0], os.WNOHANG)


def test_long_lines_of_workers_within_a_branch_stay_whole(tmp_path):
    inner = {
        "inputs": {"value": {"type": "any"}},
        "nodes": [{"id": "f", "type": "fail", "params": {"message": "m" * 200_000}}, {"id": "e", "type": "echo"}],
        "edges": [edge("f", "e", "error")],
    }
    batch = {"over": "xs", "as": "value", "jobs": 4}
    ir = {
        "nodes": [
            {"id": "a", "type": "count"},
            {"id": "s", "type": write_flow(tmp_path, "inner", inner), "batch": batch},
            {"id": "t", "type": "text", "inputs": {"text": "x"}},
        ],
        "edges": [edge("a", "s"), edge("a", "t")],
    }
    with Deadline(10):  # frames that are mixed up leave the parent waiting for ever
        ran = run(ir, {"xs": list(range(24))}, str(tmp_path))
    assert ran.ends("step").count("s/f") == 24


def test_a_templates_text_never_becomes_what_is_verbatim(nodes):
    lines = ['Reads: shared["command"]: str [verbatim] [explicit]  # x', 'Writes: shared["ran"]: str  # x']
    write_node(nodes, "sh", lines, "shared['ran'] = shared['command']")
    ir = {
        "nodes": [{"id": "v", "type": "sh"}],
        "mappings": {"v": {"input_mappings": {"command": "template:echo ${x}"}}},
    }
    ran = run(ir, {"x": "; rm"})
    assert (ran.error.exit, ran.store.get("ran")) == (65, None)
