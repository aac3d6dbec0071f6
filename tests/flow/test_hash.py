"""The flow hash: what makes a flow another one, and what does not."""

import json

import pytest

from pflow.catalog.kinds import forget_kinds
from pflow.flow.load import load_document
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_hash
from pflow.flow.wiring import wire

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


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    for name in ("one", "two"):
        write_node(tmp_path, name, "1.0.0")
    yield tmp_path
    forget_kinds()


def write_node(folder, name: str, version: str) -> None:
    (folder / f"{name}.py").write_text(NODE.format(name=name.title(), version=version))
    forget_kinds()


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


def test_the_order_in_which_paths_are_alternatives_counts():
    one, other = (hash_of(changed(*READS, "text", to=paths)) for paths in (["part", "topic"], ["topic", "part"]))
    assert one != other


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


def test_the_version_asked_for_counts_where_the_node_is_not_known():
    asked = [hash_of(ir(nodes=[{"id": "a", "type": "nowhere", "version": version}], edges=[])) for version in "12"]
    known = [hash_of(ir(nodes=[{"id": "a", "type": "one", "version": version}], edges=[])) for version in "12"]
    assert asked[0] != asked[1]
    assert known[0] == known[1]


def write_flow(folder, name: str, document: dict) -> None:
    (folder / name).write_text(json.dumps(document))
    forget_kinds()


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


def test_a_hash_stays_what_it_is():
    """So that a lock file or a snapshot that was written today is understood tomorrow."""
    assert hash_of(ir()) == "53531c7811def50132821e8256c3de6fb09bfb5f1e9610ebf9ea8feaac9bd5c7"
