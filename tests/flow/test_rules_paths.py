"""PF14: paths in mappings and templates."""

import pytest

from tests.flow.checked import edges, flow, found, only, told


def mapped(source, *nodes, **members):
    return flow("fetch", "ask", *nodes, mappings={"ask": {"input_mappings": {"prompt": source}}}, **members)


@pytest.mark.parametrize(
    "source",
    [
        "fetch.issue_data",
        "fetch.issue_data.title",
        "fetch.issue_data.title.inside.json[0]",
        "fetch.issue_data.labels[0]",
        "fetch.issue_data.labels.0",
        "issue_data.body",
        "video_url",
        "stdin",
        "template:${fetch.issue_data.title}: $issue_data and $other",
        "template:$$5 and 5$ and $1",
        ["fetch.issue_data.title", "fetch.issue_data.body"],
    ],
)
def test_a_path_that_can_come_from_somewhere_is_left_alone(source):
    assert [each for each in found(mapped(source)) if "PF14" in each] == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("fetch.issue_dta.title", "no 'issue_dta' in fetch; it has issue_data (did you mean issue_data?)"),
        ("fetsh.issue_data", "nothing writes 'fetsh.issue_data'; did you mean fetch?"),
        ("fetch", "'fetch' is a step; it writes fetch.issue_data"),
        ("fetch.issue_data.titel", "no 'titel' in fetch.issue_data; it has title, body, labels, votes"),
        ("fetch.issue_data.labels.first", "no 'first' in fetch.issue_data.labels; it is a list"),
        ("fetch.issue_data.votes.up", "no 'up' in fetch.issue_data.votes; it is an int"),
        ("template:${fetch.issue_data.titel}", "no 'titel' in fetch.issue_data"),
        ("issue_data.titel", "no 'titel' in issue_data"),
        ("fetch..issue_data", "'fetch..issue_data' has an empty step"),
        ("fetch[0", "'fetch[0' has a [ without a number"),
        ("judge.verdict", "'judge' does not run before 'ask'; an edge that leads from 'judge' to 'ask'"),
    ],
)
def test_a_path_that_leads_nowhere_is_told_with_what_there_is(source, words):
    finding = only(mapped(source, "judge"))
    assert finding.startswith("mappings.ask.input_mappings.prompt: PF14: ")
    assert words in finding


def test_the_same_holds_for_inputs_params_outputs_and_batches():
    node = {
        "id": "ask",
        "type": "ask",
        "inputs": {"prompt": "${fetch.title}"},
        "params": {"model": ["${fetch.model}"]},
        "batch": {"over": "fetch.list", "as": "text"},
    }
    assert found(flow("fetch", node, outputs={"it": "ask.anser"})) == [
        "PF14 outputs.it",
        "PF14 nodes[1].batch.over",
        "PF14 nodes[1].inputs.prompt",
        "PF14 nodes[1].params.model",
    ]


def test_the_shape_of_an_item_and_of_an_input_is_known_too():
    over = {"id": "ask", "type": "ask", "batch": {"over": "fetch.issue_data.labels", "as": "label"}}
    assert found(flow("fetch", {**over, "inputs": {"prompt": "${label.name}"}})) == []
    inputs = {"issue_number": {"type": "int"}, "who": {"type": "dict{name: str}"}}
    assert found(mapped("who.name", inputs=inputs)) == []
    assert "no 'nmae' in who; it has name" in only(mapped("who.nmae", inputs=inputs))


def test_one_of_two_writes_with_the_field_is_enough():
    other = {"other.py": "import pocketflow\nclass Other(pocketflow.Node):\n    '''O.\n\n    Interface:\n"
             "    - Writes: shared[\"issue_data\"]: dict{name: str}  # other\n    '''\n"}  # fmt: skip
    written = edges("judge fetch", "judge failed other", "fetch ask", "other ask")
    nodes = ["judge", "fetch", "other", "ask"]

    def of(path):
        mappings = {"ask": {"input_mappings": {"prompt": path}}}
        return [each for each in found(flow(*nodes, edges=written, mappings=mappings), other) if "PF14" in each]

    assert of("issue_data.name") == of("issue_data.title") == []
    assert of("issue_data.nothing") == ["PF14 mappings.ask.input_mappings.prompt"]


@pytest.mark.parametrize("text", ["${a", "${}", "${1x}", "x ${a b} y"])
def test_a_broken_reference_is_a_warning(text):
    for document in (
        flow({"id": "ask", "type": "ask", "inputs": {"prompt": text}}),
        flow({"id": "ask", "type": "ask", "inputs": {"prompt": "p", "text": [{"deep": text}]}}),
    ):
        (finding,) = told(document)
        assert "PF14: warning: '${" in finding
        assert "' is no reference" in finding
    assert found(flow("fetch", "ask", mappings={"ask": {"input_mappings": {"prompt": "template:" + text}}})) == [
        "PF14? mappings.ask.input_mappings.prompt"
    ]


def test_what_is_verbatim_has_no_references():
    assert found(flow({"id": "run", "type": "shell", "inputs": {"command": 'echo "${HOME}" $x ${1x}'}})) == []


def test_a_template_in_the_key_of_an_object_is_refused():
    document = flow({"id": "ask", "type": "ask", "inputs": {"prompt": "p", "text": {"$a": 1}}})
    assert found(document) == ["PF14 nodes[0].inputs.text"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("summary", []),
        ("out.summary", []),
        ("out..summary", ["PF14 mappings.ask.output_mappings.answer"]),
        ("out[0]", ["PF14 mappings.ask.output_mappings.answer"]),
        ("", ["PF14 mappings.ask.output_mappings.answer"]),
    ],
)
def test_a_target_is_a_path_of_names(target, expected):
    assert found(flow("ask", mappings={"ask": {"output_mappings": {"answer": target}}})) == expected


def test_what_an_open_node_may_write_is_a_warning_where_inputs_are_declared():
    inputs = {"path": {}}
    document = flow("anything", "save", inputs=inputs, mappings={
        "save": {"input_mappings": {"content": "summary", "path": "path"}},
    })  # fmt: skip
    assert found(document) == ["PF11? nodes[0].type", "PF14? mappings.save.input_mappings.content"]


def test_references_of_a_step_that_nothing_leads_to_follow_from_that():
    document = mapped("fetch.issue_data.body", "judge", edges=edges("fetch judge"))
    assert found(document) == ["PF12 nodes[1]"]


def test_references_across_a_misspelt_edge_follow_from_that():
    document = mapped("fetch.issue_data.body", edges=edges("fetsh ask"))
    assert found(document) == ["PF12 edges[0].from"]


def test_no_template_fills_what_is_taken_as_it_is():
    from pflow.flow.flow import Flow, Step
    from pflow.flow.rules import check
    from pflow.flow.wiring import wire

    def findings(source):
        return check(wire(Flow([Step("run", "shell", input_mappings={"command": source})], [])))

    assert [(each.rule, each.place) for each in findings("template:echo ${x}")] == [
        ("PF14", ("mappings", "run", "input_mappings", "command"))
    ]
    assert findings("script") == []
