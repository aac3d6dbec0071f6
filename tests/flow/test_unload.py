"""Unloading a flow: the way back to IR."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.flow.flow import Batch, Edge, FlowSpec, Input, Step
from pflow.flow.load import load_document, load_file, load_text
from pflow.flow.unload import canonical_json, flow_to_ir

SEEDS = Path(__file__).parent / "seeds"


def members_of(thing):
    """A flow, a step, … as plain values, for comparing."""
    if isinstance(thing, list | tuple):
        return [members_of(each) for each in thing]
    if isinstance(thing, dict):
        return [(key, members_of(each)) for key, each in thing.items()]
    if not isinstance(thing, FlowSpec | Step | Edge | Input | Batch):
        return (type(thing), thing)
    names = getattr(type(thing), "__slots__", None) or vars(thing)
    read_from = {"place"} if isinstance(thing, Edge) else set()
    return {name: members_of(getattr(thing, name)) for name in names if name not in read_from}


_OF_ITS_SOURCE = ("dialect", "catalog", "document", "file")


def same(one, other):
    """Both flows, without where they were read from, as plain values."""
    plain = []
    for flow in (one, other):
        values = members_of(flow)
        plain.append({name: value for name, value in values.items() if name not in _OF_ITS_SOURCE})
    return plain[0] == plain[1]


def again(flow):
    text = canonical_json(flow_to_ir(flow))
    loaded = load_text(text, "x.pflow.json")
    assert [str(finding) for finding in loaded.findings] == []
    assert canonical_json(flow_to_ir(loaded.flow)) == text
    return loaded.flow


IDS = ["a", "b", "llm", "llm-2", "odd key", "é", "a.b", "x/y"]
texts = st.text(max_size=5)
names = st.sampled_from([*IDS, "prompt", "$bytes", "$$bytes", "", "text"])
numbers = st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
params = st.dictionaries(names, values, max_size=3)
paths = st.dictionaries(names, texts, max_size=2)
sources = st.dictionaries(names, texts | st.lists(texts, min_size=1, max_size=2), max_size=2)
counts = st.none() | st.integers(1, 5)
batches = st.builds(
    Batch, texts.filter(len), st.sampled_from(["item", "path"]), counts, st.sampled_from(["stop", "keep"])
)


@st.composite
def flows(draw):
    ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=4, unique=True))
    steps = [draw(steps_called(id, number)) for number, id in enumerate(ids)]
    some = st.lists(st.builds(Edge, *[st.sampled_from([*ids, "nowhere"])] * 2, st.sampled_from(["default", "retry"])))
    flow = FlowSpec(steps, draw(st.just([Edge(*pair) for pair in pairwise(ids)]) | some))
    flow.name, flow.description, flow.outputs = draw(texts), draw(texts), draw(paths)
    flow.schema = draw(texts)
    flow.inputs = {name: draw(inputs_called(name)) for name in draw(st.lists(names, max_size=2, unique=True))}
    flow.max_visits = draw(st.sampled_from([100, 1, 7]))
    flow.stray_mappings = draw(st.sampled_from([{}, {"stray": {"input_mappings": {"x": "y"}}}]))
    return flow


def steps_called(id, number):
    return st.builds(
        Step,
        st.just(id),
        st.sampled_from(["llm", id, "flow:x", "./sub.pflow.json"]),
        place=st.just(("nodes", number)),
        version=st.sampled_from([None, "1", "1.2.3"]),
        params=params,
        inputs=params,
        input_mappings=sources,
        output_mappings=paths,
        retries=st.none() | st.integers(0, 3),
        wait=st.none() | st.floats(0, 9),
        timeout=st.none() | st.floats(0.1, 9),
        max_visits=counts,
        repeats=st.sampled_from([None, True, False]),
        cache=st.sampled_from([None, True, False, "require"]),
        batch=st.none() | batches,
        description=texts,
    )


def inputs_called(name):
    types = st.sampled_from(["any", "str", "list[str]", "a|b", "dict{x: int}"])
    return st.builds(
        Input, st.just(name), type=types, description=texts, required=st.booleans(), pipe=st.booleans(),
    ) | st.builds(Input, st.just(name), type=types, default=values, has_default=st.just(True))  # fmt: skip


@given(flows())
def test_loading_what_was_unloaded_gives_an_equal_flow(flow):
    assert same(again(flow), flow)


@pytest.mark.parametrize(
    "name", ["000-keys", "001-mappings", "002-fragment", "002-flow", "003-simple", "004-collisions", "004-issue"]
)
def test_a_seed_in_this_form_is_the_same_flow(name):
    flow = load_file(str(SEEDS / f"{name}.pflow.json")).flow
    assert same(again(flow), flow)


def test_what_is_default_is_left_out():
    ir = {"pflow": 1, "nodes": [{"id": "a", "type": "x"}, {"id": "b", "type": "y"}]}
    written = {
        **ir,
        "name": "",
        "inputs": {},
        "edges": [{"from": "a", "to": "b", "action": "default"}],
        "mappings": {"a": {"input_mappings": {}}, "b": {}},
        "max_visits": 100,
    }
    assert flow_to_ir(load_document(written, "x").flow) == ir


def test_the_text_is_what_json_tools_would_write():
    ir = {"pflow": 1, "é": ["ü\n", 1.0, 1e22, True, None, {}, [], {"a": [[1], {"b": -1}]}], "": {"x": ""}}
    assert canonical_json(ir) == json.dumps(ir, indent=2, ensure_ascii=False) + "\n"


def test_bytes_and_objects_that_look_like_them_keep_apart():
    text = canonical_json({"a": b"\xff", "b": {"$bytes": "x"}, "c": {"$bytes": 1, "d": 2}})
    assert json.loads(text) == {"a": {"$bytes": "/w=="}, "b": {"$$bytes": "x"}, "c": {"$bytes": 1, "d": 2}}


@pytest.mark.parametrize("value", [float("nan"), 1 << 64, "\ud800", {"\ud800": 1}, {1: 2}, object()])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(PflowError) as raised:
        canonical_json({"a": [value]})
    assert raised.value.exit == 65
