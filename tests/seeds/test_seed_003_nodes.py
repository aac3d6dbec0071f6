"""Seed 003: its nodes, the flows that its text generates, and the proxy."""

import json

import pocketflow
import pytest

import pflow
from pflow.catalog.registry import load_file
from tests.seeds.blocks import HERE, block, execute

NODES = HERE / "nodes"
URL = "https://youtu.be/abc123"
TRANSCRIPT = "This is the video transcript content..."
YT = load_file(str(NODES / "printed" / "yt_transcript.py"), "yt-transcript")
SUMMARISE = load_file(str(NODES / "stand_ins" / "summarise_text.py"), "summarise-text")


def test_the_printed_node_runs_direct_and_behind_the_proxy():
    names = {"Node": pocketflow.Node, "fetch_transcript": lambda url, language: f"{url} in {language}"}
    names = execute("003", 3, {**names, "NodeAwareSharedStore": pflow.NodeAwareSharedStore})
    run, node = names["run_node_with_mapping"], names["YTTranscript"]()
    direct, mapped = {"url": URL}, {"video_source": URL}
    run(node, direct)
    assert direct == {"url": URL, "transcript": f"{URL} in en"}
    run(node, mapped, {"input_mappings": "any"})
    assert mapped == {"video_source": URL, "raw_transcript": f"{URL} in en"}


def test_keys_with_a_slash_are_places_in_objects():
    """The paper's later form has them as keys of one flat object; here they are paths (DESIGN.md, section 1)."""
    flat, paths = execute("003", 1, {})["shared"], execute("003", 2, {})["shared"]
    shared = {}
    proxy = pflow.NodeAwareSharedStore(shared, {}, dict(zip(flat, paths, strict=True)))
    proxy["url"], proxy["transcript"] = paths.values()
    assert shared == {"inputs": {"video_url": URL}, "outputs": {"transcript": "Video content..."}}


def generated():
    """What the generated code of section 9 stands on. Nothing prints the node that makes the prompt of section 9.4."""
    names = {"Node": pocketflow.Node, "fetch_transcript": lambda url, language: "Video transcript content..."}
    fetch = execute("003", 3, names)["YTTranscript"]
    llm = execute("001", 7, {"Node": pocketflow.Node, "call_llm": lambda **asked: "Generated summary..."})["LLMNode"]

    class LLMNode(llm):
        def prep(self, shared):
            shared["prompt"] = f"Summarize this transcript: {shared['transcript']}"
            return super().prep(shared)

    return {"YTTranscriptNode": fetch, "LLMNode": LLMNode, "Flow": pflow.Flow}


def test_the_simple_generated_flow_ends_in_the_printed_store():
    names = execute("003", 10, generated())
    shared = execute("003", 9, {})["shared"]
    names["create_flow"]().run(shared)
    assert shared == execute("003", 16, {})["shared"]
    names["run_with_cli"]()


def test_the_complex_generated_flow_is_a_sketch():
    """A Flow has no `nodes`, nor a node an `id`; every node would get the first one's mappings. The IR says it all."""
    names = execute("003", 13, {**generated(), "ir": {}})
    with pytest.raises(AttributeError, match="nodes"):
        names["run_with_cli"]()
    shared = execute("003", 12, {})["shared"]
    proxy = pflow.NodeAwareSharedStore(shared, {"url": "video_source"}, {"transcript": "raw_transcript"})
    names["create_flow"]().start_node._run(proxy)
    wanted = execute("003", 17, {})["shared"]
    assert shared == {key: wanted[key] for key in ("video_source", "raw_transcript")}


class ReadFileNode(pocketflow.Node):
    def post(self, shared, prepared, result):
        with open(shared.get("path") or self.params["path"]) as file:
            shared["content"] = file.read()


class WriteFileNode(pocketflow.Node):
    def post(self, shared, prepared, result):
        with open(shared.get("path") or self.params["path"], "w") as file:
            file.write(shared["content"])


class LLMNode(pocketflow.Node):
    def post(self, shared, prepared, result):
        shared["content"] = f"{self.params['model']}: {shared['content']}"


