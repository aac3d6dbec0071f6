"""Seed 001: nodes with natural keys, alone, in pocketflow's flows and behind the proxy; templates and the IR."""

import json

import pocketflow
import pytest

import pflow
from pflow.catalog.registry import load_file
from tests.peers.repository import git
from tests.seeds.blocks import HERE, block, execute
from tests.seeds.running import BODY, ISSUE, TITLE

LLM_NODE = load_file(str(HERE / "nodes" / "printed" / "llm_node.py"), "llm-node")


def test_the_store_comes_first_then_the_params():
    names = execute("001", 1, {})
    node = type("Either", (pflow.Node,), {"prep": names["prep"]})()
    node.set_params({"key": "param"})
    assert (node.prep({"key": "stored"}), node.prep({})) == ("stored", "param")
    node.set_params({})
    with pytest.raises(ValueError, match="key must be in shared store or params"):
        node.prep({})


@pytest.mark.parametrize(("flow", "temperature"), [(pflow.Flow, 0.3), (pocketflow.Flow, 0.7)])
def test_a_flow_keeps_its_nodes_params(flow, temperature):
    """pocketflow's own erases them: there the node falls back on its default."""
    names = execute("001", 11, {"LLMNode": LLM_NODE, "Flow": flow})
    shared = {"prompt": "Input content"}
    names["flow"].run(shared)
    assert shared["response"] == f"gpt-4 at {temperature}, None: Input content"


def test_the_levels_of_mapping():
    """None, keys, and paths, as printed, with the paper's own IR. Nothing that is printed makes `formatted_prompt`."""
    names = {"Node": pflow.Node, "call_llm": lambda prompt, model, **more: f"{model}: {prompt}"}
    node = execute("001", 7, {**names})["LLMNode"]
    names = {"LLMNode": node, "NodeAwareSharedStore": pflow.NodeAwareSharedStore, "Flow": pflow.Flow}
    names |= {"ir": json.loads(block("001", 14))}
    shared = execute("001", 9, {**names})["shared"]
    assert shared["response"] == "gpt-4: Summarize this content: Input content"
    asked = node()
    asked.set_params({"prompt": "a param"})
    shared = execute("001", 10, {**names, "llm_node": asked})["shared"]
    assert shared == {"raw_transcript": "Input content", "summary": "gpt-4: a param"}
    with pytest.raises(ValueError, match="prompt must be in shared store or params"):
        execute("001", 10, {**names, "llm_node": node()})
    shared = execute("001", 12, {**names, "shared": {"formatted_prompt": "Go"}})["shared"]
    assert shared == {"formatted_prompt": "Go", "output": {"video_summary": "claude-3-opus: Go"}}
    execute("001", 8, {"LLMNode": node})["test_llm_node"]()


def test_a_path_is_a_place_in_the_store():
    shared = {}
    proxy = pflow.NodeAwareSharedStore(shared, {"again": "raw_texts/doc1.txt"}, {"text": "raw_texts/doc1.txt"})
    proxy["text"] = "Some input content"
    assert shared == execute("001", 13, {})["shared"]
    assert proxy["again"] == "Some input content"


def test_the_printed_node_runs_in_a_flow(place):
    """Its interface is prose, so any key and any param pass."""
    flow = {"nodes": [{"type": "LLMNode", "params": {"model": "gpt-4", "temperature": 0.5}}]}
    assert place.use("printed").run(flow, "--prompt=Go").store["response"] == "gpt-4 at 0.5, None: Go"
    ran = place.run(flow)
    assert (ran.code, "prompt must be in shared store or params" in ran.err) == (1, True)


def test_the_chain_of_templates_runs_as_it_is_printed(place):
    """Nothing writes `$commit_message` and `$code_report`: they are what the step before hands on, and that is said."""
    place.make_repository()
    ran = place.pflow(block("001", 3))
    message = "Write commit message for: Done."
    assert (ran.store["issue"], ran.store["issue_title"], ran.store["issue_number"]) == (
        ISSUE.format(1234),
        TITLE,
        "1234",
    )
    assert (ran.store["claude-code"]["report"], ran.store["claude-code"]["changed_files"]) == ("Done.", ["fix.txt"])
    assert ran.store["llm"]["response"] == ran.store["commit_data"]["subject"] == message
    assert "nothing writes '$code_report' in --prompt of 'llm'; it is read as the output of 'claude-code'" in ran.err
    assert "nothing writes '$commit_message' in --message of 'git-commit'" in ran.err
    assert git(place.directory, "show", "--format=%B", "--name-only").split() == [*message.split(), "fix.txt"]
    reads = {step["node"]: step["reads"] for step in place.trace()["execution_trace"]}
    assert reads["llm"] == {"prompt": ["claude-code.report"]}
    assert reads["git-commit"]["message"] == ["llm.response"]


