"""The graph of a flow: what leads where, its loops, its forks and where their branches meet."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.flow.flow import Edge
from pflow.flow.graph import Graph


def graph(steps: str, *edges: str) -> Graph:
    """A graph of steps with one letter; `ab` is an edge from a to b, `ab:bad` one for an action."""
    parted = [edge.partition(":") for edge in edges]
    return Graph(list(steps), [Edge(ends[0], ends[1], action or "default") for ends, _, action in parted])


def only_fork(found: Graph):
    (fork,) = found.forks()
    return fork


def test_the_first_step_starts_and_edges_go_by_action():
    found = graph("abc", "ab", "ac:bad", "ab:worse")
    assert found.first == "a"
    assert found.next["a"] == {"default": ["b"], "bad": ["c"], "worse": ["b"]}
    assert found.after("a") == ["b", "c"]


def test_a_graph_without_steps_is_empty():
    empty = Graph([], [])
    assert (empty.first, empty.order, empty.loops(), empty.forks(), empty.reach(None)) == (None, [], [], [], {})


def test_edges_of_unknown_steps_and_edges_that_stand_twice_are_left_out():
    found = graph("ab", "ab", "ab", "ax", "xb")
    assert found.next == {"a": {"default": ["b"]}, "b": {}}
    assert found.before == {"a": [], "b": ["a"]}


def test_reach_counts_edges_and_goes_past_no_stop():
    found = graph("abcdx", "ab", "bc", "cd", "ad:far", "da:back")
    assert found.reach("a") == {"a": 0, "b": 1, "d": 1, "c": 2}
    assert found.reach("b", "c") == {"b": 0, "c": 1}


@pytest.mark.parametrize(
    ("found", "order"),
    [
        (graph("abc", "ab", "bc"), "abc"),
        (graph("acb", "ab", "bc"), "abc"),
        (graph("abcd", "ab", "ac", "bd", "cd"), "abcd"),
        (graph("abc", "ab"), "ab"),
        (graph("abc", "ab", "bc", "ca:back"), "abc"),
        (graph("a", "aa:again"), "a"),
    ],
)
def test_a_step_comes_after_those_that_lead_to_it(found, order):
    assert "".join(found.order) == order


def test_a_thousand_steps_have_an_order():
    ids = [str(n) for n in range(1000)]
    chain = Graph(ids, [Edge(one, other) for one, other in pairwise(ids)])
    assert chain.order == ids


@pytest.mark.parametrize(
    ("found", "loops"),
    [
        (graph("abc", "ab", "bc"), []),
        (graph("abc", "ab", "ba:back", "bc"), ["ab"]),
        (graph("a", "aa:again"), ["a"]),
        (graph("abcd", "ab", "bb:again", "bc", "cd", "dc:back"), ["b", "cd"]),
        (graph("abc", "ab", "ba:one", "bc", "ca:two"), ["abc"]),
        (graph("abcd", "ab", "cd", "dc"), []),
        (graph("az", "za"), []),
    ],
)
def test_a_loop_holds_the_steps_that_lead_to_one_another(found, loops):
    assert ["".join(loop) for loop in found.loops()] == loops


@pytest.mark.parametrize(
    ("found", "branches", "meet"),
    [
        (graph("abcd", "ab", "ac", "bd", "cd"), [{"b"}, {"c"}], "d"),
        (graph("abcdx", "ab", "ac", "bx", "xd", "cd"), [{"b", "x"}, {"c"}], "d"),
        (graph("abc", "ab", "ac"), [{"b"}, {"c"}], None),
        (graph("abcd", "ab", "ac", "ad"), [{"b"}, {"c"}, {"d"}], None),
        (graph("abc", "ab", "ac", "bc"), [{"b"}, set()], "c"),
        (graph("abcde", "ab", "ac", "bd", "cd", "de"), [{"b"}, {"c"}], "d"),
        (graph("abcxde", "ab", "ac", "bd", "bx:bad", "xd", "cd", "de"), [{"b", "x"}, {"c"}], "d"),
        (graph("abcde", "ab", "ac", "bb:again", "bd", "cd", "de"), [{"b"}, {"c"}], "d"),
    ],
)
def test_a_fork_has_its_branches_and_the_nearest_step_that_all_lead_to(found, branches, meet):
    fork = only_fork(found)
    assert (fork.source, fork.action, fork.branches, fork.meet) == ("a", "default", branches, meet)
    assert fork.starts == sorted(found.next["a"]["default"])


@pytest.mark.parametrize("length", [1, 2, 3, 4, 9])
def test_a_fork_inside_a_loop_meets_before_the_loop_goes_back(length):
    long = [f"b{n}" for n in range(length)]
    ids = ["fork", *long, "c", "meet", "end"]
    edges = [Edge("fork", "b0"), Edge("fork", "c"), Edge("c", "meet"), Edge(long[-1], "meet"), Edge("meet", "end")]
    edges += [Edge(one, other) for one, other in pairwise(long)]
    fork = only_fork(Graph(ids, [*edges, Edge("meet", "fork", "again")]))
    assert (fork.meet, fork.branches) == ("meet", [set(long), {"c"}])


def test_two_edges_for_two_actions_are_no_fork():
    assert graph("abc", "ab", "ac:bad").forks() == []


def test_forks_may_be_nested_and_may_stand_at_any_action():
    found = graph("abcdefg", "ab:go", "ac:go", "bd", "be", "df", "ef", "fg", "cg")
    outer, inner = found.forks()
    assert (outer.source, outer.action, outer.branches, outer.meet) == ("a", "go", [set("bdef"), {"c"}], "g")
    assert (inner.source, inner.branches, inner.meet) == ("b", [{"d"}, {"e"}], "f")


@pytest.mark.parametrize(
    ("found", "crossing"),
    [
        (graph("abcd", "ab", "ac", "bd", "cd"), []),
        (graph("abc", "ab", "ac"), []),
        (graph("abcde", "ab", "ac", "bd", "cd", "de"), []),
        (graph("xabcd", "xa", "ab", "ac", "bd", "cd", "xb:jump"), [("x", "b")]),
        (graph("abcd", "ab", "ac", "bd", "cd", "db:back"), [("d", "b")]),
        (graph("abcd", "ab", "ac", "bd", "cd", "ba:back"), [("b", "a")]),
    ],
)
def test_edges_that_enter_or_leave_a_branch_elsewhere_are_named(found, crossing):
    assert found.open_edges(only_fork(found)) == crossing


def test_an_error_edge_to_a_step_that_leads_to_the_meeting_stays_in_its_branch():
    fork = only_fork(graph("abcxd", "ab", "ac", "bd", "bx:error", "xd", "cd"))
    assert (fork.branches, fork.meet, fork.exits) == ([{"b", "x"}, {"c"}], "d", [])


@pytest.mark.parametrize("edges", [["bx:error"], ["bx:error", "cx:error"], ["bx:error", "cx:error", "xd"]])
def test_an_error_edge_that_leads_elsewhere_or_is_shared_is_an_exit(edges):
    found = graph("abcdx", "ab", "ac", "bd", "cd", *edges)
    fork = only_fork(found)
    assert (fork.branches, fork.meet) == ([{"b"}, {"c"}], "d")
    assert fork.exits == [(edge[0], "x") for edge in edges if edge.endswith("error")]
    assert found.open_edges(fork) == []


def test_round_a_loop_a_step_comes_only_after_the_first_visit():
    found = graph("abcdx", "ab", "bc", "cb:again", "cd", "bx:failed", "xb")
    assert [id for id in "abcdx" if found.may_precede_first(id, "b")] == ["a"]
    assert [id for id in "abcdx" if found.may_precede_first(id, "c")] == ["a", "b", "x"]
    assert [id for id in "abcdx" if found.may_precede_first(id, "d")] == ["a", "b", "c", "x"]


def test_a_step_of_a_loop_that_another_edge_leads_to_may_come_first():
    found = graph("abcd", "ab", "ac:other", "bc", "cb", "cd:done")
    pairs = [("b", "c"), ("c", "b"), ("b", "a")]
    assert [found.may_precede_first(*pair) for pair in pairs] == [True, True, False]


ids = st.sampled_from("abcdefgh")
graphs = st.lists(st.tuples(ids, ids, st.sampled_from(["default", "x", "y"])), max_size=16).map(
    lambda edges: Graph(list("abcdefgh"), [Edge(*edge) for edge in edges])
)


@given(graphs)
def test_the_order_has_each_reached_step_once(found):
    assert sorted(found.order) == sorted(found.reach("a"))


@given(graphs)
def test_without_loops_every_edge_goes_forward_in_the_order(found):
    order = found.order
    backward = [id for id in order for target in found.after(id) if order.index(target) <= order.index(id)]
    assert bool(backward) == bool(found.loops())


@given(graphs)
def test_loops_are_the_steps_that_can_return_to_themselves(found):
    reached = found.reach("a")
    beyond = {id: {step for after in found.after(id) for step in found.reach(after)} for id in reached}
    assert sorted(step for loop in found.loops() for step in loop) == sorted(id for id in reached if id in beyond[id])
    for loop in found.loops():
        assert all(other in beyond[one] for one in loop for other in loop)
