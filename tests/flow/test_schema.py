"""The shape of a flow's JSON: what is refused, how it is said, what goes on, and the published schema."""

import copy
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from pflow.flow.ir import flow_to_ir, load_document
from pflow.flow.schema import SCHEMA, TYPE_FORMAT, type_fault

SEEDS = Path(__file__).parent / "seeds"
A, B = {"id": "a"}, {"id": "b"}
FORMATS = FormatChecker([])
FORMATS.checks(TYPE_FORMAT)(lambda text: not type_fault(text))
VALIDATOR = Draft202012Validator(SCHEMA, format_checker=FORMATS)
"""Another judge of the same schema."""


def said(document):
    return [str(finding).replace(": PF00: ", ": ") for finding in load_document(document, "x").findings]


def node(**members):
    return {"nodes": [{"id": "a", **members}]}


def flow(**members):
    return {"nodes": [A, B], **members}


WRONG = [
    (flow(inputs={"x": {"type": "list[str"}}), "inputs.x.type: ']' is missing at ''; list[str], "),
    (
        flow(inputs={"x": {"type": "integer"}}),
        "inputs.x.type: unknown type 'integer'; did you mean int? types are str, url, int, float, ",
    ),
    (flow(pflow=2), "pflow: it is an int (2), more than 1; a newer pflow may read it"),
    (flow(pflow=True), "pflow: it is a bool (true), not an int; write a whole number"),
    (flow(name=None), 'name: it is null, not a str; write "…", or leave it out'),
    (flow(max_visits=1.5), "max_visits: it is a float (1.5), not an int; write a whole number"),
    (flow(nodez=1), "nodez: unknown member; did you mean nodes?"),
    (flow(max_retries=5), 'max_retries: unknown member; a step\'s "retries" is 4 for it: '),
    (flow(flow={}), 'flow: unknown member; nodes and edges stand at the top; a step of type "flow" has its own'),
    (node(condition="x"), "nodes[0].condition: unknown member; a step returns an action, which chooses the edge: "),
    (flow(inputs=[]), 'inputs: it is a list, not a dict; write {"…": …}'),
    (flow(inputs={"x": {"pipe": 1}}), "inputs.x.pipe: it is an int (1), not a bool; write true or false"),
    (flow(inputs={"x": {"wide": 1}}), "inputs.x.wide: unknown member; known: type, description, required, "),
    ({}, "PF00: 'nodes' is missing; add \"nodes\""),
    ({"nodes": []}, "nodes: it is empty; write one"),
    ({"nodes": [A, "llm"]}, 'nodes[1]: it is a str ("llm"), not a dict; write {"…": …}'),
    ({"nodes": [A, {}]}, 'nodes[1]: it has no id, type or name; add "type", the node that it runs'),
    (node(version="latest"), 'nodes[0].version: it is a str ("latest"), not a version; write one like "1.0.0"'),
    (node(retries=-1), "nodes[0].retries: it is an int (-1), less than 0; write 0 or more"),
    (node(wait="1.5"), 'nodes[0].wait: it is a str ("1.5"), not a number; write a number'),
    (node(cache=1), 'nodes[0].cache: it is an int (1), not true or false or "require"; write true'),
    (node(cache="always"), 'nodes[0].cache: it is a str ("always"), not true or '),
    (node(timeout=0), "nodes[0].timeout: it is an int (0), not more than 0; write more than 0"),
    (
        node(batch={"over": "x", "jobs": 257}),
        "nodes[0].batch.jobs: it is an int (257), more than 256; write 256 or less",
    ),
    (
        node(batch={"over": ["a"]}),
        'nodes[0].batch.over: it is a list, not a str; write "over": "items", '
        'and "inputs": {"items": {"type": "list", "default": […]}} in the flow',
    ),
    (node(batch={}), "nodes[0].batch: 'over' is missing; add \"over\""),
    (
        node(batch={"over": "x", "on_error": "skip"}),
        'nodes[0].batch.on_error: it is a str ("skip"), not stop or ',
    ),
    (flow(edges=[{"to": "b"}]), "edges[0]: 'from' is missing; add \"from\""),
    (flow(edges=[{"from": "a", "to": "b", "action": ""}]), "edges[0].action: it is empty; write one"),
    (
        flow(mappings={"a": {"input_mappings": {"p": ["x", 2]}}}),
        "mappings.a.input_mappings.p[1]: it is an int (2), ",
    ),
    (
        flow(mappings={"a.b": {"output_mappings": {"x y": []}}}),
        'mappings["a.b"].output_mappings.x y: it is a list, ',
    ),
]


@pytest.mark.parametrize(("document", "finding"), WRONG)
def test_a_wrong_shape_is_one_finding(document, finding):
    (line,) = said(document)
    assert line.startswith(finding)


