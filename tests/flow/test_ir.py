"""A flow as IR: written back, the hash that says if two flows are one, the dialects of the seeds, masked secrets."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.catalog.find import forget_types
from pflow.errors import PflowError
from pflow.flow.flow import Batch, Edge, FlowSpec, Input, Step
from pflow.flow.ir import convert, flow_hash, flow_to_ir, load_document, masked_ir
from pflow.flow.load import load_file, load_text
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.values.fast_json import write_json

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
    read_from = {"location"} if isinstance(thing, Edge) else set()
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
    text = write_json(flow_to_ir(flow))
    loaded = load_text(text, "x.pflow.json")
    assert [str(finding) for finding in loaded.findings] == []
    assert write_json(flow_to_ir(loaded)) == text
    return loaded


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
    flow.max_visits = draw(st.sampled_from([None, 100, 1]))
    flow.stray_mappings = draw(st.sampled_from([{}, {"stray": {"input_mappings": {"x": "y"}}}]))
    return flow


def steps_called(id, number):
    return st.builds(
        Step,
        st.just(id),
        st.sampled_from(["llm", id, "flow:x", "./sub.pflow.json"]),
        location=st.just(("nodes", number)),
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
    flow = load_file(str(SEEDS / f"{name}.pflow.json"))
    assert same(again(flow), flow)


def test_what_is_default_is_left_out():
    ir = {"pflow": 1, "nodes": [{"id": "a", "type": "x"}, {"id": "b", "type": "y"}]}
    written = {
        **ir,
        "name": "",
        "inputs": {},
        "edges": [{"from": "a", "to": "b", "action": "default"}],
        "mappings": {"a": {"input_mappings": {}}, "b": {}},
    }
    assert flow_to_ir(load_document(written, "x")) == ir


def test_bytes_and_objects_that_look_like_them_keep_apart():
    text = write_json({"a": b"\xff", "b": {"$bytes": "x"}, "c": {"$bytes": 1, "d": 2}})
    assert json.loads(text) == {"a": {"$bytes": "/w=="}, "b": {"$$bytes": "x"}, "c": {"$bytes": 1, "d": 2}}


@pytest.mark.parametrize("value", [float("nan"), 1 << 64, "\ud800", {"\ud800": 1}, {1: 2}, object()])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(PflowError) as raised:
        write_json({"a": [value]})
    assert raised.value.exit == 65


NODE = '''
import pocketflow


class {name}(pocketflow.Node):
    """A node.

    Interface:
    - Reads: shared["text"]: any = null [pipe]  # what
    - Reads: shared["plain"]: str = null [verbatim]  # never a template
    - Writes: shared["out"]: any [pipe]  # what came of it
    - Params: level: any = null  # how
    """

    version = "{version}"
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    for name in ("one", "two"):
        write_node(tmp_path, name, "1.0.0")
    yield tmp_path
    forget_types()


def write_node(folder, name: str, version: str) -> None:
    (folder / f"{name}.py").write_text(NODE.format(name=name.title(), version=version))
    forget_types()


def ir(**members: object) -> dict:
    """A flow of two steps with something of everything, and these members instead of its own."""
    return {
        "pflow": 1,
        "name": "flow",
        "nodes": [
            {"id": "a", "type": "one", "inputs": {"text": "use ${topic.name} well"}, "params": {"level": "$depth"}},
            {"id": "b", "type": "two", "batch": {"over": "a.out", "as": "part"}},
        ],
        "edges": [{"from": "a", "to": "b"}],
        "mappings": {
            "a": {"output_mappings": {"out": "a.out"}},
            "b": {
                "input_mappings": {"text": "template:the ${part} of ${topic}"},
                "output_mappings": {"out": "end/out"},
            },
        },
        "outputs": {"all": "end.out"},
        **members,
    }


def changed(*path: object, to: object) -> dict:
    """That flow with the place at a path set."""
    document = ir()
    place = document
    for step in path[:-1]:
        place = place[step] if isinstance(place, list) else place.setdefault(step, {})
    place[path[-1]] = to
    return document


def hash_of(document: dict, directory: object = ".") -> str:
    return flow_hash(wire(load_document(document, "test", FlowCatalog(str(directory))).usable()))


A, B = ("nodes", 0), ("nodes", 1)


READS, WRITES = ("mappings", "b", "input_mappings"), ("mappings", "b", "output_mappings")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("path", "to"),
    [
        ((*A, "type"), "two"),
        (("nodes",), ir()["nodes"][::-1]),
        (("edges",), []),
        (("edges", 0, "action"), "retry"),
        (("edges", 0), {"from": "b", "to": "a"}),
        ((*READS, "text"), "part"),
        ((*READS, "text"), "template:the ${part} of ${subject}"),
        ((*READS, "text"), "template:the ${part}"),
        ((*READS, "text"), ["part", "topic"]),
        ((*READS, "plain"), "topic"),
        ((*WRITES, "out"), "end/out2"),
        ((*WRITES,), {}),
        (("outputs", "all"), "end"),
        ((*A, "inputs", "text"), "use ${topic.title} well"),
        ((*A, "params", "level"), "$height"),
        ((*A, "params", "level"), 3),
        ((*A, "params", "other"), {"deep": ["$depth"]}),
        ((*B, "batch", "over"), "a"),
        ((*B, "batch", "as"), "piece"),
        ((*B, "batch"), None),
    ],
)
def test_another_step_edge_mapping_or_path_of_a_template_is_another_flow(path, to):
    document = changed(*path, to=to)
    if to is None:
        del document["nodes"][1]["batch"]
    assert hash_of(document) != hash_of(ir())


@pytest.mark.usefixtures("folder")
def test_the_order_in_which_paths_are_alternatives_counts():
    one, other = (hash_of(changed(*READS, "text", to=paths)) for paths in (["part", "topic"], ["topic", "part"]))
    assert one != other


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("name",), "another"),
        (("description",), "what it is for"),
        (("inputs",), {"topic": {"type": "dict", "default": {"name": "x"}}, "depth": {"type": "int"}}),
        ((*A, "retries"), 3),
        ((*A, "params", "level"), "${depth}"),
        ((*A, "params", "other"), 5),
        ((*A, "params", "other"), "costs $$5 and $ 5"),
        ((*A, "inputs", "text"), "make better use of ${topic.name}"),
        ((*A, "inputs", "plain"), "$not a template"),
        ((*B, "inputs"), {"plain": "x"}),
        ((*B, "batch", "jobs"), 4),
        ((*READS, "text"), "template:of ${topic} the ${part}, and again ${part}"),
        ((*WRITES, "out"), "end.out"),
        (("outputs", "all"), "end/out"),
        (("mappings", "b"), dict(reversed(ir()["mappings"]["b"].items()))),
        (("mappings",), dict(reversed(ir()["mappings"].items()))),
    ],
)
def test_params_values_and_the_order_of_members_are_no_other_flow(path, to):
    assert hash_of(changed(*path, to=to)) == hash_of(ir())


def test_another_version_of_a_node_is_another_flow(folder):
    before = hash_of(ir())
    write_node(folder, "one", "1.0.1")
    assert hash_of(ir()) != before


@pytest.mark.usefixtures("folder")
def test_the_version_asked_for_counts_where_the_node_is_not_known():
    asked = [hash_of(ir(nodes=[{"id": "a", "type": "nowhere", "version": version}], edges=[])) for version in "12"]
    known = [hash_of(ir(nodes=[{"id": "a", "type": "one", "version": version}], edges=[])) for version in "12"]
    assert asked[0] != asked[1]
    assert known[0] == known[1]


def write_flow(folder, name: str, document: dict) -> None:
    (folder / name).write_text(json.dumps(document))
    forget_types()


def test_a_flow_in_it_counts_with_all_that_counts_of_that_flow(folder):
    inner = {"nodes": [{"id": "x", "type": "one", "params": {"level": 1}}]}
    middle = {"nodes": [{"id": "in", "type": "./inner.pflow.json"}, {"id": "in2", "type": "./inner.pflow.json"}]}
    outer = {"nodes": [{"id": "out", "type": "./middle.pflow.json"}]}
    write_flow(folder, "middle.pflow.json", middle)
    write_flow(folder, "inner.pflow.json", inner)
    before = hash_of(outer, folder)
    inner["nodes"][0]["params"]["level"] = 2
    write_flow(folder, "inner.pflow.json", inner)
    assert hash_of(outer, folder) == before
    inner["nodes"][0]["type"] = "two"
    write_flow(folder, "inner.pflow.json", inner)
    assert hash_of(outer, folder) != before


@pytest.mark.usefixtures("folder")
def test_a_hash_stays_what_it_is():
    """So that a lock file or a snapshot that was written today is understood tomorrow."""
    assert hash_of(ir()) == "53531c7811def50132821e8256c3de6fb09bfb5f1e9610ebf9ea8feaac9bd5c7"


OBJECTS = {"input_bindings": {"url": "video_url"}, "output_bindings": {"t": "raw"}, "config": {"language": "en"}}


def test_bindings_become_mappings_and_params():
    node, mapping, dialect = convert({"id": "fetch", "name": "yt", **OBJECTS}, {})
    assert node == {"id": "fetch", "name": "yt", "params": {"language": "en", **OBJECTS}}
    assert mapping == {"input_mappings": {"url": "video_url"}, "output_mappings": {"t": "raw"}}
    assert dialect == "bindings"


def test_keys_stay_params_and_map_themselves():
    params = {"input_key": "raw_texts/doc1.txt", "output_key": "summaries/doc1.txt", "n": 1}
    node, mapping, dialect = convert({"id": "a", "params": params}, {})
    assert node == {"id": "a", "params": params}
    assert mapping == {
        "input_mappings": {"raw_texts/doc1.txt": "raw_texts/doc1.txt"},
        "output_mappings": {"summaries/doc1.txt": "summaries/doc1.txt"},
    }
    assert dialect == "keys"


def test_what_mappings_say_counts_before_what_the_node_says():
    written = {"input_mappings": {"url": "other"}, "output_mappings": {"more": "x"}}
    _, mapping, _ = convert({"id": "a", **OBJECTS}, written)
    assert mapping == {"input_mappings": {"url": "other"}, "output_mappings": {"t": "raw", "more": "x"}}
    _, mapping, _ = convert({"id": "a", "params": {"input_key": "url"}}, written)
    assert mapping["input_mappings"] == {"url": "other"}


def test_a_mixed_file_is_converted_node_by_node():
    flow = load_document(
        {
            "nodes": [
                {"type": "llm", "params": {"model": "m"}},
                {"type": "Summarize", "params": {"input_key": "a/b"}},
                {"type": "Fetch", "input_bindings": {"url": "u"}},
            ],
            "mappings": {"llm": {"input_mappings": {"prompt": "text"}}},
        },
        "x",
    )
    assert [step.input_mappings for step in flow.steps] == [{"prompt": "text"}, {"a/b": "a/b"}, {"url": "u"}]
    assert flow.steps[0].params == {"model": "m"}
    assert flow.dialect == "bindings"


KEYED = """
import pocketflow

