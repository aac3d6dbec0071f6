"""Ids and edges, loops and forks."""

from tests.flow.checked import edges, flow, found, only, told
from tests.flow.rules.flows import FORK, has_errors, has_just, says

SHELL = {"id": "b", "type": "shell", "inputs": {"command": "true"}}
CHOICE = {"id": "c", "type": "choose", "inputs": {"words": ["a"]}}

GRAPH = [
    (flow("a:query", "b:judge"), []),
    (flow("a:query", "b:save", "a:query", "a:query"), ["PF12 nodes[2].id", "PF12 nodes[3].id"]),
    *((flow(f"{id}:query"), ["PF12 nodes[0].id"]) for id in ("1st", "läs", "a b", "a.b")),
    (flow("as-k_2:query"), []),
    (flow("query", "judge", edges=edges("query judg")), ["PF12 edges[0].to"]),
    (flow("query", "judge", edges=edges("query judge", "nowhere judge")), ["PF12 edges[1].from"]),
    (flow("query", "judge", edges=[]), ["PF12 nodes[1]"]),
    (flow("a:fetch", "b:query", "c:query", "d:save", edges=edges("b c", "c d")), ["PF12 nodes[1]"]),
    (flow("a:fetch", "b:query", "c:query", "d:save", edges=edges("a b", "c d", "d c")), ["PF12 nodes[2]"]),
    (
        flow("a:fetch", "b:query", "c:query", "d:save", edges=edges("a d")),
        ["PF12 nodes[1]", "PF12 nodes[2]", "PF03? nodes[3]"],
    ),
    (flow("a:query", "b:save", edges=edges("a b", "b a")), ["PF12 nodes[0]", "PF03? nodes[1]"]),
    (flow("a:query", edges=edges("a a")), ["PF12 nodes[0]"]),
    (flow("a:query", "b:save", "c:fetch", edges=edges("a b", "b a", "b error c")), ["PF03? nodes[1]"]),
    (flow("a:query", "b:judge", edges=edges("a b", "b failed a")), ["PF12? nodes[1]"]),
    (flow("a:query", "b:judge", "c:save", edges=edges("a b", "b failed a", "b c")), []),
    (flow("a:query", "b:anything", edges=edges("a b", "b a")), ["PF11? nodes[1].type"]),
    (
        flow("query", "judge", edges=edges("query judge", "judge default query", "judge failed query")),
        ["PF12 nodes[0]"],
    ),
    (flow("query", "judge", edges=edges("query judge", "query maybe judge")), ["PF12? edges[1].action"]),
    *(
        (flow({"id": "c", "type": "choose", **given}, SHELL, edges=edges("c error b", *taken)), expected)
        for given, taken, expected in (
            ({"inputs": {"words": ["yes", "no"]}}, ["c yes b", "c no b"], []),
            (
                {"inputs": {"words": ["a", "b"]}},
                ["c on b", "c default b"],
                ["PF12 edges[1].action", "PF12 edges[2].action"],
            ),
            ({"inputs": {"words": ["yes", "$names"]}}, ["c maybe b"], []),
            ({"inputs": {"words": "$names"}}, ["c maybe b"], []),
            ({"inputs": {"words": ["yes"]}, "batch": {"over": "names"}}, ["c yes b"], ["PF12 edges[1].action"]),
            ({"type": "llm", "inputs": {"prompt": "p"}}, ["c yes b"], ["PF12 edges[1].action"]),
            ({"type": "flow", "nodes": [CHOICE]}, ["c a b", "c b b"], ["PF12 edges[2].action"]),
        )
    ),
    ({"nodes": []}, ["PF00 nodes"]),
]

FORKED = ["j:judge", "fetch", "a:judge", "b:anything", "c:anything", "end:anything"]
BRANCHES = ["j fetch", "fetch a", "fetch b", "a end", "b c", "c end"]
FORKS = [
    *(
        (flow(*FORKED, edges=edges(*BRANCHES, *more)), expected)
        for more, expected in (
            ([], []),
            (["a failed end"], []),
            (["c error end"], []),
            (["a failed c"], ["PF12 edges[5]"]),
            (["j failed c"], ["PF12 edges[6]"]),
            (["a failed j"], ["PF12 edges[0]"]),
        )
    ),
]

WORDS = [
    (
        flow("query", "judge", edges=edges("query jugde")),
        "edges[0].to: PF12: no step is called 'jugde'; did you mean judge?",
    ),
    (flow("query", mappings={"qurey": {}}), "mappings.qurey: PF12: no step is called 'qurey'; did you mean query?"),
    (flow("a:query", "b:save", edges=edges("a b", "b a")), "the loop a → b → a has no way out"),
]


test_a_flow_has_just_these_findings = has_just(GRAPH)
test_a_flow_with_a_fork_has_just_these_errors = has_errors(FORKS)
test_a_finding_says_what_is_wrong_and_what_to_do = says(WORDS)


def test_an_action_that_never_comes_is_named_with_the_nearest():
    document = flow("query", "judge", "save", edges=edges("query judge", "judge fialed query", "judge save"))
    assert "edges[1].action: PF12: 'judge' never returns 'fialed'; did you mean failed?" in told(document)


def test_an_edge_for_an_answer_is_refused_with_the_way_to_branch_on_it():
    document = flow("a:llm", "b:llm", edges=edges("a yes b", "a no b", "a error b"), inputs={"prompt": {}})
    way = "to branch on its answer: 'a => choose:answer yes no; answer =yes=> …'"
    assert f"edges[0].action: PF12: 'a' never returns 'yes'; {way}" in told(document)


def test_edges_between_branches_are_one_finding():
    (finding,) = found(flow("fetch", "a:query", "b:query", "save", edges=[*FORK, *edges("a b")]))
    assert finding.startswith("PF12 edges[")


def test_a_long_loop_is_named_by_its_first_steps():
    def loop_of(size):
        ids = [f"s{n}" for n in range(size)]
        ring = edges(*(f"{one} {other}" for one, other in zip(ids, [*ids[1:], ids[0]], strict=True)))
        (finding,) = [each for each in told(flow(*(f"{id}:query" for id in ids), edges=ring)) if "the loop" in each]
        return finding

    assert "the loop s0 → s1 → s2 → s3 → s4 → s5 → s6 → s7 → s0 has no way out" in loop_of(8)
    assert "the loop s0 → s1 → s2 → s3 → s4 → s5 → s6 → s7 → … has no way out" in loop_of(9)


def test_an_edge_that_enters_a_branch_is_named():
    document = flow("fetch", "a:query", "b:query", "save", edges=[*FORK, *edges("a b")])
    assert "the edge from 'b' to 'save' enters a branch of the fork at 'fetch'" in only(document)