def test_every_wrong_part_is_found_and_what_has_the_right_shape_goes_on():
    loaded = load_document(
        {
            "pflow": 2,
            "inputs": {"n": {"type": "number", "pipe": True}, "m": 3},
            "nodes": [{"id": "a", "params": {"x": 1}, "retries": -1, "wait": 2}, 5, {"id": "b", "batch": {"jobs": 2}}],
            "edges": [{"from": "a", "to": "b"}, {"from": "b"}],
            "mappings": {"a": {"input_mappings": {"p": ["x", 1], "q": 5}, "output_mappings": {"r": 1, "s": "t"}}},
        },
        "x",
    )
    assert [line.partition(": ")[0] for line in map(str, loaded.findings)] == [
        "pflow", "inputs.n.type", "inputs.m", "nodes[0].retries", "nodes[1]", "nodes[2].batch", "edges[1]",
        "mappings.a.input_mappings.p[1]", "mappings.a.input_mappings.q", "mappings.a.output_mappings.r",
    ]  # fmt: skip
    a, b = loaded.steps
    assert (a.params, a.retries, a.wait, b.batch) == ({"x": 1}, None, 2, None)
    assert (a.input_mappings, a.output_mappings) == ({"p": ["x"]}, {"s": "t"})
    assert [(name, given.type, given.pipe) for name, given in loaded.inputs.items()] == [("n", "any", True)]
    assert [(edge.source, edge.target) for edge in loaded.edges] == [("a", "b")]
    assert [step.location for step in loaded.steps] == [("nodes", 0), ("nodes", 2)]


NAMES = ["id", "type", "nodes", "edges", "from", "to", "mappings", "input_mappings", "inputs", "batch", "over", "as"]
NAMES += ["output_mappings", "params", "input_key", "config", "input_bindings", "retries", "pflow", "noeds", "x", "a"]
scalars = st.none() | st.booleans() | st.integers(-1, 2) | st.floats(-1, 2) | st.sampled_from(["", "a", "int", "b.c"])
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
)


SOUND = {
    "pflow": 1, "name": "n", "inputs": {"i": {"type": "list[str]", "pipe": True, "default": None}},
    "outputs": {"o": "a.text"}, "max_visits": 3,
    "nodes": [
        {"id": "a", "type": "llm", "version": "1.2", "params": {"x": [1]}, "retries": 0, "wait": 0.5, "timeout": 1},
        {"name": "b", "inputs": {"y": {}}, "batch": {"over": "a", "as": "p", "jobs": 2, "on_error": "keep"}},
        {"type": "c", "config": {}, "input_bindings": {"q": "a"}},
    ],
    "edges": [{"from": "a", "to": "b", "action": "failed"}, {"from": "b", "to": "c"}],
    "mappings": {"a": {"input_mappings": {"p": ["x", "y"], "q": "z"}, "output_mappings": {"r": "s"}}},
}  # fmt: skip


def places_in(value, place=()):
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places_in(each, (*place, key))


@given(st.sampled_from([*places_in(SOUND)][1:]), documents, st.sampled_from([None, *NAMES]))
def test_one_change_to_a_sound_document_is_judged_as_the_schema_says(place, value, name):
    document = copy.deepcopy(SOUND)
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    if name is not None and isinstance(holder, dict):
        holder[name] = holder.pop(place[-1])
    else:
        holder[place[-1]] = value
    assert (not load_document(document, "x").findings) == VALIDATOR.is_valid(document)


@example({"inputs": {"id": {"type": False}}}, [])  # no type, even as a text
@example({"inputs": {"id": ""}}, [])
@given(st.dictionaries(st.sampled_from(NAMES), documents), st.lists(documents, max_size=3))
def test_whatever_stands_in_a_document_the_rest_makes_a_flow(members, nodes):
    document = {**members, "nodes": nodes} if nodes else members
    loaded = load_document(document, "x")
    assert (not loaded.findings) == VALIDATOR.is_valid(document)
    again = load_document(flow_to_ir(loaded), "x")
    assert {finding.location[-1] for finding in again.findings} <= {"nodes"}  # none is left


def test_an_integral_number_is_an_int_however_it_is_written():
    document = {"pflow": 1.0, "max_visits": 5.0, "nodes": [{"id": "a", "retries": 3.0, "params": {"n": 1.0}}]}
    assert said(document) == []
    flow = load_document(document, "x")
    numbers = [flow.max_visits, flow.steps[0].retries, flow.steps[0].params["n"]]
    assert [(number, type(number)) for number in numbers] == [(5, int), (3, int), (1.0, float)]


@pytest.mark.parametrize(
    "name", ["000-keys", "001-mappings", "002-fragment", "002-flow", "003-simple", "004-collisions", "004-issue"]
)
def test_the_schema_takes_the_seeds(name):
    VALIDATOR.validate(json.loads((SEEDS / f"{name}.pflow.json").read_text()))


def test_the_schema_is_a_schema_and_names_itself():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "pflow:flow:1"
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def objects_of(schema):
    if isinstance(schema, dict):
        yield from [schema] if "properties" in schema else []
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from objects_of(each)


def test_the_schema_describes_every_member_and_allows_no_other():
    objects = list(objects_of(SCHEMA))
    assert len(objects) == 6
    for each in objects:
        assert each["additionalProperties"] is False
        assert each["description"]
        assert [name for name, member in each["properties"].items() if not member.get("description")] == []


def test_the_schema_marks_the_older_forms():
    properties = SCHEMA["properties"]["nodes"]["items"]["properties"]
    older = [name for name, member in properties.items() if member.get("deprecated")]
    assert older == ["input_bindings", "output_bindings", "config"]


def test_a_default_in_the_schema_is_one_that_the_schema_allows():
    for each in objects_of(SCHEMA):
        for member in each["properties"].values():
            if "default" in member:
                Draft202012Validator(member).validate(member["default"])