def test_a_template_of_several_lines_is_filled_from_the_store(place):
    """In single quotes; in double quotes the shell has taken `$issue` before pflow sees it."""
    command = block("001", 2).split("\n\n")[0].split("\n", 1)[1]
    place.environment["CLAUDE_PEER_SEEN"] = str(place.directory / "seen")
    for quote, issue in (("'", BODY), ('"', "")):
        flow = command.replace('"', quote)
        ran = place.sh(f"pflow-set -n issue='{BODY}' | pflow {flow} | pflow-get report")
        assert ran.out == "Done.\n"
        prompt = json.loads(place.read("seen"))["prompt"]
        assert prompt.startswith("<instructions>\n                        1. Understand")
        assert prompt.rstrip("\n").endswith("This is the issue: " + issue)


def test_the_ir_runs(place):
    ran = place.run(block("001", 14), "--prompt=Say this", "--model=echo", "--path=out.md")
    assert (ran.store["formatted_prompt"], ran.store["content"]) == ("Say this", "Say this")
    assert place.read("out.md") == "Say this"
    assert place.snapshot()["config_overrides"] == {"llm": {"model": "echo"}}


LOOP_NODE = '''
from pflow import Node

class {name}(Node):
    """A node of the loop: validator, then processor until it is long enough, then finalizer.

    Interface:
    {items}
    """

    def post(self, shared, prep_res, exec_res):
        {work}
'''

LOOP_NODES = {
    "Validator": ('- Reads: shared["draft"]: str  # what to judge\n    - Actions: retry_needed, complete',
                  'return "complete" if len(shared["draft"]) > 5 else "retry_needed"'),
    "Processor": ('- Reads: shared["draft"]: str  # what to lengthen\n    - Writes: shared["draft"]: str  # longer',
                  'shared["draft"] += "!"'),
    "Finalizer": ('- Reads: shared["draft"]: str  # what it came to\n    - Writes: shared["final"]: str  # loud',
                  'shared["final"] = shared["draft"].upper()'),
}  # fmt: skip
LOOP_EDGES = [
    {"from": "validator", "to": "processor", "action": "retry_needed"},
    {"from": "processor", "to": "validator"},
    {"from": "validator", "to": "finalizer", "action": "complete"},
]


@pytest.mark.parametrize(
    ("members", "flag"),
    [
        ({}, "--draft"),
        ({"inputs": {"draft": {"type": "str"}}}, "--draft"),
        ({"outputs": {"final": "final", "last": "processor.draft"}}, "--draft"),
        ({"mappings": {"validator": {"input_mappings": {"draft": "text"}},
                       "processor": {"input_mappings": {"draft": "text"}, "output_mappings": {"draft": "text"}},
                       "finalizer": {"input_mappings": {"draft": "text"}}}}, "--text"),
        ({"mappings": {"validator": {"input_mappings": {"draft": ["begin", "draft"]}},
                       "processor": {"input_mappings": {"draft": ["begin", "draft"]}}}}, "--begin"),
    ],
)  # fmt: skip
def test_the_validator_loop_is_started_by_a_flag(place, members, flag):
    (place.directory / "nodes").mkdir()
    for name, (items, work) in LOOP_NODES.items():
        place.write(f"nodes/{name.lower()}.py", LOOP_NODE.format(name=name, items=items, work=work))
    place.environment["PFLOW_NODES"] = str(place.directory / "nodes")
    flow = {"nodes": [{"id": "validator"}, {"id": "processor"}, {"id": "finalizer"}], "edges": LOOP_EDGES, **members}
    assert place.run(flow, f"{flag}=Seed").store["final"] == "SEED!!"
    missing = place.run(flow)
    assert missing.code == 66
    assert f"for flow: nothing gives it (PF03); {flag}=STR" in missing.err
