"""pflow.Flow: pocketflow's Flow, in which nodes keep their params."""

import pocketflow

from pflow import Flow


class Note(pocketflow.Node):
    def post(self, shared, prepared, result):
        shared.setdefault("seen", []).append(dict(self.params))
        self.mark = True
        return self.params.get("action")


def node(**params):
    made = Note()
    made.set_params(params)
    return made


def test_nodes_keep_their_params():
    a, b = node(x=1), node(x=2)
    a >> b
    shared = {}
    Flow(start=a).run(shared)
    assert shared["seen"] == [{"x": 1}, {"x": 2}]


def test_the_flows_params_go_over_the_nodes_own():
    a = node(x=1, y=1)
    flow = Flow(start=a)
    flow.set_params({"x": 5})
    shared = {}
    flow.run(shared)
    assert shared["seen"] == [{"x": 5, "y": 1}]


def test_actions_choose_the_edge_and_each_visit_has_a_copy():
    a, b, c = node(action="on"), node(action="back"), node()
    a - "on" >> b
    b - "back" >> c
    shared = {}
    assert Flow(start=a).run(shared) is None
    assert [each.get("action") for each in shared["seen"]] == ["on", "back", None]
    assert not hasattr(a, "mark")


def test_a_flow_is_a_node():
    inner = Flow(start=node(x=1, action="out"))
    after = node(x=2)
    inner - "out" >> after
    shared = {}
    Flow(start=inner).run(shared)
    assert [each["x"] for each in shared["seen"]] == [1, 2]
