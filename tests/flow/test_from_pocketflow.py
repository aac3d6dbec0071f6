"""Reading a pocketflow Flow back: which steps and edges it becomes, and what cannot become one."""

from __future__ import annotations

import json
from itertools import pairwise

import pocketflow
import pytest
from pocketflow import AsyncFlow, BatchFlow, Flow, Node

import pflow
from pflow.catalog.find import forget_types, no_such_type
from pflow.errors import PflowError
from pflow.flow.from_pocketflow import flow_from
from pflow.flow.ir import flow_to_ir
from pflow.flow.load import load_text
from pflow.nodes.llm import Llm
from pflow.nodes.read_file import ReadFile
from pflow.nodes.write_file import WriteFile


@pytest.fixture(autouse=True)
def no_own_nodes(monkeypatch, tmp_path):
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    forget_types()
    yield
    forget_types()


class YTCaptions(Node):
    pass


class Judge(Node):
    pass


def edges(flow):
    return [(edge.source, edge.target, edge.action) for edge in flow.edges]


def steps(flow):
    return [(step.id, step.type) for step in flow.steps]


def test_nodes_become_steps_and_successors_edges():
    read, ask, save = ReadFile(), Llm(), WriteFile()
    read >> ask >> save
    ask - "again" >> ask
    flow = flow_from(Flow(start=read))
    assert steps(flow) == [("read-file", "read-file"), ("llm", "llm"), ("write-file", "write-file")]
    assert edges(flow) == [
        ("read-file", "llm", "default"),
        ("llm", "write-file", "default"),
        ("llm", "llm", "again"),
    ]
    assert flow.warnings == []
    assert [step.location for step in flow.steps] == [("nodes", 0), ("nodes", 1), ("nodes", 2)]


def test_two_nodes_of_a_class_have_two_names_and_a_variable_names_its_own():
    one, two, three = Llm(), Llm(), Llm()
    one >> two >> three
    assert [id for id, _ in steps(flow_from(Flow(start=one)))] == ["llm", "llm-2", "llm-3"]
    named = flow_from(Flow(start=one), variables={"draft": one, "mend": two, "x": 1})
    assert [id for id, _ in steps(named)] == ["draft", "mend", "llm"]


def test_a_node_that_is_reached_twice_is_one_step():
    judge, good, bad = Judge(), ReadFile(), ReadFile()
    judge - "good" >> good
    judge - "bad" >> bad
    bad >> judge
    bad - "enough" >> good
    flow = flow_from(Flow(start=judge))
    assert len(flow.steps) == 3
    assert ("read-file-2", "judge", "default") in edges(flow)
    assert ("read-file-2", "read-file", "enough") in edges(flow)


def test_params_tries_and_waits_are_taken_without_what_is_default():
    ask = Llm(max_retries=3, wait=2)
    ask.set_params({"model": "echo", "system": "costs $5", "option": []})
    (step,) = flow_from(Flow(start=ask)).steps
    assert (step.params, step.retries, step.wait) == ({"model": "echo", "system": "costs $$5"}, 2, 2)
    (step,) = flow_from(Flow(start=Llm())).steps
    assert (step.params, step.retries, step.wait) == ({}, None, None)
    (step,) = flow_from(Flow(start=Llm(max_retries=2))).steps  # who waits for nothing does so here too
    assert (step.retries, step.wait) == (1, 0)


def test_params_of_a_flow_reach_its_nodes_and_those_inside_it():
    ask, inner = Llm(), Flow(start=ReadFile())
    ask.set_params({"model": "own", "temperature": 1.0})
    ask >> inner
    root = Flow(start=ask)
    root.set_params({"model": "root"})
    inner.set_params({"encoding": "latin-1", "model": "inner"})
    first, second = flow_from(root).steps
    assert first.params == {"model": "root", "temperature": 1.0}
    assert second.params == {"encoding": "latin-1", "model": "root"}


def test_a_step_that_is_a_name_has_what_pflow_knows_of_the_node():
    flow = pflow.Flow(start=pflow.step("llm"))
    flow.set_params({"system": "$x", "schema": {"x": "$y"}})
    (ask,) = flow_from(flow).steps
    assert ask.params == {"system": "$$x", "schema": {"x": "$y"}}
    (fix,) = flow_from(pflow.Flow(start=pflow.step("flow:fix"))).steps
    assert (fix.id, fix.type) == ("fix", "flow:fix")


def test_a_param_that_json_cannot_hold_is_refused():
    node = YTCaptions()
    node.set_params({"fetch": len})
    with pytest.raises(PflowError) as caught:
        flow_from(Flow(start=node))
    assert caught.value.exit == 65
    assert caught.value.message.startswith("cannot use 'yt-captions' with its 'fetch'")


