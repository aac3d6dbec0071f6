"""Seed 001: nodes with natural keys, by themselves, in pocketflow's flows and behind the proxy."""

import pocketflow
import pytest

import pflow
from pflow.catalog.registry import load_file
from tests.seeds.blocks import HERE, execute

BASES = pytest.mark.parametrize("base", [pocketflow.Node, pflow.Node])
LLM_NODE = load_file(str(HERE / "nodes" / "printed" / "llm_node.py"), "llm-node")


def named(id):
    """The node as generated code takes it: with the id that its step has."""
    return type("LLMNode", (LLM_NODE,), {"id": id})


class Visited(pocketflow.Node):
    """Notes that it ran, and returns the actions that it was given, one a visit."""

    def __init__(self, name, *actions):
        super().__init__()
        self.name, self.actions = name, list(actions)

    def post(self, shared, prepared, result):
        shared.setdefault("ran", []).append(self.name)
        return self.actions.pop(0) if self.actions else None


@BASES
def test_the_store_comes_first_then_the_params(base):
    names = execute("001", 1, {})
    node = type("Either", (base,), {"prep": names["prep"]})()
    node.set_params({"key": "param"})
    assert node.prep({"key": "stored"}) == "stored"
    assert node.prep({}) == "param"
    node.set_params({})
    with pytest.raises(ValueError, match="key must be in shared store or params"):
        node.prep({})


def test_a_node_that_looks_at_the_flow_fails():
    """The text's WRONG: `exec` is given no store."""
    names = {"Node": pocketflow.Node, **{name: Visited(name) for name in ("validator", "error_handler", "processor")}}
    execute("001", 5, names)
    with pytest.raises(NameError, match="shared"):
        names["BadNode"]().run({"previous_node_failed": True})


@pytest.mark.parametrize(("action", "after"), [("failed", "error_handler"), ("success", "processor")])
@pytest.mark.parametrize("flow", [pocketflow.Flow, pflow.Flow])
def test_the_flow_chooses_by_action(flow, action, after):
    names = {"Node": pocketflow.Node, **{name: Visited(name) for name in ("error_handler", "processor")}}
    names["validator"] = Visited("validator", action)
    execute("001", 5, names)
    shared = {}
    flow(start=names["validator"]).run(shared)
    assert shared["ran"] == ["validator", after]


@pytest.mark.parametrize("flow", [pocketflow.Flow, pflow.Flow])
def test_a_loop_is_an_edge_back(flow):
    names = {"Node": pocketflow.Node, **{name: Visited(name) for name in ("node_a", "processor", "finalizer")}}
    names["validator"] = Visited("validator", "retry_needed", "retry_needed", "complete")
    execute("001", 6, names)
    shared = {}
    flow(start=names["node_a"]).run(shared)
    again = ["validator", "processor"]
    assert shared["ran"] == ["node_a", *again, *again, "validator", "finalizer"]


@BASES
def test_the_printed_test_passes(base):
    names = {"Node": base, "call_llm": lambda **asked: f"{asked['model']}: {asked['prompt']}"}
    execute("001", 8, execute("001", 7, names))["test_llm_node"]()


def test_level_1_has_no_mappings():
    names = execute("001", 9, {"LLMNode": LLM_NODE, "Flow": pflow.Flow})
    assert names["shared"]["response"] == "gpt-4 at 0.7, None: Summarize this content: Input content"


@pytest.mark.parametrize(("flow", "temperature"), [(pflow.Flow, 0.3), (pocketflow.Flow, 0.7)])
def test_a_flow_keeps_its_nodes_params(flow, temperature):
    """pocketflow's own erases them (DESIGN.md, section 6): there the node falls back on its default."""
    names = execute("001", 11, {"LLMNode": LLM_NODE, "Flow": flow})
    shared = {"prompt": "Input content"}
    names["flow"].run(shared)
    assert shared["response"] == f"gpt-4 at {temperature}, None: Input content"


def test_level_2_maps_keys():
    """Its `formatted_prompt` is "built from transcript", by nothing that is printed: without it the node says so."""
    shared = {"raw_transcript": "Input content"}
    node = named("llm")()
    names = {"llm_node": node, "ir": {"mappings": {"llm": {}}}, "NodeAwareSharedStore": pflow.NodeAwareSharedStore}
    with pytest.raises(ValueError, match="prompt must be in shared store or params"):
        execute("001", 10, dict(names))
    node.set_params({"prompt": "a param in its place"})
    assert execute("001", 10, dict(names))["shared"] == {
        **shared,
        "summary": "gpt-4 at 0.7, None: a param in its place",
    }
    del names["ir"]["mappings"]["llm"]
    node.set_params({"prompt": "no proxy"})
    assert execute("001", 10, names)["shared"] == {**shared, "response": "gpt-4 at 0.7, None: no proxy"}


def test_flow_b_writes_at_a_path():
    names = {"LLMNode": named("llm"), "ir": {"mappings": {"llm": {}}}, "shared": {"formatted_prompt": "Go"}}
    execute("001", 12, {**names, "NodeAwareSharedStore": pflow.NodeAwareSharedStore})
    assert names["shared"] == {
        "formatted_prompt": "Go",
        "output": {"video_summary": "claude-3-opus at 0.8, None: Go"},
    }


def test_a_path_is_a_place_in_the_store():
    wanted = execute("001", 13, {})["shared"]
    shared = {}
    proxy = pflow.NodeAwareSharedStore(shared, {"again": "raw_texts/doc1.txt"}, {"text": "raw_texts/doc1.txt"})
    proxy["text"] = "Some input content"
    assert shared == wanted
    assert proxy["again"] == "Some input content"


def test_the_printed_node_runs_in_a_flow(place):
    """Its interface is prose, so any key and any param pass."""
    flow = {"nodes": [{"type": "LLMNode", "params": {"model": "gpt-4", "temperature": 0.5}}]}
    place.use("printed")
    assert place.run(flow, "--prompt=Go").store["response"] == "gpt-4 at 0.5, None: Go"
    flow["nodes"][0]["params"]["prompt"] = "of the params"
    assert place.run(flow).store == {"response": "gpt-4 at 0.5, None: of the params"}
    ran = place.run({"nodes": [{"type": "LLMNode"}]})
    assert (ran.code, "prompt must be in shared store or params" in ran.err) == (1, True)
