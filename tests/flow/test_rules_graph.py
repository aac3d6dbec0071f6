"""PF12, the flow as a graph: ids, edges, reach, loops, forks and actions."""

import pytest

from tests.flow.checked import edges, errors, flow, found, only, told

FORK = edges("fetch a", "fetch b", "a save", "b save")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (flow("a:ask", "b:judge"), []),
        (flow("a:ask", "a:judge"), ["PF12 nodes[1].id"]),
        (flow("a:ask", "b:save", "a:ask", "a:ask"), ["PF12 nodes[2].id", "PF12 nodes[3].id"]),
        (flow("1st:ask"), ["PF12 nodes[0].id"]),
        (flow("läs:ask"), ["PF12 nodes[0].id"]),
        (flow("a b:ask"), ["PF12 nodes[0].id"]),
        (flow("a.b:ask"), ["PF12 nodes[0].id"]),
        (flow("as-k_2:ask"), []),
        (flow("stdin:ask"), ["PF05 nodes[0].id"]),
    ],
)
def test_ids_are_names_and_unique(document, expected):
    assert found(document) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["ask judge"], []),
        (["ask judg"], ["PF12 edges[0].to"]),
        (["aks judge"], ["PF12 edges[0].from"]),
        (["ask judge", "judge nowhere"], ["PF12 edges[1].to"]),
        ([], ["PF12 nodes[1]"]),
    ],
)
def test_an_edge_between_unknown_steps_is_one_finding(written, expected):
    assert found(flow("ask", "judge", edges=edges(*written))) == expected


def test_an_unknown_step_is_named_with_the_nearest():
    finding = only(flow("ask", "judge", edges=edges("ask jugde")))
    assert finding == "edges[0].to: PF12: no step is called 'jugde'; did you mean judge?"


def test_mappings_of_an_unknown_step_are_one_finding():
    document = flow("fetch", "ask", mappings={"aks": {"input_mappings": {"prompt": "fetch.issue_data.body"}}})
    assert only(document) == "mappings.aks: PF12: no step is called 'aks'; did you mean ask?"
    assert found({**document, "inputs": {"issue_number": {"type": "int"}}}) == ["PF12 mappings.aks"]


def test_only_the_first_of_the_steps_that_are_not_reached_is_named():
    nodes = ["a:fetch", "b:ask", "c:ask", "d:save"]
    assert found(flow(*nodes, edges=edges("b c", "c d"))) == ["PF12 nodes[1]"]
    assert found(flow(*nodes, edges=edges("a b", "c d", "d c"))) == ["PF12 nodes[2]"]
    assert found(flow(*nodes, edges=edges("a d"))) == ["PF12 nodes[1]", "PF12 nodes[2]"]


@pytest.mark.parametrize(
    ("nodes", "written", "expected"),
    [
        (["a:ask", "b:save"], ["a b", "b a"], ["PF12 nodes[0]"]),
        (["a:ask"], ["a a"], ["PF12 nodes[0]"]),
        (["a:ask", "b:save", "c:fetch"], ["a b", "b a", "b error c"], []),
        (["a:ask", "b:judge"], ["a b", "b failed a"], ["PF12? nodes[1]"]),
        (["a:ask", "b:judge", "c:save"], ["a b", "b failed a", "b c"], []),
        (["a:ask", "b:anything"], ["a b", "b a"], ["PF11? nodes[1].type"]),
    ],
)
def test_a_loop_has_a_way_out(nodes, written, expected):
    assert found(flow(*nodes, edges=edges(*written))) == expected


def test_a_loop_is_told_by_its_steps():
    assert "the loop a → b → a has no way out" in only(flow("a:ask", "b:save", edges=edges("a b", "b a")))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([], []),
        (["a failed end"], []),
        (["c error end"], []),
        (["a failed c"], ["PF12 edges[5]"]),
        (["j failed c"], ["PF12 edges[6]"]),
        (["a failed j"], ["PF12 edges[0]"]),
    ],
)
def test_branches_of_a_fork_are_entered_at_their_starts_and_left_where_they_meet(more, expected):
    nodes = ["j:judge", "fetch", "a:judge", "b:anything", "c:anything", "end:anything"]
    written = edges("j fetch", "fetch a", "fetch b", "a end", "b c", "c end", *more)
    assert errors(flow(*nodes, edges=written)) == expected


def test_edges_between_branches_are_one_finding():
    document = flow("fetch", "a:ask", "b:ask", "save", edges=[*FORK, *edges("a b")])
    assert len(found(document)) == 1
    assert found(document)[0].startswith("PF12 edges[")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["ask judge"], []),
        (["ask judge", "judge failed ask"], ["PF12? nodes[1]"]),
        (["ask judge", "judge failed ask", "judge error ask"], ["PF12? nodes[1]"]),
        (["ask judge", "judge default ask", "judge failed ask", "ask error judge"], []),
        (["ask judge", "judge fialed ask", "judge default ask"], ["PF12? edges[1].action"]),
        (["ask judge", "ask maybe judge"], ["PF12? edges[1].action"]),
    ],
)
def test_actions_that_end_the_flow_or_never_come_are_warnings(written, expected):
    assert [each for each in found(flow("ask", "judge", edges=edges(*written))) if "?" in each] == expected


def test_an_action_that_never_comes_is_named_with_the_nearest():
    document = flow("ask", "judge", "save", edges=edges("ask judge", "judge fialed ask", "judge save"))
    assert "edges[1].action: PF12: warning: 'judge' never returns 'fialed'; did you mean failed?" in told(document)


def test_a_flow_without_nodes_is_one_finding():
    assert len(found({"nodes": []})) == 1
    assert len(found({})) == 1