def test_a_class_that_is_no_node_keeps_its_name_and_it_is_said_how_to_make_it_one():
    flow = flow_from(Flow(start=YTCaptions()), variables={"__file__": "/x/app.py"})
    hint = no_such_type("yt-captions").hint
    assert hint.startswith(f"its class is in {__file__} alone: pflow run /x/app.py runs it; ")
    assert steps(flow) == [("yt-captions", "yt-captions")]
    assert flow.warnings == [
        "no node is called 'YTCaptions': put the class into yt_captions.py in a directory on PFLOW_NODES"
    ]


@pytest.mark.parametrize("names", [("ReadFile", "read-file-2"), ("LLMNode", "llm-node-2"), ("Stdin", "step")])
def test_no_class_of_ones_own_becomes_another_of_its_name(names):
    """Neither a node of pflow's, nor one of one's own from another module."""
    one, other = (type(names[0], (Node,), {"__module__": __name__})() for _ in range(2))
    one >> other
    flow = flow_from(Flow(start=one))
    first, second = [step.type for step in flow.steps]
    assert first == names[1]
    assert second not in (first, "read-file", "llm")
    assert f"put the class into {second.replace('-', '_')}.py" in flow.warnings[1]


def test_a_flow_inside_a_flow_becomes_part_of_it_and_goes_on_where_it_ends():
    before, inside, more, after, failed = ReadFile(), Judge(), Llm(), WriteFile(), ReadFile()
    inside - "more" >> more
    inner = Flow(start=inside)
    before >> inner
    inner >> after
    inner - "more" >> failed
    assert edges(flow_from(Flow(start=before))) == [
        ("read-file", "judge", "default"),
        ("judge", "llm", "more"),
        ("judge", "write-file", "default"),
        ("llm", "write-file", "default"),
        ("llm", "read-file-2", "more"),
    ]


def test_a_way_back_into_a_flow_leads_to_its_first_step():
    first, last = Judge(), Llm()
    inner = Flow(start=first)
    inner >> last
    last - "again" >> inner
    assert ("llm", "judge", "again") in edges(flow_from(Flow(start=inner)))


def test_a_node_in_two_flows_is_a_step_in_each():
    shared, after = Judge(), Llm()
    one, two = Flow(start=shared), Flow(start=shared)
    one >> two
    two >> after
    assert edges(flow_from(Flow(start=one))) == [
        ("judge", "judge-2", "default"),
        ("judge-2", "llm", "default"),
    ]


def test_an_async_flow_is_a_flow():
    assert steps(flow_from(AsyncFlow(start=ReadFile()))) == [("read-file", "read-file")]


def test_pflows_own_flow_is_a_flow():
    assert steps(flow_from(pflow.Flow(start=ReadFile()))) == [("read-file", "read-file")]


def test_a_node_whose_exec_is_never_called_is_warned_of():
    flow = flow_from(Flow(start=ReadFile(max_retries=0)))
    assert flow.warnings == ["'read-file' has max_retries=0: pocketflow never calls its exec, pflow does"]


class WithPrep(Flow):
    def prep(self, shared):
        shared["x"] = 1


class WithPost(AsyncFlow):
    async def post_async(self, shared, prepared, done):
        return "other"


class Many(BatchFlow):
    def prep(self, shared):
        return [{}, {}]


@pytest.mark.parametrize(
    ("flow", "why"),
    [
        (Flow(), "cannot use Flow: it has no start node"),
        (WithPrep(start=ReadFile()), "cannot use WithPrep: it overrides prep"),
        (WithPost(start=ReadFile()), "cannot use WithPost: it overrides post_async"),
        (Many(start=ReadFile()), "cannot use Many: it runs its nodes once for each item of a batch"),
        (BatchFlow(start=ReadFile()), "cannot use BatchFlow: it runs its nodes once for each item of a batch"),
    ],
)
def test_a_flow_that_does_more_than_walk_is_refused(flow, why):
    with pytest.raises(PflowError) as caught:
        flow_from(flow)
    assert (caught.value.message, caught.value.exit) == (why, 65)


def test_a_flow_that_stands_inside_itself_is_refused():
    flow = Flow()
    flow.start(flow)
    with pytest.raises(PflowError, match="it contains itself"):
        flow_from(flow)


def test_a_long_chain_and_deep_flows_are_no_matter():
    nodes = [ReadFile() for _ in range(2000)]
    for one, other in pairwise(nodes):
        one >> other
    assert len(flow_from(Flow(start=nodes[0])).steps) == 2000
    flow = Flow(start=ReadFile())
    for _ in range(100):
        flow = Flow(start=flow)
    assert len(flow_from(flow).steps) == 1


def test_what_comes_out_loads_as_the_same_flow():
    read, ask = ReadFile(), Llm(max_retries=2)
    ask.set_params({"system": "$x"})
    read - "later" >> ask
    flow = flow_from(Flow(start=read))
    loaded = load_text(json.dumps(flow_to_ir(flow)), "x").usable()
    assert flow_to_ir(loaded) == flow_to_ir(flow)
    assert pocketflow.Flow is Flow
