"""The engine: steps in order, actions, loops, forks, batches, flows in flows, and failures."""

import pytest

from tests.run.flows import plan_of, run, write_flow


def test_a_chain_runs_in_order():
    ran = run({"nodes": [{"id": "a", "type": "count"}, {"id": "b", "type": "count", "params": {"by": 10}}]})
    assert ran.store == {"n": 11}
    assert ran.ends("step", "node") == [("a", "count"), ("b", "count")]


def test_a_path_that_begins_with_a_step_means_its_write():
    ran = run(
        {
            "nodes": [{"id": "a", "type": "echo"}, {"id": "b", "type": "echo"}],
            "mappings": {"b": {"input_mappings": {"value": "a.echoed.deep[0]"}}},
        },
        {"value": {"deep": [7]}},
    )
    assert ran.store == {"value": {"deep": [7]}, "a": {"echoed": {"deep": [7]}}, "echoed": 7}
    assert ran.ends("reads", "writes") == [
        ({"value": ["value"]}, {"echoed": ["a.echoed"]}),
        ({"value": ["a.echoed.deep[0]"]}, {"echoed": ["echoed"]}),
    ]


def test_an_index_past_the_end_names_both():
    ran = run(
        {"nodes": [{"id": "e", "type": "echo"}], "mappings": {"e": {"input_mappings": {"value": "l[9]"}}}}, {"l": ["x"]}
    )
    assert ran.error.exit == 66
    assert "no '9' in l; it has 1 element" in ran.error.message


def test_a_value_of_the_wrong_type_stops_before_the_node():
    ran = run({"nodes": [{"id": "c", "type": "count"}]}, {"n": "many"})
    assert (ran.error.exit, ran.error.step, ran.store) == (65, "c", {"n": "many"})


def test_a_missing_read_stops_before_the_node_and_says_what_gives_it():
    ran = run({"nodes": [{"id": "t", "type": "text"}]})
    assert (ran.error.exit, ran.error.step, ran.error.hint) == (66, "t", "--text=…")


LOOP = {
    "nodes": [
        {"id": "c", "type": "count", "params": {"enough": 10_000}, "max_visits": 10_000},
        {"id": "e", "type": "echo", "inputs": {"value": "done"}},
    ],
    "edges": [{"from": "c", "to": "c"}, {"from": "c", "to": "e", "action": "done"}],
}


def test_a_loop_runs_until_its_action_leaves_it():
    ran = run(LOOP)
    assert ran.store == {"n": 10_000, "value": "done", "echoed": "done"}
    assert [event["visit"] for event in ran.events if event["event"] == "end"][-2:] == [10_000, 1]


def test_a_runaway_is_stopped():
    ran = run({"nodes": [{"id": "c", "type": "count"}], "edges": [{"from": "c", "to": "c"}]})
    assert ran.store == {"n": 100}
    assert "100 visits" in str(ran.error)


def test_the_last_write_counts_where_several_edges_arrive():
    ir = {
        "nodes": [
            {"id": "a", "type": "choose"},
            {"id": "l", "type": "echo", "inputs": {"value": "left"}},
            {"id": "r", "type": "echo", "inputs": {"value": "right"}},
            {"id": "e", "type": "text"},
        ],
        "edges": [
            {"from": "a", "to": "l", "action": "left"},
            {"from": "a", "to": "r", "action": "right"},
            {"from": "l", "to": "r", "action": "never"},
            {"from": "l", "to": "e"},
            {"from": "r", "to": "e"},
        ],
        "mappings": {"e": {"input_mappings": {"text": ["l.echoed", "r.echoed"]}}},
    }
    for action in ("left", "right"):
        ran = run(ir, {"action": action})
        assert ran.store["out"] == action
        assert ran.ends("reads")[-1] == {"text": [f"{action[0]}.echoed"]}


def test_an_action_without_an_edge_ends_the_flow_with_a_warning():
    ir = {
        "nodes": [{"id": "a", "type": "choose"}, {"id": "b", "type": "count"}],
        "edges": [{"from": "a", "to": "b", "action": "left"}],
    }
    ran = run(ir, {"action": "right"})
    assert (ran.action, ran.store) == ("right", {"action": "right"})
    assert ran.warnings == ["'a' returned right, which has no edge (left): the flow ends"]


