"""Seed 003: its pipe lines, its nodes, the flows that its text generates, and the proxy."""

import json
from typing import ClassVar

import pocketflow
import pytest

import pflow
from pflow.catalog.registry import load_file
from pflow.models.ask import ModelAnswer
from pflow.nodes.llm import Llm
from pflow.nodes.read_file import ReadFile
from pflow.nodes.summarise_text import SummariseText
from pflow.nodes.write_file import WriteFile
from tests.peers.youtube import TRANSCRIPT
from tests.seeds.blocks import HERE, block, execute, line
from tests.seeds.running import ISSUE

NODES = HERE / "nodes"
URL = "https://youtu.be/abc123"
YT = load_file(str(NODES / "printed" / "transcribe.py"), "transcribe")
SUMMARISE = type(
    "SummariseText",
    (SummariseText,),
    {"__doc__": SummariseText.__doc__, "exec": lambda self, task: ModelAnswer(END["summary"], {})},
)
"""The real one, with the answer of the paper."""
END = execute("003", 38, {})["shared"]
"""The store that section 14 ends with."""
SUMMARY = f"{TRANSCRIPT}\n\nSummarize this text. Answer with the summary alone."
"""What the model is asked, and gives back."""


@pytest.fixture(autouse=True)
def _with_data(place, monkeypatch):
    monkeypatch.chdir(place.directory)
    for name in ("data.csv", "new_data.csv"):
        place.write(name, "name,age\nAda,36\nBob,41\n")
    place.write("data.txt", "some data")


EDUCATIONAL = block("003", 26).splitlines()
POINTS = f"{TRANSCRIPT}\n\nExtract key points"


@pytest.mark.parametrize(
    ("flow", "flags", "file", "content"),
    [
        (line("003", 19), [], "summary.md", "some data\n\nSummarize this data"),
        (line("003", 22).replace("VIDEO", "dQw4w9WgXcQ"), [], "outline.md", f"{POINTS}\n\nCreate presentation outline"),
        (EDUCATIONAL[2].partition("Generated: ")[2], [], "results.json", '"rows": 2'),
        (EDUCATIONAL[3].partition("can edit: ")[2], [], "results.json", '"rows": 2'),
        (
            EDUCATIONAL[6].partition("pflow ")[2],
            [],
            "dashboard.html",
            "<td>Ada</td>",
        ),
    ],
)
def test_a_line_writes_its_file(place, flow, flags, file, content):
    """In section 10.2 one llm step writes over the other's response: here they move under their ids (section 6)."""
    store = place.pflow(flow, *flags).store
    assert content in place.read(file)
    assert not {"llm-2", "response"} <= store.keys()
    assert execute("003", 23, {})["shared"].keys() == {"url", "transcript", "response"}


def test_fetch_and_summarize(place):
    """Section 9.4 has `prompt` in the store too: llm's is its own, and the text comes through the pipe."""
    store = place.pflow(line("003", 8)).store
    printed = execute("003", 16, {})["shared"]
    assert printed.keys() - store.keys() == {"prompt"}
    assert (store["url"], store["transcript"]) == (URL, TRANSCRIPT)
    assert store["response"] == f"{TRANSCRIPT}\n\nSummarize this transcript"


def test_comment_on_an_issue(place, github):
    store = place.pflow(line("003", 25)).store
    assert store["response"] == f"{ISSUE.format(123)}\n\nAnalyze this issue and suggest a fix"
    (body,) = github.repository.bodies(123)
    assert body.startswith(store["response"])
    assert store["comment_url"] == github.repository.comments[123][0]["html_url"]


def test_the_walk_through(place):
    """Its node reads `text`, and the one before writes `transcript`: a pipe fits the two together."""
    store = place.pflow(line("003", 28)).store
    assert store.keys() - {"segments", "usage"} == END.keys()
    assert (store["url"], store["transcript"], store["summary"]) == (END["url"], TRANSCRIPT, SUMMARY)


def test_a_mapped_read_has_its_flag_where_the_mapping_says(place):
    """Section 5.1; and a store lives for one run (section 4.2)."""
    flow = {"nodes": [{"type": "yt-transcript"}]}
    assert place.run(flow, f"--url={URL}").store["url"] == URL
    assert place.run(flow).code == 66
    flow["mappings"] = {"yt-transcript": {"input_mappings": {"url": "video_source"}}}
    store = place.run(flow, f"--url={URL}").store
    assert (store["video_source"], store["transcript"], "url" in store) == (URL, TRANSCRIPT, False)


def test_the_printed_node_runs_direct_and_behind_the_proxy():
    names = {"Node": pocketflow.Node, "fetch_transcript": lambda url, language: f"{url} in {language}"}
    names = execute("003", 3, {**names, "NodeAwareSharedStore": pflow.NodeAwareSharedStore})
    run, node = names["run_node_with_mapping"], names["YTTranscript"]()
    direct, mapped = {"url": URL}, {"video_source": URL}
    run(node, direct)
    assert direct == {"url": URL, "transcript": f"{URL} in en"}
    run(node, mapped, {"input_mappings": "any"})
    assert mapped == {"video_source": URL, "raw_transcript": f"{URL} in en"}


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


