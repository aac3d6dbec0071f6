"""Steps and branches that write over one another."""

from tests.flow.checked import edges, flow, found, told
from tests.flow.rules.flows import LOAD, SAVE, fork, has_errors, has_just, node, says, to

CHOICE = ["j:judge", "a:query", "b:query", "c:save"]
WRITES = [
    # what nobody reads afterwards may be overwritten
    (flow("a:query", "b:query", mappings=to(a="x.a", b="x.b")), []),
    (flow("a:query", "b:query", mappings=to(a="x.a", b="x.b"), outputs={"it": "x"}), []),
    (flow("a:query", "b:query", mappings=to(a="x.a", b="x.b"), outputs={"it": "used"}), ["PF16? nodes[1]"]),
    (flow("a:query", "b:query", "c:query", mappings=to(a="x.a", b="x.b", c="x.c")), []),
    *(
        (
            flow("a:query", "b:query", mappings=to(a=a, b=b)),
            ["PF06 mappings.b.output_mappings.answer"],
        )
        for a, b in (("x", "x"), ("x", "x.y"), ("x.y", "x"), ("x/y", "x.y.z"))
    ),
    (
        flow("a:query", mappings={"a": {"output_mappings": {"answer": "x", "used": "x.used"}}}),
        ["PF06 mappings.a.output_mappings.used"],
    ),
    (
        flow("a:query", mappings={"a": {"output_mappings": {"answer": "x.answer", "used": "x"}}}),
        ["PF06 mappings.a.output_mappings.used"],
    ),
    (
        flow(
            "a:query",
            "b:query",
            "c:judge",
            mappings={"c": {"input_mappings": {"answer": "a.answer"}}, **to(b="a.answer")},
        ),
        ["PF06 mappings.b.output_mappings.answer"],
    ),
    *(
        (flow(*CHOICE, edges=edges(*ways), mappings=mappings), [])
        for ways in (["j a", "j failed b", "a c", "b c"],)
        for mappings in (to(a="draft", b="draft"), {})
    ),
    (
        flow("a:query", "b:query", "j:judge", edges=edges("a b", "b j", "j failed a"), mappings=to(a="x", b="x")),
        ["PF03? nodes[2]", "PF12? nodes[2]", "PF06 mappings.b.output_mappings.answer"],
    ),
    (flow("a:query", "b:query", "c:query"), ["PF16? nodes[1]", "PF16? nodes[2]"]),
    (flow("a:query", "b:judge"), []),
    (flow("a:query", "b:query", mappings=to(a="x"), outputs={"it": "x"}), []),
    (flow("a:query", "b:query", mappings=to(b="answer"), outputs={"it": "answer"}), []),
    (flow("a:query", "b:query", mappings=to(a="answer")), ["PF16? nodes[1]"]),
    (flow(LOAD, "b:query", SAVE, mappings=to(b="content.x")), ["PF16? nodes[1]"]),
    (flow("a:query", "b:query", "j:judge", mappings={"j": {"input_mappings": {"answer": "a.answer"}}}), []),
    (
        flow(
            "a:query", {**SAVE, "inputs": {"content": "$used", "path": "p"}}, "b:query", mappings=to(a="x.a", b="x.b")
        ),
        [],
    ),
    (
        flow(
            "a:query", "b:query", {**SAVE, "inputs": {"content": "$used", "path": "p"}}, mappings=to(a="x.a", b="x.b")
        ),
        ["PF16? nodes[1]"],
    ),
]

FORKS = [
    (fork("a:judge", "b:query", mappings={"a": {"input_mappings": {"answer": "x"}}}), []),
    (fork("a:query", "b:query"), ["PF06 nodes[2]"]),
    (fork("a:query", "b:query", mappings=to(b="b.answer")), ["PF06 nodes[2]"]),
    (fork("a:query", "b:query", mappings={"b": {"output_mappings": {"answer": "b.answer", "used": "b.used"}}}), []),
    (
        fork("a:query", "b:query", mappings={"b": {"output_mappings": {"answer": "used", "used": "u"}}}),
        ["PF06 nodes[2]"],
    ),
    (fork("a:judge", "b:query"), ["PF06 nodes[1]"]),
    (fork("a:judge", "b:query", mappings=to(b="x")), []),
    (
        fork(
            *({"id": id, "type": "load", "inputs": {"path": id}} for id in "ab"),
            mappings={id: {"output_mappings": {"content": f"{id}_content"}} for id in "ab"},
        ),
        [],
    ),
]

WORDS = [
    (
        flow("a:query", "b:judge", mappings={**to(a="x"), "b": {"output_mappings": {"verdict": "x.y"}}}),
        "'b' writes 'verdict', and 'a' 'answer', to 'x.y'; write one to b.verdict",
    ),
    (
        flow("a:query", "b:query"),
        "nodes[1]: PF16: warning: 'b' writes 'answer' over the value from 'a'; "
        '"mappings": {"b": {"output_mappings": {"answer": "b.answer"}}}',
    ),
    (
        flow("a:query", "b:query", mappings=to(a="x.a"), outputs={"both": "template:${used} ${answer}"}),
        "nodes[1]: PF16: warning: 'b' writes 'used' over the value from 'a'; "
        '"mappings": {"b": {"output_mappings": {"used": "b.used"}}}',
    ),
    (
        fork("a:query", "b:query"),
        "nodes[2]: PF06: 'b' and 'a' write 'answer' and 'used', in two branches of the fork at 'fetch'; "
        '"mappings": {"b": {"output_mappings": {"answer": "b.answer", "used": "b.used"}}}',
    ),
    (
        fork("a:query", {"id": "b", "type": "both"}),
        "nodes[2]: PF06: 'b' reads 'answer' and 'used', which 'a' writes in another branch; read them after the",
    ),
]


test_a_flow_has_just_these_findings = has_just(WRITES)
test_a_flow_with_a_fork_has_just_these_errors = has_errors(FORKS)
test_a_finding_says_what_is_wrong_and_what_to_do = says(WORDS)


def test_of_two_open_nodes_in_a_fork_nobody_knows_whether_they_meet():
    (finding,) = [each for each in told(fork("a:anything", "b:anything")) if "PF06" in each]
    assert finding == (
        "nodes[2]: PF06: warning: 'a' and 'b' may write the same keys, in two branches of the fork at "
        "'fetch'; declare their writes in an 'Interface:' block of their nodes' files"
    )
    assert not [each for each in told(fork("a:anything", "b:judge")) if "PF06" in each]


def test_a_by_product_that_nobody_reads_may_be_overwritten_whatever_it_is_called():
    files = node(
        "Two", 'Writes: shared["main"]: str [pipe]', 'Writes: shared["extra"]: str', 'Writes: shared["other"]: str'
    )
    apart = {id: {"output_mappings": {"main": f"{id}.main"}} for id in ("a", "b")}
    assert found(flow("a:two", "b:two", mappings=apart, outputs={"it": "a.main"}), files) == []
    assert found(flow("a:two", "b:two"), files) == ["PF16? nodes[1]"]