def test_an_error_edge_takes_a_failure_and_tells_of_it():
    ir = {
        "nodes": [{"id": "f", "type": "fail", "params": {"exit": 75}}, {"id": "e", "type": "echo"}],
        "edges": [{"from": "f", "to": "e", "action": "error"}],
        "mappings": {"e": {"input_mappings": {"value": "f.error.exit"}}},
    }
    ran = run(ir)
    assert ran.store == {"f": {"error": {"exit": 75, "message": "cannot do it"}}, "echoed": 75}
    assert ran.ends("step", "exit") == [("f", 75), ("e", None)]


def test_a_failed_step_writes_nothing():
    ran = run({"nodes": [{"id": "f", "type": "fail"}, {"id": "c", "type": "count"}]})
    assert (ran.store, ran.error.step, ran.error.exit) == ({}, "f", 1)


FORK = {
    "nodes": [
        {"id": "start", "type": "count"},
        {"id": "a", "type": "count", "params": {"by": 10}},
        {"id": "b", "type": "count", "params": {"by": 20}},
        {"id": "end", "type": "echo"},
    ],
    "edges": [
        {"from": "start", "to": "a"},
        {"from": "start", "to": "b"},
        {"from": "a", "to": "end"},
        {"from": "b", "to": "end"},
    ],
    "mappings": {
        "a": {"output_mappings": {"n": "a.n"}},
        "b": {"output_mappings": {"n": "b.n"}},
        "end": {"input_mappings": {"value": "template:${a.n} ${b.n} $n"}},
    },
}


def test_a_fork_runs_its_branches_on_the_same_store_and_goes_on_where_they_meet():
    ran = run(FORK)
    assert ran.store == {"n": 1, "a": {"n": 11}, "b": {"n": 21}, "echoed": "11 21 1"}
    assert sorted(ran.ends("step", "lane"), key=str) == [
        ("a", "start/a"),
        ("b", "start/b"),
        ("end", None),
        ("start", None),
    ]


def test_branches_run_at_the_same_time(tmp_path):
    nodes = [{"id": "start", "type": "count"}]
    for here, there in (("a", "b"), ("b", "a")):
        inputs = {"file": str(tmp_path / there)}
        nodes.append({"id": here, "type": "wait-for", "inputs": inputs, "params": {"touch": str(tmp_path / here)}})
    edges = [{"from": "start", "to": "a"}, {"from": "start", "to": "b"}]
    mappings = {id: {"output_mappings": {"seen": f"{id}.seen"}} for id in "ab"}
    ran = run({"nodes": nodes, "edges": edges, "mappings": mappings})
    assert ran.error is None
    assert ran.store["a"]["seen"]
    assert ran.store["b"]["seen"]


def test_a_branch_that_fails_ends_the_others(tmp_path):
    nodes = [
        {"id": "start", "type": "count"},
        {"id": "a", "type": "wait-for", "inputs": {"file": str(tmp_path / "never")}},
        {"id": "b", "type": "fail", "params": {"exit": 69}},
        {"id": "end", "type": "count"},
    ]
    edges = [{"from": "start", "to": "a"}, {"from": "start", "to": "b"}]
    edges += [{"from": "a", "to": "end"}, {"from": "b", "to": "end"}]
    ran = run({"nodes": nodes, "edges": edges})
    assert (ran.error.step, ran.error.exit) == ("b", 69)
    assert ran.store == {"n": 1}


def test_fifty_branches_keep_their_order():
    ids = [f"b{n}" for n in range(50)]
    nodes = [
        {"id": "s", "type": "count"},
        *({"id": id, "type": "count", "params": {"by": n}} for n, id in enumerate(ids)),
    ]
    ir = {
        "nodes": nodes,
        "edges": [{"from": "s", "to": id} for id in ids],
        "mappings": {id: {"output_mappings": {"n": f"all.{id}"}} for id in ids},
    }
    expected = {id: n + 1 for n, id in enumerate(ids)}
    for jobs in (None, 3):
        ran = run(ir, jobs=jobs)
        assert list(ran.store["all"].items()) == list(expected.items())


