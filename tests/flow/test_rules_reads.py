"""PF03 and PF08: reads that nothing gives."""

import pytest

from tests.flow.checked import edges, flow, found, only, told

NUMBER = {"issue_number": {"type": "int"}}


@pytest.mark.parametrize(
    "document",
    [
        flow("fetch", "ask"),
        flow("fetch", "save"),
        flow("fetch", "ask", inputs={**NUMBER, "prompt": {"type": "str"}}),
        flow("fetch", {"id": "ask", "type": "ask", "inputs": {"prompt": "p"}}, inputs=NUMBER),
        flow("fetch", {"id": "ask", "type": "ask", "params": {"prompt": "p"}}, inputs=NUMBER),
        flow("fetch", {"id": "ask", "type": "ask", "params": {"prompt": "$issue_data"}}, inputs=NUMBER),
        flow("ask", "judge", inputs={"prompt": {}}),
        flow({"id": "save", "type": "save", "inputs": {"path": "p"}}, inputs={"other": {}}),
        flow(
            "fetch", {"id": "a", "type": "ask", "batch": {"over": "issue_data.labels", "as": "prompt"}}, inputs=NUMBER
        ),
        flow(
            "ask",
            {"id": "save", "type": "save", "batch": {"over": "answer", "as": "path"}, "inputs": {"content": 1}},
            outputs={"a": "answer"},
        ),
    ],
)
def test_a_read_that_something_gives_is_left_alone(document):
    assert [each for each in found(document) if each[:4] in ("PF03", "PF08")] == []


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (flow("fetch", "ask", inputs=NUMBER), ["PF03 nodes[1]"]),
        (flow("fetch", "j:judge", inputs={**NUMBER, "prompt": {}}), ["PF03 nodes[1]"]),
        (flow("ask", "save", inputs={"prompt": {}}), ["PF03 nodes[1]", "PF08 nodes[1]"]),
        (flow("load", inputs={"path": {"type": "path"}}), ["PF08 nodes[0]"]),
        (flow("load", "save", inputs={"x": {}}), ["PF08 nodes[0]", "PF08 nodes[1]"]),
    ],
)
def test_a_read_that_nothing_gives_is_found(document, expected):
    assert found(document) == expected


def test_what_it_is_and_the_mapping_that_would_give_it_are_told():
    assert only(flow("fetch", "ask", inputs=NUMBER)) == (
        "nodes[1]: PF03: nothing gives 'ask' its 'prompt' (what to ask); "
        '"mappings": {"ask": {"input_mappings": {"prompt": "fetch.issue_data.title"}}}'
    )


@pytest.mark.parametrize(
    ("document", "remedy"),
    [
        (flow("j:judge", inputs={"anser": {}}), '"mappings": {"j": {"input_mappings": {"answer": "anser"}}}'),
        (flow("j:judge", inputs={"zzz": {}}), '"inputs": {"answer": {"type": "str"}}'),
        (
            flow("a:ask", "j:judge", inputs={"prompt": {}}, mappings={"a": {"output_mappings": {"answer": "first"}}}),
            '"mappings": {"j": {"input_mappings": {"answer": "first"}}}',
        ),
        (
            flow("fetch", {"id": "count", "type": "count", "params": {"least": 1}}, inputs=NUMBER),
            '"mappings": {"count": {"input_mappings": {"items": "fetch.issue_data.labels"}}}',
        ),
        (flow("load", inputs={"path": {}}), '"mappings": {"load": {"input_mappings": {"path": "path"}}}'),
        (flow("ask", "load", inputs={"prompt": {}}), '"inputs": {"path": …} of nodes[1]'),
    ],
)
def test_the_remedy_is_what_would_give_it(document, remedy):
    assert told(document)[0].endswith("; " + remedy)


def test_what_an_open_node_may_write_is_a_warning():
    document = flow("anything", "judge", inputs={"x": {}})
    assert found(document) == ["PF11? nodes[0].type", "PF03? nodes[1]"]


SEAL = {"seal.py": "import pocketflow\nclass Seal(pocketflow.Node):\n    '''S.\n\n    Interface:\n"
        "    - Reads: shared[\"answer\"]: str = null [secret]  # what seals it\n    '''\n"}  # fmt: skip


@pytest.mark.parametrize(
    "node",
    [
        {"id": "a", "type": "seal", "inputs": {"answer": "$x"}},
        {"id": "a", "type": "judge", "inputs": {"answer": "On $topic"}, "batch": {"over": "x", "as": "topic"}},
    ],
)
def test_a_data_flag_that_is_not_stored_gives_nobody_else_anything(node):
    assert "PF03 nodes[1]" in found(flow(node, "j:judge", inputs={"x": {"type": "list[str]"}}), SEAL)


def test_reads_of_a_step_that_is_not_reached_follow_from_that():
    assert found(flow("fetch", "ask", inputs=NUMBER, edges=edges("ask fetch"))) == ["PF12 nodes[1]"]
