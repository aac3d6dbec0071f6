"""Each IR listing of the papers, exported as a shell script, ends with the store that its run ends with."""

import json
import shlex

import pytest

from pflow.catalog.find import forget_types
from pflow.flow.load import load_text
from pflow.flow.pipe.write import write_pipe
from tests.peers.repository import git
from tests.seeds.blocks import HERE, block

URL = "--url=https://youtu.be/abc123"


def fenced(paper, number):
    """The member that a fragment of JSON prints."""
    return json.loads("{" + block(paper, number).split("\n", 1)[1].partition("\n\n")[0] + "}")


def repaired():
    """The complex IR of paper 003 with its quote and its step."""
    flow = json.loads(block("003", 11).replace('0.7"', "0.7"))
    flow["nodes"][1] |= {"id": "llm", "version": "1.0.0"}
    return flow


def with_own_nodes():
    """The IR of paper 002 with the nodes that it prints, under names that no node of pflow's has."""
    flow = json.loads(block("002", 4))
    for node in flow["nodes"]:
        node["name"] = f"own-{node['name']}"
    return flow


@pytest.mark.parametrize(
    ("flow", "flags", "stdin"),
    [
        (block("000", 3), ['--raw-texts={"doc1.txt": "Some input"}'], ""),
        (block("001", 14).replace("gpt-4", "echo"), ["--prompt=Say", "--path=out.md"], ""),
        (block("002", 3), [URL], ""),
        (block("002", 4), [URL], ""),
        (with_own_nodes(), [URL], ""),
        ({**json.loads(block("003", 6)), **fenced("003", 37)}, [URL], ""),
        (repaired(), [URL, "--prompt=Go"], ""),
        (block("004", 5), [], "Go"),
        (block("004", 7), ["--issue=1234"], ""),
    ],
    ids=["000.3", "001.14", "002.3", "002.4", "002.4 own", "003.6", "003.11", "004.5", "004.7"],
)
def test_a_listing_and_its_script_end_with_the_same_store(place, flow, flags, stdin):
    own = place.directory.parent / "own"
    own.mkdir()
    for name in ("yt_transcript", "summarise_text"):
        printed = (HERE / "nodes" / "bindings" / f"{name}.py").read_text()
        (own / f"own_{name}.py").write_text(printed.replace("class ", "class Own"))
    place.make_repository().use("keys").environment["PFLOW_NODES"] += f":{own}"
    ran = place.run(flow, *flags, stdin=stdin)
    git(place.directory, "clean", "--quiet", "--force", "--exclude=flow.pflow.json")
    exported = place.pflow("export", "--to=sh", "flow.pflow.json")
    assert exported.code == 0, exported.err
    words = shlex.join(["sh", place.write("flow.sh", exported.out), *flags])
    done = place.sh(f"printf %s {stdin} | {words}" if stdin else words)
    assert (done.store, "is carried" in done.err) == (ran.store, False)


def test_the_listings_whose_names_differ_have_a_pipe_form(monkeypatch):
    monkeypatch.delenv("PFLOW_NODES", raising=False)
    forget_types()
    fetched, summarized = write_pipe(load_text(json.dumps(repaired()), "flow")).splitlines()[1:]
    assert fetched == "yt-transcript --language=en --map-in=url=video_source --map-out=transcript=raw_transcript"
    mapped = "--map-in=prompt=formatted_prompt --map-in=text= --map-out=response=article_summary"
    assert summarized == f"  => llm --temperature=0.7 {mapped}"
    _, analyze, fix, *_, last = write_pipe(load_text(block("004", 7), "flow")).splitlines()
    mapped = "--prompt='${fetch.issue_data.body}' --map-in=text= --map-out=response=analysis --map-out=usage=usage"
    assert analyze == f"  => llm:analyze {mapped}"  # fix writes usage, too: each would move under its step
    assert fix == "  => claude-code:fix --prompt='Fix this issue:"
    assert last == "${analysis}' --map-out=usage=usage"