BATCH = {
    "nodes": [{"id": "b", "type": "fail", "batch": {"over": "items", "as": "unless", "on_error": "keep"}}],
}


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_batch_keeps_the_order_and_the_failures(jobs):
    node = {**BATCH["nodes"][0], "batch": {**BATCH["nodes"][0]["batch"], "jobs": jobs}}
    ran = run({"nodes": [node]}, {"items": ["x", "bad", "y"]})
    assert ran.store["passed"] == ["x", None, "y"]
    assert ran.store["b"]["errors"] == [{"index": 1, "item": "bad", "exit": 1, "message": "cannot do it"}]
    assert ran.ends("items") == [{"done": 2, "failed": 1}]


def test_a_batch_over_an_object_keeps_its_names():
    ran = run({"nodes": BATCH["nodes"]}, {"items": {"one": 1, "two": 2}})
    assert ran.store["passed"] == {"one": 1, "two": 2}


@pytest.mark.parametrize("jobs", [None, 4])
def test_a_batch_that_stops_says_at_which_item(jobs):
    batch = {"over": "items", "as": "unless", **({"jobs": jobs} if jobs else {})}
    ran = run({"nodes": [{"id": "b", "type": "fail", "batch": batch}]}, {"items": ["x", "bad", "y"]})
    assert "item 1: cannot do it" in ran.error.message
    assert ran.store == {"items": ["x", "bad", "y"]}


def test_ten_thousand_items_come_back_in_order():
    node = {"id": "b", "type": "count", "params": {"by": 1}, "batch": {"over": "items", "as": "n", "jobs": 2}}
    ran = run({"nodes": [node]}, {"items": list(range(10_000))})
    assert ran.store["n"] == list(range(1, 10_001))


def test_a_batch_over_what_is_no_list_is_an_error():
    ran = run({"nodes": BATCH["nodes"]}, {"items": 7})
    assert (ran.error.exit, "it is an int" in ran.error.message) == (65, True)


def test_a_subflow_has_its_own_store(tmp_path):
    inner = {
        "inputs": {"n": {"type": "int"}},
        "outputs": {"result": "e.echoed"},
        "nodes": [{"id": "c", "type": "count", "params": {"by": 5}}, {"id": "e", "type": "echo"}],
        "mappings": {"e": {"input_mappings": {"value": "n"}}},
    }
    write_flow(tmp_path, "inner", inner)
    outer = {
        "nodes": [{"id": "c", "type": "count"}, {"id": "sub", "type": "./inner.pflow.json"}],
        "mappings": {"sub": {"output_mappings": {"result": "sub.result"}}},
    }
    ran = run(outer, directory=str(tmp_path))
    assert ran.store == {"n": 1, "sub": {"result": 6}}
    assert ran.ends("step") == ["c", "sub/c", "sub/e", "sub"]
    outer["nodes"][1]["params"] = {"c.by": 50}
    assert run(outer, directory=str(tmp_path)).store == {"n": 1, "sub": {"result": 51}}


def test_a_failure_in_a_subflow_names_the_way_to_it(tmp_path):
    write_flow(tmp_path, "inner", {"nodes": [{"id": "f", "type": "fail", "params": {"exit": 77}}]})
    ran = run({"nodes": [{"id": "sub", "type": "./inner.pflow.json"}]}, directory=str(tmp_path))
    assert (ran.error.step, ran.error.exit) == ("sub/f", 77)


def test_a_hundred_levels_of_subflows(tmp_path):
    write_flow(tmp_path, "f0", {"outputs": {"n": "n"}, "nodes": [{"id": "c", "type": "count"}]})
    for level in range(1, 101):
        inner = [{"id": "s", "type": f"./f{level - 1}.pflow.json"}, {"id": "c", "type": "count"}]
        write_flow(tmp_path, f"f{level}", {"outputs": {"n": "n"}, "nodes": inner})
    ran = run({"nodes": [{"id": "top", "type": "./f100.pflow.json"}]}, directory=str(tmp_path))
    assert ran.error is None
    assert ran.store == {"n": 101}


