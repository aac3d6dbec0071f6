"""The shape of a flow's JSON: what is refused, how it is said, what goes on, and the published schema."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from pflow.flow.load import load_document
from pflow.flow.schema import SCHEMA, TYPE_FORMAT, type_fault
from pflow.flow.unload import flow_to_ir

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
    (
        flow(inputs={"issue_number": {"type": "integer"}}),
        "inputs.issue_number.type: 'integer' is none of str, int, float, bool, path, bytes, list, dict, any or a|b|c; "
        "did you mean int?",
    ),
    (flow(inputs={"x": {"type": "list[str"}}), "inputs.x.type: ']' is missing at ''"),
    (flow(inputs={"x": {"type": "int]"}}), "inputs.x.type: ']' follows the type 'int'"),
    (flow(pflow=2), "pflow: the file is of version 2, and this pflow reads version 1; a newer pflow may read it"),
    (flow(pflow="1"), 'pflow: it is a str ("1"), not an int; write 1, without quotes'),
    (flow(pflow=True), "pflow: it is a bool (true), not an int; write a whole number"),
    (flow(name=5), 'name: it is an int (5), not a str; write "5"'),
    (flow(name=None), 'name: it is null, not a str; write "…", or leave it out'),
    (flow(max_visits=1.5), "max_visits: it is a float (1.5), not an int; write a whole number"),
    (flow(nodez=1), "nodez: there is no such member; did you mean nodes?"),
    (flow(inputs=[]), 'inputs: it is a list, not a dict; write {"…": …}'),
    (flow(inputs={"x": "int"}), 'inputs.x: it is a str ("int"), not a dict; write {"type": "int"}'),
    (flow(inputs={"x": {"pipe": 1}}), "inputs.x.pipe: it is an int (1), not a bool; write true or false"),
    (
        flow(inputs={"x": {"pipe": "true"}}),
        'inputs.x.pipe: it is a str ("true"), not a bool; write true, without quotes',
    ),
    (flow(inputs={"x": {"type": None}}), 'inputs.x.type: it is null, not a str; write "…", or leave it out'),
    (
        flow(inputs={"x": {"wide": 1}}),
        "inputs.x.wide: there is no such member; an input of the flow has type, description, required, pipe, default",
    ),
    ({}, 'nodes: it is missing; add "nodes": [{"type": "…"}]'),
    ({"nodes": []}, "nodes: it is empty; a flow has a step at least"),
    ({"nodes": {}}, "nodes: it is a dict, not a list; write […]"),
    ({"nodes": ["llm"]}, 'nodes[0]: it is a str ("llm"), not a dict; write {"type": "llm"}'),
    ({"nodes": [A, None]}, 'nodes[1]: it is null, not a dict; write {"…": …}, or leave it out'),
    ({"nodes": [A, {}]}, 'nodes[1]: it has no id, type or name; add "type", the node that it runs'),
    ({"nodes": [A, {"id": 5}]}, 'nodes[1].id: it is an int (5), not a str; write "5"'),
    (node(version="latest"), 'nodes[0].version: it is a str ("latest"), not a version; write one like "1.0.0"'),
    (node(retries=-1), "nodes[0].retries: it is -1, less than 0; write 0 or more"),
    (node(retries="3"), 'nodes[0].retries: it is a str ("3"), not an int; write 3, without quotes'),
    (node(wait="1.5"), 'nodes[0].wait: it is a str ("1.5"), not a number; write 1.5, without quotes'),
    (node(timeout=0), "nodes[0].timeout: it is 0, not more than 0; write more than 0"),
    (node(paramz={}), "nodes[0].paramz: there is no such member; did you mean params?"),
    (
        node(input_mappings={}),
        "nodes[0].input_mappings: there is no such member; it belongs to a step's entry in mappings",
    ),
    (
        node(colour="red"),
        "nodes[0].colour: there is no such member; a node has id, type, name, description, version, params, inputs, "
        "retries, wait, timeout, max_visits, batch",
    ),
    (node(batch="files"), 'nodes[0].batch: it is a str ("files"), not a dict; write {"…": …}'),
    (node(batch={}), "nodes[0].batch.over: it is missing; add the path of a list or an object"),
    (node(batch={"over": "x", "jobs": 0}), "nodes[0].batch.jobs: it is 0, less than 1; write 1 or more"),
    (
        node(batch={"over": "x", "on_error": "skip"}),
        "nodes[0].batch.on_error: it is a str (\"skip\"), not 'stop' or 'keep'; write 'stop' or 'keep'",
    ),
    (node(input_bindings={"url": 1}), 'nodes[0].input_bindings.url: it is an int (1), not a str; write "1"'),
    (flow(edges=["a -> b"]), 'edges[0]: it is a str ("a -> b"), not a dict; write {"…": …}'),
    (flow(edges=[{"to": "b"}]), "edges[0].from: it is missing; add the id of the step that it leads from"),
    (flow(edges=[{"from": "a", "to": None}]), 'edges[0].to: it is null, not a str; write "…"'),
    (flow(edges=[{"from": "a", "to": "b", "action": ""}]), "edges[0].action: it is empty; write one"),
    (flow(edges=[{"from": "a", "target": "b"}]), "edges[0].target: there is no such member; did you mean to?"),
    (
        flow(mappings={"a": {"output_mapping": {}}}),
        "mappings.a.output_mapping: there is no such member; did you mean output_mappings?",
    ),
    (
        flow(mappings={"a": {"input_mappings": {"prompt": 5}}}),
        'mappings.a.input_mappings.prompt: it is an int (5), not a str; write "5"',
    ),
    (
        flow(mappings={"a": {"input_mappings": {"prompt": {"str": 1}}}}),
        'mappings.a.input_mappings.prompt: it is a dict, not a str; write "…"',
    ),
    (
        flow(mappings={"a": {"input_mappings": {"prompt": ["x", 2]}}}),
        'mappings.a.input_mappings.prompt[1]: it is an int (2), not a str; write "2"',
    ),
    (
        flow(mappings={"a": {"input_mappings": {"prompt": []}}}),
        "mappings.a.input_mappings.prompt: it is empty; write one",
    ),
    (
        flow(mappings={"a.b": {"output_mappings": {"x y": []}}}),
        'mappings["a.b"].output_mappings.x y: it is a list, not a str; write "…"',
    ),
]


@pytest.mark.parametrize(("document", "finding"), WRONG)
def test_a_wrong_shape_is_one_finding(document, finding):
    assert said(document) == [finding]


def test_twenty_mistakes_are_twenty_findings_in_the_order_of_the_file():
    document = {
        "pflow": 2,
        "nodes": [
            {"id": 1, "type": "read-file", "tmeout": 3, "params": "path"},
            {"id": "b", "type": None, "retries": "2", "batch": {"ovr": "x", "jobs": -1, "on_error": None}},
            "llm",
            {"id": "d", "type": "write-file", "wait": -1, "max_visits": 0, "version": 2.0, "extra": {"a": 1}},
        ],
        "edges": [{"from": 1, "to": "b"}, {"source": "b", "target": "llm"}, {"from": "llm"}],
        "inputs": {"n": {"type": "number", "required": "no"}},
        "mappings": {"b": {"input_mappings": {"prompt": 1}}},
        "description": 5,
    }
    places = [line.partition(": ")[0] for line in said(document)]
    assert places == [
        "pflow", "nodes[0].id", "nodes[0].tmeout", "nodes[0].params", "nodes[1].type", "nodes[1].retries",
        "nodes[1].batch.ovr", "nodes[1].batch.jobs", "nodes[1].batch.on_error", "nodes[2]", "nodes[3].wait",
        "nodes[3].max_visits", "nodes[3].version", "nodes[3].extra", "edges[0].from", "edges[1].source",
        "edges[1].target", "edges[2].to", "inputs.n.type", "inputs.n.required",
        "mappings.b.input_mappings.prompt", "description",
    ]  # fmt: skip


def steps_of(document):
    return [(step.place, step.id, step.type) for step in load_document(document, "x").flow.steps]


@pytest.mark.parametrize(
    ("nodes", "steps"),
    [
        ([{"id": 5, "type": "llm"}], [(("nodes", 0), "5", "llm")]),
        ([{"id": None, "type": "llm"}], [(("nodes", 0), "llm", "llm")]),
        (["llm"], [(("nodes", 0), "llm", "llm")]),
        ([{"id": "a", "tpye": "llm"}], [(("nodes", 0), "a", "llm")]),
        ([{"id": "a", "type": 7}], [(("nodes", 0), "a", "7")]),
        ([{}, {"id": "b"}], [(("nodes", 1), "b", "b")]),
        ([None, 5, {"type": []}, {"name": ""}, {"id": "b"}], [(("nodes", 4), "b", "b")]),
        ([{"id": "b", "retries": 2.0, "x": 1}], [(("nodes", 0), "b", "b")]),
    ],
)
def test_a_node_goes_on_as_what_was_meant_or_not_at_all(nodes, steps):
    assert steps_of({"nodes": nodes}) == steps


def test_what_has_the_right_shape_goes_on():
    loaded = load_document(
        {
            "pflow": 2,
            "inputs": {"n": {"type": "number", "pipe": True}, "m": 3},
            "nodes": [{"id": "a", "params": {"x": 1}, "retries": -1, "wait": 2}, 5, {"id": "b", "batch": {"jobs": 2}}],
            "mappings": {"a": {"input_mappings": {"p": ["x", 1], "q": 5}, "output_mappings": {"r": 1, "s": "t"}}},
        },
        "x",
    )
    a, b = loaded.flow.steps
    assert (a.params, a.retries, a.wait, b.batch) == ({"x": 1}, None, 2, None)
    assert (a.input_mappings, a.output_mappings) == ({"p": ["x", "1"], "q": "5"}, {"r": "1", "s": "t"})
    assert [(name, given.type, given.pipe) for name, given in loaded.flow.inputs.items()] == [
        ("n", "any", True),
    ]  # fmt: skip
    assert [(edge.source, edge.target) for edge in loaded.flow.edges] == [("a", "b")]


@pytest.mark.parametrize(
    ("edges", "wanted"),
    [
        ([{"from": "a", "to": "b"}, {"from": "b"}], [("a", "b"), ("b", "c")]),
        ([{"from": "a", "to": "c"}, "c -> b"], [("a", "c")]),
        ([{"source": "a", "target": "c"}, {"from": "c", "too": "b"}], [("a", "c"), ("c", "b")]),
        ([{"from": "a", "to": "b"}], [("a", "b")]),
    ],
)
def test_a_step_that_lost_its_edge_follows_the_one_before_it(edges, wanted):
    loaded = load_document({"nodes": [A, B, {"id": "c"}], "edges": edges}, "x")
    assert [(edge.source, edge.target) for edge in loaded.flow.edges] == wanted


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
    again = load_document(flow_to_ir(loaded.flow), "x")
    assert [finding.place for finding in again.findings] in ([], [("nodes",)])


def test_what_stands_in_a_misspelt_member_is_looked_at_too():
    assert said({"steps": [{"tpye": "llm", "retries": 2.0, "wait": "1"}]}) == [
        "steps: there is no such member; did you mean nodes?",
        "steps[0].tpye: there is no such member; did you mean type?",
        'steps[0].wait: it is a str ("1"), not a number; write 1, without quotes',
    ]


def test_an_integral_number_is_an_int_however_it_is_written():
    document = {"pflow": 1.0, "max_visits": 5.0, "nodes": [{"id": "a", "retries": 3.0, "params": {"n": 1.0}}]}
    assert said(document) == []
    flow = load_document(document, "x").flow
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


def test_pydantic_is_not_imported_for_a_file_or_its_schema():
    code = (
        "import sys, pflow.flow.load as load; load.load_text('{\"nodes\": [5]}', 'x'); print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
