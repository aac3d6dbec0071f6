"""PF06 and PF16: writes that meet, one after the other and in the branches of a fork."""

import pytest

from tests.flow.checked import edges, errors, flow, found, only


def to(**targets):
    """Mappings of each step's answer."""
    return {id: {"output_mappings": {"answer": path}} for id, path in targets.items()}


@pytest.mark.parametrize(
    ("mappings", "expected"),
    [
        (to(a="x", b="y"), []),
        (to(a="x.a", b="x.b"), []),
        (to(a="x", b="x"), ["PF06 mappings.b.output_mappings.answer"]),
        (to(a="x", b="x.y"), ["PF06 mappings.b.output_mappings.answer"]),
        (to(a="x.y", b="x"), ["PF06 mappings.b.output_mappings.answer"]),
        (to(a="x/y", b="x.y.z"), ["PF06 mappings.b.output_mappings.answer"]),
    ],
)
def test_targets_of_steps_that_follow_one_another_never_meet(mappings, expected):
    assert errors(flow("a:ask", "b:ask", mappings=mappings)) == expected


def test_targets_of_one_step_never_meet():
    mappings = {"a": {"output_mappings": {"answer": "x", "used": "x.used"}}}
    assert found(flow("a:ask", mappings=mappings)) == ["PF06 mappings.a.output_mappings.used"]


def test_a_place_that_a_path_gives_a_step_is_a_target_too():
    mappings = {"c": {"input_mappings": {"answer": "a.answer"}}, **to(b="a.answer")}
    assert errors(flow("a:ask", "b:ask", "c:judge", mappings=mappings)) == ["PF06 mappings.b.output_mappings.answer"]


def test_where_they_meet_is_told():
    finding = only(flow("a:ask", "b:judge", mappings={**to(a="x"), "b": {"output_mappings": {"verdict": "x.y"}}}))
    assert "'b' writes 'verdict', and 'a' 'answer', to 'x.y'; b.verdict is a place of its own" in finding


ALTERNATIVES = ["j:judge", "a:ask", "b:ask", "c:save"]


@pytest.mark.parametrize(
    ("nodes", "written"),
    [
        (ALTERNATIVES, ["j a", "j failed b", "a c", "b c"]),
        (ALTERNATIVES, ["j a", "j failed b", "a j", "b j"]),
        (["a:ask", "j:judge", "b:ask"], ["a j", "j failed b", "b j"]),
        (["a:ask", "b:ask", "j:judge"], ["a b", "b j", "j failed b"]),
    ],
)
def test_alternative_edges_and_ways_back_may_meet(nodes, written):
    for mappings in (to(a="draft", b="draft"), {}):
        assert [
            each for each in found(flow(*nodes, edges=edges(*written), mappings=mappings)) if "PF12" not in each
        ] == []


def test_two_steps_of_a_loop_that_follow_one_another_may_not():
    document = flow("a:ask", "b:ask", "j:judge", edges=edges("a b", "b j", "j failed a"))
    assert errors({**document, "mappings": to(a="x", b="x")}) == ["PF06 mappings.b.output_mappings.answer"]


@pytest.mark.parametrize(
    ("nodes", "mappings", "expected"),
    [
        (["a:ask", "b:ask"], {}, ["PF16? nodes[1]"]),
        (["a:ask", "b:ask", "c:ask"], {}, ["PF16? nodes[1]", "PF16? nodes[2]"]),
        (["a:ask", "b:judge"], {}, []),
        (["a:ask", "b:ask"], to(a="x"), []),
        (["a:ask", "b:ask"], to(b="x"), []),
        (["a:ask", "b:ask"], to(b="answer"), []),
        (["a:ask", "b:ask"], to(a="answer"), ["PF16? nodes[1]"]),
        (["load", "b:ask", "save"], to(b="content"), []),
        (["load", "b:ask", "save"], to(b="content.x"), ["PF16? nodes[1]"]),
        (["a:ask", "b:ask", "j:judge"], {"j": {"input_mappings": {"answer": "a.answer"}}}, []),
    ],
)
def test_a_step_that_writes_over_another_one_is_a_warning(nodes, mappings, expected):
    nodes = [{"id": id, "type": id, "inputs": {"path": "p"}} if id in ("load", "save") else id for id in nodes]
    assert found(flow(*nodes, mappings=mappings)) == expected


def test_what_is_written_over_comes_with_the_mapping_that_prevents_it():
    assert only(flow("a:ask", "b:ask")) == (
        "nodes[1]: PF16: warning: 'b' writes 'answer' and 'used' over what 'a' wrote; "
        '"mappings": {"b": {"output_mappings": {"answer": "b.answer"}}}'
    )


def test_a_by_product_that_somebody_reads_is_none():
    nodes = ["a:ask", "b:ask", {"id": "c", "type": "save", "inputs": {"content": "took $used", "path": "p"}}]
    mappings = to(a="a.answer", b="b.answer")
    assert found(flow(*nodes, mappings=mappings)) == ["PF16? nodes[1]"]


def test_nothing_can_be_written_inside_a_text():
    nodes = ["a:ask", "b:judge", "answer:ask", "c:judge"]
    mappings = {"c": {"input_mappings": {"answer": "answer.answer"}}}
    assert "PF06 nodes[2]" in errors(flow(*nodes, mappings=mappings))


FORK = edges("fetch a", "fetch b", "a save", "b save")


def fork(*nodes, **members):
    save = {"id": "save", "type": "save", "inputs": {"path": "p", "content": "c"}}
    return flow("fetch", *nodes, save, edges=FORK, **members)


@pytest.mark.parametrize(
    ("nodes", "mappings", "expected"),
    [
        (["a:judge", "b:ask"], {"a": {"input_mappings": {"answer": "x"}}}, []),
        (["a:ask", "b:ask"], {}, ["PF06 nodes[2]"]),
        (["a:ask", "b:ask"], to(b="b.answer"), ["PF06 nodes[2]"]),
        (["a:ask", "b:ask"], {"b": {"output_mappings": {"answer": "b.answer", "used": "b.used"}}}, []),
        (["a:ask", "b:ask"], {"b": {"output_mappings": {"answer": "used", "used": "u"}}}, ["PF06 nodes[2]"]),
        (["a:judge", "b:ask"], {}, ["PF06 nodes[1]"]),
        (["a:judge", "b:ask"], {"b": {"output_mappings": {"answer": "x"}}}, []),
    ],
)
def test_branches_of_a_fork_never_touch_each_others_keys(nodes, mappings, expected):
    assert errors(fork(*nodes, mappings=mappings)) == expected


def test_every_branch_may_read_what_stands_before_the_fork():
    targets = {id: {"answer": f"{id}.answer", "used": f"{id}.used"} for id in "ab"}
    source = {"prompt": "fetch.issue_data.body"}
    mappings = {id: {"input_mappings": source, "output_mappings": targets[id]} for id in "ab"}
    assert found(fork("a:ask", "b:ask", mappings=mappings)) == []


def test_data_flags_of_branches_may_have_one_name():
    load = [{"id": id, "type": "load", "inputs": {"path": id}} for id in "ab"]
    mappings = {id: {"output_mappings": {"content": f"{id}_content"}} for id in "ab"}
    assert found(fork(*load, mappings=mappings)) == []
