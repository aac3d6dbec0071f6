"""The engine: steps in order, actions, loops, forks, batches, flows in flows, processes of their own, and failures."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from pflow.engine.context import Context
from pflow.engine.engine import Engine, outputs_of
from pflow.errors import PflowError
from pflow.process.signals import Deadline
from pflow.values.usage import Usage
from tests.engine.flows import Ran, plan_of, run, write_flow
from tests.tools import node_source, put_pack

Ir = dict[str, Any]


def step(id: str, type: str, **members: Any) -> Ir:
    return {"id": id, "type": type, **members}


def flow(*steps: Ir, edges: str = "", into: Ir | None = None, out: Ir | None = None, **more: Any) -> Ir:
    """A flow: its edges are `from-to` or `from-action-to`, its mappings `{"id.key": place}`."""
    ir: Ir = {"nodes": list(steps), "mappings": {}, **more}
    if edges:
        parts = [each.split("-") for each in edges.split()]
        ir["edges"] = [{"from": each[0], "to": each[-1], "action": "".join(each[1:-1]) or "default"} for each in parts]
    for kind, mapped in (("input_mappings", into or {}), ("output_mappings", out or {})):
        for place, path in mapped.items():
            id, _, key = place.partition(".")
            ir["mappings"].setdefault(id, {}).setdefault(kind, {})[key] = path
    return ir


def write_node(folder: Path, name: str, lines: list[str], body: str) -> None:
    interface = "".join(f"    - {line}\n" for line in lines)
    title = "".join(part.title() for part in name.split("_"))
    (folder / f"{name}.py").write_text(
        f'from pflow import Node\n\n\nclass {title}(Node):\n    """X.\n\n    Interface:\n{interface}    """\n\n'
        f"    def post(self, shared, prepared, result):\n        {body}\n"
    )


def test_a_chain_runs_in_order():
    ran = run(flow(step("a", "count"), step("b", "count", params={"by": 10})))
    assert ran.store == {"n": 11}
    assert ran.ends("step", "node") == [("a", "count"), ("b", "count")]


def test_a_path_that_begins_with_a_step_means_its_write():
    ir = flow(step("a", "echo"), step("b", "echo"), into={"b.value": "a.echoed.deep[0]"})
    ran = run(ir, {"value": {"deep": [7]}})
    assert ran.store == {"value": {"deep": [7]}, "a": {"echoed": {"deep": [7]}}, "echoed": 7}
    assert ran.ends("reads", "writes") == [
        ({"value": ["value"]}, {"echoed": ["a.echoed"]}),
        ({"value": ["a.echoed.deep[0]"]}, {"echoed": ["echoed"]}),
    ]


@pytest.mark.parametrize(
    ("ir", "store", "exit", "message"),
    [
        (flow(step("e", "echo"), into={"e.value": "l[9]"}), {"l": ["x"]}, 66, "no '9' in l; it has 1 element"),
        (flow(step("c", "count")), {"n": "many"}, 65, "cannot read 'n'"),
        (flow(step("t", "text")), {}, 66, "cannot find 'text'"),
        (flow(step("c", "count"), into={"c.n": "start"}), {}, 66, "'start'"),
        (flow(step("a", "branch")), {"action": ["left"]}, 1, "not an action"),
        (flow(step("b", "echo", batch={"over": "items"})), {"items": 7}, 65, "it is an int"),
        (flow(step("b", "echo", batch={"over": "items"})), {"items": '["cut'}, 65, "as JSON and is not a list"),
        (flow(step("f", "fail"), step("c", "count")), {}, 1, "cannot do it"),
    ],
)
def test_what_fails_writes_nothing_and_names_the_step(ir, store, exit, message):
    ran = run(ir, dict(store))
    assert (ran.error.exit, ran.error.step, ran.store) == (exit, ir["nodes"][0]["id"], store)
    assert message in ran.error.message


def test_a_template_never_fills_a_command():
    ran = run(flow(step("v", "shell"), into={"v.command": "template:touch ${x}"}), {"x": "ran"})
    assert (ran.error.exit, ran.store) == (65, {"x": "ran"})


def test_a_loop_runs_until_its_action_leaves_it():
    looping = step("c", "count", params={"enough": 10_000}, max_visits=10_000)
    ran = run(flow(looping, step("e", "echo", inputs={"value": "done"}), edges="c-c c-done-e"))
    assert ran.store == {"n": 10_000, "value": "done", "echoed": "done"}
    assert [event["visit"] for event in ran.events if event["event"] == "end"][-2:] == [10_000, 1]


def test_a_runaway_is_stopped():
    ran = run(flow(step("c", "count"), edges="c-c"))
    assert ran.store == {"n": 100}
    assert "100 visits" in str(ran.error)
    assert "--max-visits=N" in ran.error.hint


@pytest.mark.parametrize("more", [{}, {"max_visits": 100}])
@pytest.mark.parametrize("is_subflow", [False, True])
def test_a_loop_that_asks_a_model_stops_after_20_visits_unless_more_are_allowed(tmp_path, nodes, more, is_subflow):
    write_node(nodes, "asker", ['Writes: shared["n"]: int', "Params: model: str = null"], 'shared["n"] = 0')
    ask = {"id": "a", "type": "flow", "nodes": [step("in", "asker")]} if is_subflow else step("a", "asker")
    ran = run(flow(step("c", "count"), ask, edges="c-a a-c", **more))
    assert f"'{'c' if more else 'a'}' again: it had its {100 if more else 20} visits" in str(ran.error)


def test_the_last_write_counts_where_several_edges_arrive():
    ir = flow(
        step("a", "branch"),
        step("l", "echo", inputs={"value": "left"}),
        step("r", "echo", inputs={"value": "right"}),
        step("e", "text"),
        edges="a-left-l a-right-r l-never-r l-e r-e",
        into={"e.text": ["l.echoed", "r.echoed"]},
    )
    for action in ("left", "right"):
        ran = run(ir, {"action": action})
        assert ran.store["out"] == action
        assert ran.ends("reads")[-1] == {"text": [f"{action[0]}.echoed"]}


def test_an_action_without_an_edge_ends_the_flow_with_a_warning():
    ran = run(flow(step("a", "branch"), step("b", "count"), edges="a-left-b"), {"action": "right"})
    assert (ran.action, ran.store) == ("right", {"action": "right"})
    assert ran.warnings == ["'a' returned right, which has no edge (left): the flow ends"]


SHELL = step("s", "shell", inputs={"command": "echo out; exit 7"}, params={"check": False})
GOES_ON = "'s' returned error, which has no edge: the default one is taken"


@pytest.mark.parametrize(
    ("edges", "ran_too", "warnings"),
    [
        ("s-a a-b", "ab", [GOES_ON]),
        ("s-error-a s-b", "a", []),
        ("s-a s-b", "ab", [GOES_ON]),
        ("s-left-a a-b", "", ["'s' returned error, which has no edge (left): the flow ends"]),
    ],
)
def test_an_error_that_the_node_declares_goes_on_by_the_default_edge_where_it_has_none(edges, ran_too, warnings):
    texts = (step(id, "text", inputs={"text": "x"}) for id in "ab")
    ran = run(flow(SHELL, *texts, edges=edges, out={"a.out": "a", "b.out": "b"}))
    assert (ran.error, ran.store["stdout"]) == (None, "out\n")
    assert "".join(id for id in "ab" if id in ran.store) == ran_too
    assert ran.warnings == warnings


def test_an_error_that_the_node_does_not_declare_ends_the_flow():
    ran = run(flow(step("a", "branch"), step("b", "count")), {"action": "error"})
    assert (ran.action, ran.store) == ("error", {"action": "error"})
    assert ran.warnings == ["'a' returned error, which has no edge (default): the flow ends"]


def test_a_flow_that_ends_with_such_an_error_goes_on_by_its_own_default_edge(tmp_path):
    inner = step("s", write_flow(tmp_path, "inner", flow(SHELL)))
    outer = step("s", write_flow(tmp_path, "outer", flow(inner)))
    ran = run(flow(outer, step("b", "count")), directory=str(tmp_path))
    assert (ran.error, ran.store["n"], ran.warnings) == (None, 1, [GOES_ON])


def test_a_batch_of_steps_that_return_error_goes_on():
    ran = run(flow({**SHELL, "batch": {"over": "xs"}}, step("b", "count")), {"xs": [1, 2]})
    assert (ran.store["exit_code"], ran.store["n"], ran.warnings) == ([7, 7], 1, [])


def test_a_warning_is_said_once_however_often_its_step_is_visited(tmp_path):
    inner = step("s", write_flow(tmp_path, "inner", flow(SHELL, step("b", "count"))), batch={"over": "xs"})
    ran = run(flow(inner), {"xs": [1, 2, 3]}, directory=str(tmp_path))
    assert (ran.error, ran.warnings) == (None, [GOES_ON])


def test_an_error_edge_takes_a_failure_and_tells_of_it():
    failing = step("f", "fail", params={"exit": 75})
    ran = run(flow(failing, step("e", "echo"), edges="f-error-e", into={"e.value": "f.error.exit"}))
    assert ran.store == {"f": {"error": {"exit": 75, "message": "cannot do it"}}, "echoed": 75}
    assert ran.ends("step", "exit") == [("f", 75), ("e", None)]


@pytest.mark.parametrize("source", ["s.c", "s.list[0]", ["s.c", "s.nope"]])
def test_a_null_that_is_mapped_is_null_wherever_it_comes_from(nodes, source):
    lines = ['Reads: shared["ctx"]: any = 5  # x', 'Writes: shared["seen"]: any  # x']
    write_node(nodes, "opt", lines, "shared['seen'] = shared['ctx']")
    ir = flow(step("a", "opt"), into={"a.ctx": source})
    assert run(ir, {"s": {"c": None, "list": [None]}}).store["seen"] is None


def test_a_node_that_cannot_be_made_is_no_bug_of_ours(nodes):
    write_node(nodes, "bad", ['Writes: shared["z"]: int  # x'], "pass")
    (nodes / "bad.py").write_text((nodes / "bad.py").read_text() + "\n    def __init__(self, need):\n        pass\n")
    assert getattr(run(flow(step("c", "bad"))).error, "step", None) == "c"


FORK = {
    "edges": "start-a start-b a-end b-end",
    "out": {"a.n": "a.n", "b.n": "b.n"},
    "into": {"end.value": "template:${a.n} ${b.n} $n"},
}
START, END = step("start", "count"), step("end", "echo")


def test_a_fork_runs_its_branches_on_the_same_store_and_goes_on_where_they_meet():
    a, b = step("a", "count", params={"by": 10}), step("b", "count", params={"by": 20})
    ran = run(flow(START, a, b, END, **FORK))
    assert ran.store == {"n": 1, "a": {"n": 11}, "b": {"n": 21}, "echoed": "11 21 1"}
    lanes = [("a", "start/a"), ("b", "start/b"), ("end", None), ("start", None)]
    assert sorted(ran.ends("step", "lane"), key=str) == lanes


def test_branches_run_at_the_same_time(tmp_path):
    def wait(here, there):
        return step(here, "wait-for", inputs={"file": str(tmp_path / there)}, params={"touch": str(tmp_path / here)})

    waiting = flow(
        START, wait("a", "b"), wait("b", "a"), edges="start-a start-b", out={"a.seen": "a.x", "b.seen": "b.x"}
    )
    ran = run(waiting)
    assert (ran.error, ran.store["a"], ran.store["b"]) == (None, {"x": True}, {"x": True})


def test_an_edge_may_lead_straight_to_where_the_branches_meet():
    ir = flow(
        step("a", "echo", inputs={"value": 1}),
        step("b", "text", inputs={"text": "x"}),
        step("c", "count"),
        edges="a-b a-c b-c",
    )
    assert run(ir).store["n"] == 1


OPEN = """
from pflow import Node

