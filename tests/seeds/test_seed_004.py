"""Seed 004: the proxy, and the trace that shows what it did."""

import json
import re

import pflow
from tests.seeds.blocks import block, execute
from tests.seeds.running import BODY, TITLE

ISSUE = {"title": TITLE, "body": BODY, "labels": [{"name": "bug"}, {"name": "mobile"}]}


def test_the_proxy_maps_as_the_fragments_say():
    shared = {}
    execute("004", 1, {"shared": pflow.NodeAwareSharedStore(shared, {}, {"prompt": "analyzer.input"})})
    assert shared == {"analyzer": {"input": "Analyze this"}}
    proxy = pflow.NodeAwareSharedStore({"fetcher": {"issue_data": ISSUE}}, **json.loads("{" + block("004", 2) + "}"))
    assert proxy["prompt"] == BODY
    shared = {"response": "another's"}
    pflow.NodeAwareSharedStore(shared, **json.loads("{" + block("004", 3) + "}"))["response"] = "mine"
    assert shared == {"response": "another's", "analyzer": {"response": "mine"}}
    mappings = json.loads("{" + block("004", 4).strip().replace("\n", ",\n") + "}")
    proxy = pflow.NodeAwareSharedStore({"github_response": {"data": ISSUE}}, mappings)
    assert (proxy["issue_title"], proxy["first_label"]) == (TITLE, "bug")


def test_the_github_example_runs_and_shows_its_trace_and_its_store(place):
    place.make_repository().write("flow.pflow.json", block("004", 7))
    place.environment["CLAUDE_PEER_SEEN"] = str(place.directory.parent / "seen")
    assert place.pflow("check", "flow.pflow.json").out.endswith("no findings\n")  # usage is overwritten, and not read
    ran = place.run(block("004", 7), "--issue=1234")
    assert {key: ran.store["fetch"]["issue_data"][key] for key in ("title", "body", "number")} == {
        "title": TITLE, "body": BODY, "number": 1234,
    }  # fmt: skip
    assert (ran.store["analysis"], ran.store["report"], ran.store["changed_files"]) == (BODY, "Done.", ["fix.txt"])
    assert json.loads(place.read("../seen"))["prompt"] == f"Fix this issue:\n{TITLE}\n\nAnalysis:\n{BODY}"
    assert "response" not in ran.store
    assert place.trace_lines()[:10] == [
        "[1] fetch (github-get-issue)",
        "    ← reads: issue_number from issue_number",
        "    → writes: issue, issue_title, fetch.issue_data",
        "",
        "[2] analyze (llm)",
        "    ← reads: prompt from fetch.issue_data.body",
        "    → writes: analysis, usage",
        "",
        "[3] fix (claude-code)",
        "    ← reads: prompt from fetch.issue_data.title and analysis",
    ]
    shown = place.pflow("trace", "last", "--store").out.partition("\nthe store\n")[2]
    assert [line.split(":")[0].strip() for line in shown.splitlines()][:6] == [
        "issue_number", "issue", "issue_title", "fetch", "analysis", "usage",
    ]  # fmt: skip


PLANNED = {
    "nodes": [
        {"id": "fetcher", "type": "github-get-issue"},
        {"id": "analyzer", "type": "llm"},
        {"id": "summarizer", "type": "llm"},
    ],
    "mappings": {
        "fetcher": {
            "output_mappings": {"issue_data": "fetcher.issue_data", "issue_title": "fetcher.issue_title"},
        },
        "analyzer": {
            "input_mappings": {"prompt": "fetcher.issue_data.body"},
            "output_mappings": {"response": "analyzer.response"},
        },
        "summarizer": {
            "input_mappings": {"prompt": "analyzer.response"},
            "output_mappings": {"response": "summarizer.response"},
        },
    },
}
"""The flow whose trace the paper prints, as its planner would map it."""


def test_the_execution_trace_has_the_printed_lines(place):
    """Each line with what it does not print left out: times, data of flags, and writes that no mapping names."""
    place.make_repository().run(PLANNED, "--issue=1234")
    text = "\n".join(place.trace_lines()).partition("\nrun ")[0]
    text = text.replace("    ← reads: issue_number from issue_number\n", "")
    text = re.sub(r", usage$", "", text, flags=re.MULTILINE)
    found, printed = (re.split(r"\n|, |writes: ", each.strip()) for each in (text, block("004", 6)))
    assert sorted(found) == sorted([*printed, "issue"])


def test_the_llm_steps_of_the_paper_keep_apart(place):
    """Its IR, with what it maps: the second asks with what the first answered."""
    ran = place.run(block("004", 5), "--analyzer.prompt=Go")
    assert ran.store["analyzer"] == ran.store["summarizer"] == {"response": "Go"}
    assert ran.store["usage"]["model"] == "echo"
    assert "response" not in ran.store