class Keyed(pocketflow.Node):
    '''Take a key.

    Interface:
    - Reads: shared["key"]: str [secret]  # who asks
    - Reads: shared["plain"]: str = ""  # what for
    - Params: token: str = null [secret] [env KEYED]  # who asks
    '''
"""


def test_each_secret_of_a_flow_is_masked_where_it_stands(tmp_path, monkeypatch):
    (tmp_path / "keyed.py").write_text(KEYED)
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    forget_types()
    said = {"params": {"token": "hush-1"}, "inputs": {"key": "hush-2", "plain": "said"}}
    document = {
        "inputs": {"key": {"type": "str", "default": "hush-3"}},
        "nodes": [{"id": id, "type": "keyed", **(said if id == "b" else {})} for id in "zabc"],
        "mappings": {"c": {"input_mappings": {"key": "template:hush-4 $key"}}},
    }
    inside = {"id": "inner", "nodes": [{"id": "d", "type": "keyed", **said}], "mappings": document["mappings"]}
    inside = {**inside, "nodes": [*inside["nodes"], {"id": "c", "type": "keyed"}]}
    of_seed_2 = {
        "id": "e",
        "type": "keyed",
        "config": {"token": "hush-5"},
        "input_bindings": {"key": "template:hush-6"},
    }
    document["nodes"] += [inside, of_seed_2]
    ir = masked_ir(wire(load_document(document, "flow", FlowCatalog())))
    forget_types()
    assert "hush" not in str(ir)
    assert ir["nodes"][2] == {
        "id": "b",
        "type": "keyed",
        "params": {"token": "***"},
        "inputs": {"key": "***", "plain": "said"},
    }
    assert ir["mappings"]["c"]["input_mappings"] == {"key": "template:***"}
    assert ir["inputs"]["key"]["default"] == "***"
    assert ir["nodes"][4]["nodes"][0] == {**ir["nodes"][2], "id": "d"}
    assert ir["nodes"][4]["mappings"] == {"c": ir["mappings"]["c"]}