class LLMNode(pflow.Node):
    """Stands in for the llm of sections 9.2 and 10.1, which says nowhere what it asks: it takes what it finds."""

    asked: ClassVar[list[str]] = []

    def exec(self, text):
        return f"{self.params['model']}: {text}"

    def prep(self, shared):
        self.asked.append(self.id)
        return shared["content"] if "content" in shared else shared["raw_transcript"]

    def post(self, shared, text, answer):
        shared["content"] = answer


def test_the_complex_generated_flow_maps_the_fetching_and_no_more():
    """Section 9.2, with its own IR. The llm gets the mapping of the other node too: so it cannot end in the store of
    section 9.4, whose `formatted_prompt` nothing makes."""
    stores = []
    fetch = execute("003", 3, {"Node": pflow.Node, "fetch_transcript": lambda url, language: f"{url} in {language}"})
    node = type(
        "LLMNode", (LLMNode,), {"prep": lambda self, shared: stores.append(shared) or LLMNode.prep(self, shared)}
    )
    ir = json.loads(block("003", 11).replace('0.7"', "0.7"))
    names = {"YTTranscriptNode": fetch["YTTranscript"], "LLMNode": node, "Flow": pflow.Flow, "ir": ir}
    names = execute("003", 13, {**names, "NodeAwareSharedStore": pflow.NodeAwareSharedStore})
    assert [each.id for each in names["create_flow"]().nodes] == ["yt-transcript", "llm"]
    names["run_with_cli"]()
    text = f"{END['url']} in en"
    mapped = {"video_source": END["url"], "raw_transcript": text, "content": f"claude-sonnet-4-20250514: {text}"}
    assert {key: stores[0][key] for key in mapped} == mapped


def test_the_sequential_flow_runs_where_its_llm_knows_what_to_ask(place):
    """Section 10.1: params stand in for `path`. It prints no prompt, so pflow's own llm has nothing to ask."""
    names = {"ReadFileNode": ReadFile, "WriteFileNode": WriteFile, "Flow": pflow.Flow}
    shared = {}
    execute("003", 20, {**names, "LLMNode": LLMNode})["create_simple_flow"]().run(shared)
    assert shared == {"content": "claude-sonnet-4-20250514: some data"}
    assert place.read("summary.md") == shared["content"]
    with pytest.raises(pflow.PflowError, match="there is no prompt and no text") as caught:
        execute("003", 20, {**names, "LLMNode": Llm})["create_simple_flow"]().run({})
    assert caught.value.exit == 66


def test_section_14_step_by_step():
    names = execute("003", 30, {"YTTranscript": YT})
    shared = execute("003", 29, {})["shared"]
    names["yt_node"].run(shared)
    names |= execute("003", 34, {"SummariseText": SUMMARISE})
    with pytest.raises(KeyError, match="text"):
        names["summarise_node"].run(shared)
    proxied = block("003", 37).partition("# Generated code creates proxy:\n")[2]
    exec(proxied, {**names, "shared": shared, "NodeAwareSharedStore": pflow.NodeAwareSharedStore})
    assert shared == {**END, "usage": {}}


def test_the_simple_ir_lacks_a_text_and_with_a_mapping_ends_in_the_printed_store(place):
    """The paper says so itself: a mapping, or one name for both."""
    ran = place.run(json.loads(block("003", 6)), f"--url={URL}")
    assert (ran.code, "'text'" in ran.err, "--text" in ran.err) == (66, True, True)
    mapping = json.loads("{" + block("003", 37).split("\n", 1)[1].partition("\n\n")[0] + "}")
    mapped = {**json.loads(block("003", 6)), **mapping}
    store = place.run(mapped, f"--url={URL}", "--temperature=0.9").store
    assert (store.keys() - {"segments", "usage"}, store["summary"]) == (END.keys(), SUMMARY)
    assert place.snapshot() == {
        "config_overrides": {"summarise-text": {"temperature": 0.9, "model": "echo"}},
        "cli_injections": {"yt-transcript.url": URL},
    }


def test_the_complex_ir_runs_once_its_quote_and_its_step_are_there(place):
    """Nothing builds `formatted_prompt`: it is an input of the flow."""
    ran = place.pflow("check", place.write("flow.pflow.json", block("003", 11)))
    assert (ran.code, "line 11, column 36" in ran.err) == (65, True)
    flow = json.loads(block("003", 11).replace('0.7"', "0.7"))
    ran = place.pflow("check", place.write("flow.pflow.json", flow))
    assert [found.split(": ")[1:3] for found in ran.out.splitlines()] == [
        ["edges[0].to", "PF12"],
        ["mappings.llm", "PF12"],
    ]
    flow["nodes"][1] |= {"id": "llm", "version": "1.0.0"}
    printed = execute("003", 17, {})["shared"]
    prompt = printed["formatted_prompt"]
    ran = place.run(flow, f"--url={URL}", f"--prompt={prompt}", "--model=echo")
    assert {key: ran.store[key] for key in printed} == {
        "video_source": URL,
        "raw_transcript": TRANSCRIPT,
        "formatted_prompt": prompt,
        "article_summary": prompt,
    }