def test_the_sequential_generated_flow_runs(tmp_path, monkeypatch):
    """With nodes whose `path` is a param; pflow's own take it from the store, and in flows from a param too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.txt").write_text("some data")
    names = {"ReadFileNode": ReadFileNode, "LLMNode": LLMNode, "WriteFileNode": WriteFileNode, "Flow": pflow.Flow}
    execute("003", 20, names)["create_simple_flow"]().run({})
    assert (tmp_path / "summary.md").read_text() == "claude-sonnet-4-20250514: some data"


def test_the_same_flow_with_params_for_reads_runs(place):
    nodes = [
        {"type": "read-file", "params": {"path": "data.txt"}},
        {"type": "llm", "inputs": {"prompt": "Summarize this data"}},
        {"type": "write-file", "params": {"path": "summary.md"}},
    ]
    mappings = {
        "llm": {"input_mappings": {"text": "content"}},
        "write-file": {"input_mappings": {"content": "response"}},
    }
    place.write("data.txt", "some data")
    assert place.run({"nodes": nodes, "mappings": mappings}).code == 0
    assert place.read("summary.md") == "Summarize this data\n\nsome data"


def test_section_14_step_by_step(tmp_path):
    names = execute("003", 30, {"YTTranscript": YT})
    shared = execute("003", 29, {})["shared"]
    names["yt_node"].run(shared)
    assert shared == {"url": URL, "transcript": TRANSCRIPT}
    names |= execute("003", 34, {"SummariseText": SUMMARISE})
    assert names["summarise_node"].params == {"temperature": 0.9}
    with pytest.raises(KeyError, match="text"):
        names["summarise_node"].run(shared)
    proxied = block("003", 37).partition("# Generated code creates proxy:\n")[2]
    exec(proxied, {**names, "shared": shared, "NodeAwareSharedStore": pflow.NodeAwareSharedStore})
    assert shared == execute("003", 38, {})["shared"]


SIMPLE = json.loads(block("003", 6))
MAPPED = {**SIMPLE, **json.loads("{" + block("003", 37).split("\n", 1)[1].partition("\n\n")[0] + "}")}
"""The simple IR, and with the mapping that section 14 gives it."""


def test_the_simple_ir_lacks_a_text(place):
    """The paper says so itself: a mapping, or a name for both."""
    place.use("printed", "stand_ins")
    ran = place.run(SIMPLE, f"--url={URL}")
    assert (ran.code, "'text'" in ran.err, "--text" in ran.err) == (66, True, True)


def test_with_the_mapping_the_ir_ends_in_the_printed_store(place):
    ran = place.use("printed", "stand_ins").run(MAPPED, f"--url={URL}", "--temperature=0.9")
    assert ran.store == execute("003", 38, {})["shared"]
    assert place.snapshot() == {
        "config_overrides": {"summarise-text": {"temperature": 0.9}},
        "cli_injections": {"url": URL},
    }


def test_the_complex_ir_is_no_json_and_says_where(place):
    ran = place.pflow("check", place.write("flow.pflow.json", block("003", 11)))
    assert (ran.code, "line 11, column 36" in ran.err) == (65, True)


COMPLEX = json.loads(block("003", 11).replace('0.7"', "0.7"))


def test_without_that_quote_its_edges_name_a_step_that_is_not_there(place):
    place.use("stand_ins").write("flow.pflow.json", COMPLEX)
    ran = place.pflow("check", "flow.pflow.json")
    assert ran.code == 65
    assert [line.split(": ")[1:3] for line in ran.out.splitlines()] == [
        ["nodes[1]", "PF12"], ["edges[0].to", "PF12"], ["mappings.llm", "PF12"],
    ]  # fmt: skip


def test_with_the_step_that_they_mean_the_complex_flow_runs(place):
    """Nothing builds `formatted_prompt`: it is an input of the flow."""
    fetch, summarise = COMPLEX["nodes"]
    nodes = [fetch, {**summarise, "id": "llm", "version": "1.0.0"}]
    wanted = execute("003", 17, {})["shared"]
    place.use("printed")
    ran = place.run({**COMPLEX, "nodes": nodes}, f"--url={URL}", f"--prompt={wanted['formatted_prompt']}")
    assert {key: ran.store[key] for key in wanted} == {
        "video_source": URL,
        "raw_transcript": TRANSCRIPT,
        "formatted_prompt": wanted["formatted_prompt"],
        "article_summary": wanted["formatted_prompt"],
    }