def test_a_flow_that_holds_itself_is_refused(tmp_path):
    write_flow(tmp_path, "a", {"nodes": [{"id": "b", "type": "./b.pflow.json"}]})
    write_flow(tmp_path, "b", {"nodes": [{"id": "a", "type": "./a.pflow.json"}]})
    plan = plan_of({"nodes": [{"id": "a", "type": "./a.pflow.json"}]}, str(tmp_path))
    assert "holds itself" in plan.steps["a"].fault


def test_each_step_may_have_a_process_of_its_own():
    ran = run({"nodes": [{"id": "a", "type": "count"}, {"id": "b", "type": "count"}]}, isolate=True)
    assert ran.store == {"n": 2}
    assert ran.ends("step", "reads") == [("a", {"n": []}), ("b", {"n": ["n"]})]


def test_what_kills_an_isolated_step_fails_it(nodes):
    body = '''from pflow import Node


class Crash(Node):
    """Die.

    Interface:
    - Writes: shared["x"]: int  # never
    """

    def exec(self, prepared):
        import os

        os.kill(os.getpid(), 9)
'''
    (nodes / "crash.py").write_text(body)
    ran = run({"nodes": [{"id": "c", "type": "crash"}]}, isolate=True)
    assert (ran.error.exit, "signal 9 killed it" in ran.error.message) == (137, True)


def test_a_branch_mends_its_own_failure():
    ir = {**FORK, "nodes": [*FORK["nodes"], {"id": "mend", "type": "count", "params": {"by": 5}}]}
    ir["nodes"][1] = {"id": "a", "type": "fail"}
    ir["edges"] = [*FORK["edges"], {"from": "a", "to": "mend", "action": "error"}, {"from": "mend", "to": "end"}]
    ir["mappings"] = {
        "mend": {"output_mappings": {"n": "a.n"}},
        "b": FORK["mappings"]["b"],
        "end": FORK["mappings"]["end"],
    }
    ran = run(ir)
    assert ran.error is None
    assert ran.store["a"] == {"error": {"exit": 1, "message": "cannot do it"}, "n": 6}
    assert ran.store["echoed"] == "6 21 1"


def test_an_error_edge_out_of_a_fork_ends_the_other_branches_and_goes_on_there(tmp_path):
    nodes = [
        {"id": "start", "type": "count"},
        {"id": "report", "type": "echo"},
        {"id": "a", "type": "wait-for", "inputs": {"file": str(tmp_path / "never")}},
        {"id": "b", "type": "fail", "params": {"exit": 69}},
        {"id": "end", "type": "count"},
    ]
    edges = [{"from": "start", "to": "a"}, {"from": "start", "to": "b"}]
    edges += [{"from": each, "to": "end"} for each in "ab"]
    edges += [{"from": each, "to": "report", "action": "error"} for each in "ab"]
    ran = run({"nodes": nodes, "edges": edges, "mappings": {"report": {"input_mappings": {"value": "b.error.exit"}}}})
    assert ran.error is None
    assert ran.store == {"n": 1, "b": {"error": {"exit": 69, "message": "cannot do it"}}, "echoed": 69}


def test_what_a_mapping_leads_to_must_be_there():
    ir = {"nodes": [{"id": "c", "type": "count"}], "mappings": {"c": {"input_mappings": {"n": "start"}}}}
    assert plan_of(ir).inputs["start"].required
    assert run(ir).error.exit == 66


def test_a_subflow_of_nodes_without_an_interface_gives_what_they_wrote(tmp_path, nodes):
    body = "from pocketflow import Node\n\n\nclass Prose(Node):\n    def post(self, shared, prepared, result):\n"
    (nodes / "prose.py").write_text(body + '        shared["said"] = shared["word"] + "!"\n')
    write_flow(tmp_path, "inner", {"inputs": {"word": {"type": "str"}}, "nodes": [{"id": "prose"}]})
    outer = {"nodes": [{"id": "sub", "type": "./inner.pflow.json", "inputs": {"word": "hey"}}]}
    assert run(outer, directory=str(tmp_path)).store == {"word": "hey", "said": "hey!"}


def test_what_is_no_action_is_an_error():
    ran = run({"nodes": [{"id": "a", "type": "choose"}]}, {"action": ["left"]})
    assert "no action" in str(ran.error)