class Open(Node):
    'Write what nobody knows of.'

    def post(self, shared, prep_res, exec_res):
        shared[self.params["key"]] = self.params["value"]
"""


@pytest.mark.parametrize(
    ("ones", "others", "met"),
    [
        (("x", 1), ("y", 1), ""),
        (("x", 1), ("x", 1), ""),
        (("x", 1), ("x", 2), "x"),
        (("x", {"y": 1}), ("x", {"z": 1}), "x"),
        (("x", None), ("x", 0), "x"),
    ],
)
def test_branches_of_open_nodes_that_wrote_one_key_are_not_joined(nodes, ones, others, met):
    (nodes / "open.py").write_text(OPEN)
    a, b = (step(id, "open", params={"key": key, "value": value}) for id, (key, value) in (("a", ones), ("b", others)))
    ran = run(flow(START, a, b, step("end", "count"), edges=FORK["edges"]))
    if met:
        what = f"those that begin at 'a' and 'b' both wrote '{met}'"
        assert ran.error.message == f"cannot join the branches of the fork at 'start': {what}"
        assert (ran.error.exit, ran.store) == (65, {"n": 1})
    else:
        assert (ran.error, ran.store) == (None, {**dict([ones, others]), "n": 2})


def test_a_data_flag_of_two_branches_is_stored_once_as_ever():
    a, b = (step(id, "text", inputs={"text": id}) for id in "ab")
    ran = run(flow(START, a, b, edges="start-a start-b", out={"a.out": "a.x", "b.out": "b.x"}))
    assert ran.error is None


def test_a_step_of_a_branch_counts_its_visits_each_time_that_a_loop_comes_to_it():
    steps = step("a", "count", params={"enough": 3}), step("b", "echo"), step("c", "text"), step("m", "branch")
    ran = run(flow(*steps, edges="a-b a-c b-m c-m m-a"), {"value": 1, "text": "x"})
    visits = [event["visit"] for event in ran.events if event["event"] == "start" and event["step"] == "b"]
    assert visits == [1, 2]


def test_fifty_branches_keep_their_order():
    ids = [f"b{n}" for n in range(50)]
    steps = [step(id, "count", params={"by": n}) for n, id in enumerate(ids)]
    out = {f"{id}.n": f"all.{id}" for id in ids}
    ir = flow(step("s", "count"), *steps, edges=" ".join(f"s-{id}" for id in ids), out=out)
    for jobs in (None, 3):
        assert list(run(ir, jobs=jobs).store["all"].items()) == [(id, n + 1) for n, id in enumerate(ids)]


@pytest.mark.parametrize("edges", ["", " a-error-report b-error-report"])
def test_a_branch_that_fails_ends_the_others_and_an_error_edge_out_of_the_fork_goes_on(tmp_path, edges):
    never = step("a", "wait-for", inputs={"file": str(tmp_path / "never")})
    report = [step("report", "echo")] if edges else []
    ir = flow(
        START,
        *report,
        never,
        step("b", "fail", params={"exit": 69}),
        step("end", "count"),
        edges="start-a start-b a-end b-end" + edges,
        into={"report.value": "b.error.exit"} if edges else None,
    )
    ran = run(ir)
    if edges:
        assert ran.store == {"n": 1, "b": {"error": {"exit": 69, "message": "cannot do it"}}, "echoed": 69}
    else:
        assert (ran.error.step, ran.error.exit, ran.store) == ("b", 69, {"n": 1})


def test_a_branch_fixes_its_own_failure():
    fix, b = step("fix", "count", params={"by": 5}), step("b", "count", params={"by": 20})
    ir = flow(
        *(START, step("a", "fail"), b, END, fix),
        edges=FORK["edges"] + " a-error-fix fix-end",
        out={"fix.n": "a.n", "b.n": "b.n"},
        into=FORK["into"],
    )
    ran = run(ir)
    assert ran.store["a"] == {"error": {"exit": 1, "message": "cannot do it"}, "n": 6}
    assert ran.store["echoed"] == "6 21 1"


def test_what_a_branch_wrote_before_it_failed_is_there_for_the_step_that_takes_the_failure():
    steps = [step("b", "text", inputs={"text": "x"}), step("f", "fail"), step("c", "count", inputs={"n": 1})]
    ir = flow(
        *(step("a", "count"), *steps, step("m", "branch"), step("h", "echo")),
        edges="a-b b-f a-c f-m c-m f-error-h",
        into={"h.value": "b.out"},
        out={"c.n": "c.n"},
    )
    assert run(ir).store.get("echoed") == "x"


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_batch_keeps_the_order_and_the_failures(jobs):
    batch = {"over": "items", "as": "unless", "on_error": "keep", "jobs": jobs}
    ran = run(flow(step("b", "fail", batch=batch)), {"items": ["x", "bad", "y"]})
    assert ran.store["passed"] == ["x", None, "y"]
    assert ran.store["b"]["errors"] == [{"index": 1, "item": "bad", "exit": 1, "message": "cannot do it"}]
    text = '1 of 3 items failed; the first, item 2 ("bad"): cannot do it'
    assert ran.ends("items", "message") == [({"done": 2, "failed": 1, "untaken": 1}, text)]
    assert ran.warnings == [f"'b': {text}"]
    ran = run(flow(step("b", "fail", batch=batch)), {"items": {"one": 1, "two": 2}})
    assert (ran.store["passed"], ran.warnings) == ({"one": 1, "two": 2}, [])


@pytest.mark.parametrize("jobs", [1, 4])
def test_a_batch_that_stops_says_at_which_item(jobs):
    batch = {"over": "items", "as": "unless", "jobs": jobs}
    ran = run(flow(step("b", "fail", batch=batch)), {"items": ["x", "bad", "y"]})
    assert ran.error.message == 'item 2 ("bad"): cannot do it'
    assert ran.store == {"items": ["x", "bad", "y"]}
    ran = run(flow(step("b", "fail", batch=batch)), {"items": {"één": "x", "two": "bad"}})
    assert ran.error.message == 'item "two" ("bad"): cannot do it'


@pytest.mark.parametrize(("jobs", "on_error"), [(1, "stop"), (2, "stop"), (1, "keep")])
def test_the_value_of_an_item_that_a_secret_is_made_of_is_not_told(nodes, jobs, on_error):
    write_node(nodes, "use", ['Reads: shared["token"]: str [secret]  # x'], "raise ValueError('no')")
    batch = {"over": "xs", "as": "user", "jobs": jobs, "on_error": on_error}
    ir = flow(step("b", "use", batch=batch), into={"b.token": "user.token"})
    ran = run(ir, {"xs": [{"token": "s3cret"}, {"token": "s3cret"}]})
    told = f"{ran.error} {ran.warnings} {ran.events}"
    assert ": cannot run use" in told  # of two jobs either item may be the first to fail
    assert "s3cret" not in told


@pytest.mark.parametrize("xs", [["x", "é"], ' ["x", "é"]\n'])
def test_a_batch_runs_over_a_list_and_over_a_text_that_holds_one_as_json(xs):
    ran = run(flow(step("b", "echo", batch={"over": "xs", "as": "value"})), {"xs": xs})
    assert (ran.store["echoed"], ran.store["xs"]) == (["x", "é"], xs)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\n\n  \nb c\nd", ["a", "b c", "d"]),
        ("", []),
        ("[2026-01-01] up\n[2026-01-02] down\n", ["[2026-01-01] up", "[2026-01-02] down"]),
        ('{"n": 1}\n{"n": 2}\n', ['{"n": 1}', '{"n": 2}']),
        ('{\n"n": 1}', "cannot run over 'xs': it begins as JSON and is not a list"),
        ('["a",\n"b', "cannot run over 'xs': it begins as JSON and is not a list"),
        (f"[{10**20}]", f"it begins as JSON and is not a list: the integer {10**20} does not fit in 64 bits"),
    ],
)
def test_a_batch_runs_over_the_lines_of_a_text_and_not_over_those_of_json_that_broke_off(text, lines):
    ran = run(flow(step("b", "echo", batch={"over": "xs", "as": "value"})), {"xs": text})
    if isinstance(lines, str):
        assert (ran.error.exit, lines in ran.error.message) == (65, True)
    else:
        assert ran.store["echoed"] == lines


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_result_knows_its_item_where_it_is_to(jobs):
    batch = {"over": "items", "as": "unless", "on_error": "keep", "jobs": jobs, "keep_item": True}
    ran = run(flow(step("b", "fail", batch=batch)), {"items": ["x", "bad"]})
    assert ran.store["passed"] == [{"item": "x", "passed": "x"}, {"item": "bad", "error": "cannot do it"}]
    ran = run(flow(step("b", "fail", batch=batch)), {"items": {"one": 1}})
    assert ran.store["passed"] == {"one": {"item": 1, "passed": 1}}


def test_ten_thousand_items_come_back_in_order():
    ran = run(flow(step("b", "count", batch={"over": "xs", "as": "n", "jobs": 2})), {"xs": list(range(10_000))})
    assert ran.store["n"] == list(range(1, 10_001))


@pytest.mark.parametrize(("end", "jobs"), [("sys.exit(3)", 1), ("sys.exit(3)", 2), ("os.kill(os.getpid(), 9)", 2)])
def test_an_item_whose_node_exits_or_is_killed_is_kept_as_failed(nodes, end, jobs):
    lines = ['Reads: shared["item"]: any  # x', 'Writes: shared["out"]: any  # x']
    write_node(nodes, "leave", lines, f"import os, sys\n        shared['out'] = 1 if shared['item'] != 2 else {end}")
    ran = run(flow(step("b", "leave", batch={"over": "xs", "on_error": "keep", "jobs": jobs})), {"xs": [1, 2, 3]})
    assert ran.store["out"] == [1, None, 1]
    assert [each["index"] for each in ran.store["b"]["errors"]] == [1]


def test_each_item_has_the_steps_own_input_anew_and_that_is_stored(nodes):
    lines = ['Reads: shared["msgs"]: list = []  # x', 'Writes: shared["size"]: int  # x']
    write_node(nodes, "grow", lines, "m = shared['msgs']; m.append(1); shared['size'] = len(m)")
    ran = run(flow(step("a", "grow", inputs={"msgs": [0]}, batch={"over": "xs"})), {"xs": [1, 2]})
    assert (ran.store["size"], ran.store["msgs"]) == ([2, 2], [0])
    ran = run(flow(step("a", "grow", inputs={"msgs": "${all}"}, batch={"over": "xs"})), {"xs": [1], "all": [5]})
    assert (ran.store["size"], ran.store["msgs"]) == ([2], [5])
    ran = run(flow(step("a", "grow", inputs={"msgs": "${item}"}, batch={"over": "xs"})), {"xs": [[1]]})
    assert (ran.store["size"], "msgs" in ran.store) == ([2], False)


def test_a_subflow_has_its_own_store(tmp_path):
    inner = flow(
        *(step("c", "count", params={"by": 5}), step("e", "echo")),
        into={"e.value": "n"},
        inputs={"n": {"type": "int"}},
        outputs={"result": "e.echoed"},
    )
    outer = flow(
        *(step("c", "count"), step("sub", write_flow(tmp_path, "inner", inner))), out={"sub.result": "sub.result"}
    )
    ran = run(outer, directory=str(tmp_path))
    assert ran.store == {"n": 1, "sub": {"result": 6}}
    assert ran.ends("step") == ["c", "sub/c", "sub/e", "sub"]
    outer["nodes"][1]["params"] = {"c.by": 50}
    assert run(outer, directory=str(tmp_path)).store == {"n": 1, "sub": {"result": 51}}


def test_a_subflow_changes_nothing_in_the_store_around_it(tmp_path):
    text = step("e", "text", inputs={"text": "hey"})
    inner = flow(text, out={"e.out": "doc.out"}, inputs={"doc": {"type": "dict"}}, outputs={"o": "doc.out"})
    ran = run(flow(step("s", write_flow(tmp_path, "inner", inner))), {"doc": {"a": 1}}, str(tmp_path))
    assert ran.store["doc"] == {"a": 1}


def test_a_failure_in_a_subflow_names_the_way_to_it(tmp_path):
    inner = write_flow(tmp_path, "inner", flow(step("f", "fail", params={"exit": 77})))
    ran = run(flow(step("sub", inner)), directory=str(tmp_path))
    assert (ran.error.step, ran.error.exit) == ("sub/f", 77)


def test_a_hundred_levels_of_subflows(tmp_path):
    type = write_flow(tmp_path, "f0", flow(step("c", "count"), outputs={"n": "n"}))
    for level in range(1, 101):
        type = write_flow(tmp_path, f"f{level}", flow(step("s", type), step("c", "count"), outputs={"n": "n"}))
    ran = run(flow(step("top", type)), directory=str(tmp_path))
    assert (ran.error, ran.store) == (None, {"n": 101})


def test_a_flow_that_holds_itself_is_refused(tmp_path):
    type = write_flow(tmp_path, "a", flow(step("b", "./b.pflow.json")))
    write_flow(tmp_path, "b", flow(step("a", type)))
    assert "contains itself" in plan_of(flow(step("a", type)), str(tmp_path)).steps["a"].fault


def test_a_subflow_of_nodes_without_an_interface_gives_what_they_wrote(tmp_path, nodes):
    body = "from pocketflow import Node\n\n\nclass Prose(Node):\n    def post(self, shared, prepared, result):\n"
    (nodes / "prose.py").write_text(body + '        shared["said"] = shared["word"] + "!"\n')
    inner = write_flow(tmp_path, "inner", flow(step("prose", "prose"), inputs={"word": {"type": "str"}}))
    ran = run(flow(step("sub", inner, inputs={"word": "hey"})), directory=str(tmp_path))
    assert ran.store == {"word": "hey", "said": "hey!"}


def test_two_steps_of_one_flow_each_know_what_was_written_last(tmp_path, nodes):
    lines = ['Reads: shared["way"]: str  # x', 'Reads: shared["at"]: int = 0  # x', 'Writes: shared["at"]: int  # x']
    body = "n = shared['at']; shared['at'] = n + 1; return [*shared['way'], 'end'][n]"
    write_node(nodes, "walk", [*lines, "Actions: a, b, end"], body)
    inner = flow(
        *(step("m", "walk"), step("p", "echo", inputs={"value": "A"}), step("q", "text", inputs={"text": "B"})),
        step("fin", "echo"),
        edges="m-a-p m-b-q p-m q-m m-end-fin",
        into={"fin.value": ["p.echoed", "q.out"]},
        inputs={"way": {"type": "str"}},
        outputs={"last": "fin.echoed"},
    )
    type = write_flow(tmp_path, "alt", inner)
    ir = flow(
        *(step("s", type, inputs={"way": "ab"}), step("t", type, inputs={"way": "ba"})),
        step("c", "count", params={"enough": 2}),
        edges="s-t t-c c-s",
        out={"s.last": "one", "t.last": "two"},
    )
    ran = run(ir, directory=str(tmp_path))
    assert (ran.error, ran.store["one"], ran.store["two"]) == (None, "B", "A")


def test_a_template_in_an_output_takes_what_was_written_last():
    ir = flow(
        *(step("c", "count", params={"enough": 2}), step("p", "echo", inputs={"value": "P"})),
        *(step("q", "echo", inputs={"value": "Q"}), step("e", "text")),
        edges="c-p p-c c-done-q q-e q-again-p",
        into={"e.text": "template:${p.echoed}${q.echoed}"},
        outputs={"o": "template:<${echoed}>"},
    )
    plan = plan_of(ir)
    ran = Ran(plan)
    assert (ran.error, outputs_of(plan, ran.store)) == (None, {"o": "<Q>"})


def test_steps_and_batches_may_each_have_a_process_of_their_own(nodes):
    write_node(nodes, "pid", ['Writes: shared["pid"]: int  # x'], "import os; shared['pid'] = os.getpid()")
    batched = step("c", "pid", batch={"over": "xs"})
    ran = run(flow(step("a", "count"), step("b", "count"), batched), {"xs": [1]}, isolate=True)
    assert ran.store["n"] == 2
    assert os.getpid() not in ran.store["pid"]
    assert ran.ends("step", "reads")[:2] == [("a", {"n": []}), ("b", {"n": ["n"]})]
    ran = run(flow(step("f", "fail")), {"unless": "bad"}, isolate=True)
    assert ran.ends("reads") == [{"unless": ["unless"]}]


def test_what_kills_an_isolated_step_or_a_branch_fails_it(nodes):
    write_node(nodes, "die", ['Writes: shared["dead"]: any  # x'], "import os; os.kill(os.getpid(), 9)")
    ran = run(flow(step("c", "die")), isolate=True)
    assert (ran.error.exit, "signal 9 killed it" in ran.error.message) == (137, True)
    ran = run(flow(step("a", "count"), step("d", "die"), step("c", "echo"), edges="a-d a-c"), {"value": 1})
    assert (ran.error.exit, ran.error.step) == (137, "d")


def test_a_signal_while_a_process_starts_leaves_no_child_and_no_file(tmp_path, monkeypatch):
    inner = write_flow(tmp_path, "inner", flow(step("x", "count")))
    ir = flow(step("s", inner, timeout=60), step("h", "branch"), edges="s-error-h")
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
    failing = step("f", "fail", params={"message": "m" * 200_000})
    inner = flow(failing, step("e", "echo"), edges="f-error-e", inputs={"value": {"type": "any"}})
    batch = {"over": "xs", "as": "value", "jobs": 4}
    ir = flow(
        *(step("a", "count"), step("s", write_flow(tmp_path, "inner", inner), batch=batch)),
        step("t", "text", inputs={"text": "x"}),
        edges="a-s a-t",
    )
    with Deadline(10):  # frames that are mixed up leave the parent waiting for ever
        ran = run(ir, {"xs": list(range(24))}, str(tmp_path))
    assert ran.ends("step").count("s/f") == ran.ends("step").count("s/e") == 24


BILLS = [0.01, None, 0.02, "no", 0.0]


@pytest.mark.parametrize("options", [{}, {"jobs": 2}, {"isolate": True}])
@pytest.mark.parametrize("is_subflow", [False, True])
def test_every_answer_that_a_batch_got_is_counted_once_failed_tries_too(tmp_path, options, is_subflow):
    bill = step("bill", "bill", retries=2, wait=0)
    inner = flow(bill, inputs={"cost": {"type": "any"}}, outputs={"usage": "bill.usage"})
    kind = {"type": write_flow(tmp_path, "inner", inner)} if is_subflow else {**bill}
    batch = {"over": "costs", "as": "cost", "on_error": "keep", **({"jobs": 2} if "jobs" in options else {})}
    isolate = bool(options.get("isolate"))
    ran = run(flow({**kind, "id": "b", "batch": batch}), {"costs": BILLS}, str(tmp_path), isolate=isolate)
    usage = Usage()
    for event in ran.events:
        usage.add_event(event)
    assert usage.total() == {"model": "m", "cost": 0.06, "calls": 7, "unpriced": 1}
    items = [event for event in ran.events if event["event"] == "item"]
    assert sorted((each["index"], each.get("exit")) for each in items) == [
        (0, None),
        (1, None),
        (2, None),
        (3, 1),
        (4, None),
    ]
    assert all(each["ms"] > 0 for each in items)
    inner = [each["item"] for each in ran.events if (each["event"], each["step"]) == ("end", "b/bill")]
    assert sorted(inner) == list("01234") * is_subflow
    assert "item" not in ran.events[-1]
    [failed] = [each for each in items if "exit" in each]
    assert failed["message"]
    tries = [each["tried"] for each in (ran.events if is_subflow else items) if "tried" in each]
    assert [[tried["exit"] for tried in each] for each in tries] == [[1, 1]]
    assert tries[0][0]["message"] in failed["message"]
    assert ran.events[1]["count"] == 5
    end = ran.events[-1]
    assert end["items"] == {"done": 4, "failed": 1, "untaken": 1}
    assert (end.get("calls"), end.get("cost")) == ((None, None) if is_subflow else (7, 0.06))


def test_a_batch_that_stops_tells_what_it_took_until_then():
    ran = run(flow(step("b", "bill", batch={"over": "costs", "as": "cost"})), {"costs": [0.01, "no", 0.01]})
    end = ran.events[-1]
    assert (end["exit"], end["cost"], end["calls"], end["items"]) == (1, 0.02, 2, {"done": 1, "failed": 1})


def test_branches_and_flows_in_flows_are_counted_once(tmp_path):
    inner = flow(step("bill", "bill"), outputs={"usage": "bill.usage"})
    type = write_flow(tmp_path, "inner", inner)
    steps = [step("a", "count"), step("x", "bill"), step("y", type), step("z", "count")]
    out = {"x.usage": "x.usage", "y.usage": "y.usage"}
    ran = run(flow(*steps, edges="a-x a-y x-z y-z", out=out), {}, str(tmp_path))
    usage = Usage()
    for event in ran.events:
        usage.add_event(event)
    assert (ran.error, usage.total()) == (None, {"model": "m", "cost": 0.02, "calls": 2, "unpriced": 0})


@pytest.mark.parametrize("write", [None, lambda line: None])
def test_no_item_writes_over_the_file_of_another_in_a_flow_in_a_flow_and_without_a_log(tmp_path, write):
    save = {"inputs": {"path": {"type": "path"}}}
    type = write_flow(
        tmp_path, "inner", flow(step("save", "write-file", inputs={"content": "x", "path": "$path"}), **save)
    )
    plan = plan_of(flow(step("b", type, batch={"over": "paths", "as": "path"})), str(tmp_path))
    with pytest.raises(PflowError, match=r"item 1 .* of this batch writes it too") as caught:
        Engine(plan, Context(write=write)).run({"paths": [str(tmp_path / "one"), f"{tmp_path}/./one"]})
    assert caught.value.exit == 73


def test_the_parts_of_the_step_that_the_pipe_carries_are_shown_as_they_come(nodes):
    write_node(nodes, "say", ['Writes: shared["out"]: str [pipe]  # x'], "self.emit('x'); shared['out'] = 'xy'")
    parts = []
    ran = run(flow(step("a", "say"), step("b", "say")), emit=parts.append, emitter="b")
    assert (ran.store["out"], parts) == ("xy", ["x"])


def test_each_try_but_the_last_of_a_step_that_fails_is_told(nodes):
    body = "class Flaky(Node):\n    def __init__(self):\n        super().__init__(max_retries=3)\n\n"
    body += "    def exec(self, prepared):\n        raise ValueError(f'try {self.cur_retry}')\n"
    (nodes / "flaky.py").write_text(f"from pflow import Node\n\n\n{body}")
    ran = run(flow(step("a", "flaky")))
    assert "try 2" in ran.error.message
    (tried,) = ran.ends("tried")
    assert ["try 0" in tried[0]["message"], "try 1" in tried[1]["message"], len(tried)] == [True, True, 2]


@pytest.mark.parametrize(("effects", "is_set"), [([], False), (["Effects: runs commands"], True)])
def test_the_key_of_a_step_is_a_variable_where_the_step_may_start_programs(nodes, effects, is_set):
    body = "import os; shared['out'] = 'PFLOW_STEP_KEY' in os.environ"
    write_node(nodes, "look", ['Writes: shared["out"]: bool [pipe]  # x', *effects], body)
    assert run(flow(step("a", "look")), run_id="R").store["out"] is is_set


def test_a_step_whose_node_says_max_retries_0_is_still_run_once(nodes):
    body = "class Once(Node):\n    def __init__(self):\n        super().__init__(max_retries=0)\n\n"
    body += "    def exec(self, prepared):\n        raise ValueError('it ran')\n"
    (nodes / "once.py").write_text(f"from pflow import Node\n\n\n{body}")
    assert "it ran" in run(flow(step("a", "once"))).error.message


def test_a_write_that_no_interface_names_and_the_pack_of_a_node_are_in_the_trace(nodes, tmp_path, monkeypatch):
    (nodes / "open.py").write_text(
        "from pocketflow import Node\n\n\nclass Open(Node):\n"
        "    def post(self, shared, prepared, result):\n        shared['k' + 'ey'] = 1\n"
    )
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "data" / "pflow").mkdir(parents=True)
    put_pack(tmp_path / "data" / "pflow", "tools", {"nodes/words.py": node_source("Words", "return len(text.split())")})
    ran = run(flow(step("a", "open"), step("b", "words")), {"text": "a b"})
    assert ran.error is None
    assert ran.ends("writes")[0] == {"key": ["key"]}
    assert ["pack" in event for event in ran.events if event["event"] == "start"] == [False, True]
