"""Reads that something gives, of a type that fits."""

from json import loads

import pytest

from tests.flow.checked import edges, findings, flow, found, only
from tests.flow.rules.flows import COUNT, LOAD, NUMBER, SAVE, batch, counted, has_just, node, query, says

READS = [
    (flow("fetch", "query"), []),  # a flag is meant for an [own] read
    (flow("fetch", "save"), ["PF03? nodes[1]"]),
    (flow({"id": "in", **flow("query", "save")}), []),  # what the flow around it gives is not known there
    (flow("fetch", {"id": "in", **flow("query", "save")}), ["PF03? nodes[1]"]),
    (flow("fetch", "j:judge"), []),  # an object is hardly meant as a text
    (flow("save", "fetch"), []),
    (flow("fetch", "query", inputs={**NUMBER, "prompt": {"type": "str"}}), []),
    ({**query(inputs={"prompt": "p"}), "inputs": NUMBER}, []),
    ({**query(params={"prompt": "$issue_data"}), "inputs": NUMBER}, []),
    (flow("query", "judge", inputs={"prompt": {}}), []),
    (flow(SAVE, inputs={"other": {}}), ["PF02? inputs.other"]),
    ({**batch("issue_data.labels", "prompt"), "inputs": NUMBER}, []),
    (flow("fetch", "query", inputs=NUMBER), ["PF03 nodes[1]"]),
    (flow("fetch", "j:judge", inputs={**NUMBER, "prompt": {}}), ["PF03 nodes[1]"]),
    (flow("query", "save", inputs={"prompt": {}}), ["PF03 nodes[1]", "PF08 nodes[1]"]),
    (flow("load", inputs={"path": {"type": "path"}}), ["PF08 nodes[0]"]),
    (flow("anything", "judge", inputs={"x": {}}), ["PF11? nodes[0].type", "PF03? nodes[1]"]),
    (flow("fetch", "query", inputs=NUMBER, edges=edges("query fetch")), ["PF12 nodes[1]"]),
    (flow("fetch", "query", inputs=NUMBER, mappings={"qurey": {}}), ["PF12 mappings.qurey"]),
]

TITLED = node("Titled", 'Reads: shared["title"]: str  # of what')


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (["fetch", SAVE], "only a flag gives 'save' its 'content', though 'fetch.issue_data' fits it; "),
        (["fetch", "t:titled"], "only a flag gives 't' its 'title', though 'fetch.issue_data.title' fits it; "),
    ],
)
def test_a_read_that_an_earlier_step_could_give_is_told_with_the_mapping(nodes, message):
    (finding,) = findings(flow(*nodes), TITLED)
    assert message in str(finding)
    assert finding.is_said_by_run
    assert findings({**flow(*nodes), **loads(f"{{{finding.remedy}}}")}, TITLED) == []


TYPES = [
    *(
        (counted(source), [])
        for source in (
            "fetch.issue_data.labels",
            "template:${fetch.issue_data.labels}",
            "template:${fetch.issue_data.title}",
            "template:${fetch.issue_data}",
            "somewhere",
        )
    ),
    *(
        (counted(source), ["PF15 mappings.count.input_mappings.items"])
        for source in (
            "fetch.issue_data.title",
            "fetch.issue_data",
            ["fetch.issue_data.labels", "fetch.issue_data.votes"],
        )
    ),
    (counted("load.content", LOAD), ["PF15? mappings.count.input_mappings.items"]),
    (counted("anything.content", "anything"), ["PF11? nodes[0].type"]),
    *((flow("fetch", inputs={"issue_number": {"type": type}}), []) for type in ("int", "any", "float")),
    (flow("fetch", inputs={"issue_number": {"type": "str"}}), ["PF15 inputs.issue_number.type"]),
    *((batch(over, prompt="p"), []) for over in ("fetch.issue_data.labels", "fetch.issue_data", "unknown")),
    (batch("fetch.issue_data.votes", prompt="p"), ["PF15 nodes[1].batch.over"]),
]

WORDS = [
    (
        flow("fetch", "query", inputs=NUMBER),
        "nodes[1]: PF03: nothing gives 'query' its 'prompt' (what to ask); "
        '"mappings": {"query": {"input_mappings": {"prompt": "fetch.issue_data.title"}}}',
    ),
    (flow("j:judge", inputs={"anser": {}}), '"mappings": {"j": {"input_mappings": {"answer": "anser"}}}'),
    (flow("j:judge", inputs={"zzz": {}}), '"inputs": {"answer": {"type": "str"}}'),
    (flow("fetch", COUNT, inputs=NUMBER), '{"count": {"input_mappings": {"items": "fetch.issue_data.labels"}}}'),
    (flow("load", inputs={"path": {}}), '"mappings": {"load": {"input_mappings": {"path": "path"}}}'),
    (flow("query", "load", inputs={"prompt": {}}), '"inputs": {"path": …} of nodes[1]'),
    (
        flow(
            "judge",
            "query",
            "save",
            inputs={"prompt": {}, "path": {}},
            edges=edges("judge failed query", "query judge", "judge save"),
            mappings={"save": {"input_mappings": {"content": "judge.verdict", "path": "path"}}},
        ),
        "nodes[0]: PF03: nothing gives 'judge' its 'answer' (what to judge) the first time: 'query' writes it later; "
        '"inputs": {"answer": {"type": "str"}}',
    ),
    (
        counted("fetch.issue_data.votes"),
        "'items' wants a list[str], but 'fetch.issue_data.votes' is an int; map it from",
    ),
]


test_a_flow_has_just_these_findings = has_just([*READS, *TYPES])
test_a_finding_says_what_is_wrong_and_what_to_do = says(WORDS)


def test_a_read_by_name_is_of_the_type_that_was_written():
    files = node("Items", 'Writes: shared["items"]: int  # how many')
    assert "'count' reads 'items' as a list[str], but 'items' writes it as an int" in only(flow("items", COUNT), files)
    mappings = {"items": {"output_mappings": {"items": "other"}}}
    assert found(flow("items", COUNT, mappings=mappings), files) == []


@pytest.mark.parametrize(
    "giver",
    [
        {"id": "a", "type": "seal", "inputs": {"answer": "$x"}},
        {"id": "a", "type": "judge", "inputs": {"answer": "On $topic"}, "batch": {"over": "x", "as": "topic"}},
    ],
)
def test_a_data_flag_that_is_not_stored_gives_nobody_else_anything(giver):
    files = node("Seal", 'Reads: shared["answer"]: str = null [secret]  # what seals it')
    assert "PF03 nodes[1]" in found(flow(giver, "j:judge", inputs={"x": {"type": "list[str]"}}), files)


def test_each_read_that_nothing_gives_is_a_finding_of_its_own():
    files = node(
        "Both",
        'Reads: shared["path"]: path [explicit]',
        'Reads: shared["what"]: str',
        'Writes: shared["n"]: int [pipe]',
    )
    assert found(flow("both", inputs={"zzz": {}}), files)[:2] == ["PF03 nodes[0]", "PF08 nodes[0]"]
