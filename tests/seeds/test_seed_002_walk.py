"""Seed 002: its walk-through, with its nodes as they are printed, and the flow that its text generates."""

import json

import pocketflow
import pytest

import pflow
from pflow.catalog.registry import load_file
from tests.seeds.blocks import HERE, block, execute

NODES = HERE / "nodes" / "bindings"
STATE = execute("002", 22, execute("002", 21, {}))["flow_execution"]
"""The store, the snapshot and the trace that section 13 ends with."""

FLAGS = ("--url=https://youtu.be/abc123", "--temperature=0.9")


@pytest.fixture
def walked(place):
    """The run of section 13: the IR of section 8, the flags of the command."""
    ran = place.use("bindings").run(block("002", 4), *FLAGS)
    assert ran.store == STATE["shared_store"]
    assert ran.store.keys() == execute("002", 10, {})["shared"].keys()
    return place


def test_the_store_is_the_printed_one(walked):
    assert json.loads(walked.pflow("trace", "--store", "--json").out)["store"] == {
        key: {"type": "str", "size": len(value)} for key, value in STATE["shared_store"].items()
    }


def test_the_snapshot_is_the_printed_one(walked):
    assert walked.snapshot() == STATE["derived_snapshot"]


def test_the_trace_is_the_printed_one(walked):
    trace = walked.trace()["execution_trace"]
    assert [{name: step[name] for name in ("node", "read_keys", "write_keys")} for step in trace] == (
        STATE["execution_trace"]
    )


def test_the_node_gets_the_temperature_of_the_command(walked):
    assert walked.read("asked") == "0.9 This is the video transcript content..."


def test_without_a_flag_the_config_of_the_ir_counts(place):
    place.use("bindings").run(block("002", 4), FLAGS[0])
    assert place.read("asked").startswith("0.7 ")
    assert place.snapshot()["config_overrides"] == {}


def test_both_ways_to_lay_the_ir_out_are_one_flow(walked):
    first = walked.trace()["flow"]["hash"]
    walked.run(block("002", 3), *FLAGS)
    assert walked.trace()["flow"]["hash"] == first


def test_the_flow_hash_has_the_bindings_in_it_and_no_config(walked):
    first = walked.trace()["flow"]["hash"]
    flow = json.loads(block("002", 4))
    flow["nodes"][1]["config"] = {"temperature": 0.1, "more": "x"}
    walked.run(flow, *FLAGS)
    assert walked.trace()["flow"]["hash"] == first
    flow["nodes"][1]["output_bindings"] = {"summary": "gist"}
    walked.run(flow, *FLAGS)
    assert walked.trace()["flow"]["hash"] != first


def generated():
    """What the generated code of section 8 stands on."""
    fetch = load_file(str(NODES / "yt_transcript.py"), "yt-transcript")
    summarise = load_file(str(NODES / "summarise_text.py"), "summarise-text")
    return {"YTTranscript": fetch, "SummarizeText": summarise, "SummariseText": summarise, "Flow": pflow.Flow}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_generated_flow_runs(here):
    names = execute("002", 7, generated())
    shared = execute("002", 6, {})["shared"]
    names["create_flow"]().run(shared)
    assert shared == STATE["shared_store"]


def test_the_generated_command_runs(here):
    execute("002", 7, generated())["run_with_cli"]()
    assert (here / "asked").read_text() == "0.9 This is the video transcript content..."


def test_under_pocketflows_own_flow_the_nodes_lose_their_bindings(here):
    """It hands every node the flow's params (DESIGN.md, section 6)."""
    names = execute("002", 7, {**generated(), "Flow": pocketflow.Flow})
    with pytest.raises(KeyError, match="input_bindings"):
        names["run_with_cli"]()


def test_each_node_runs_alone_as_section_13_shows(here):
    names = execute("002", 17, execute("002", 13, generated()))
    shared = execute("002", 12, {})["shared"]
    names["yt_node"].run(shared)
    assert shared == {key: STATE["shared_store"][key] for key in ("video_url", "raw_transcript")}
    names["summarise_node"].run(shared)
    assert shared == STATE["shared_store"]


def test_the_listing_of_section_4_runs():
    names = {"Node": pocketflow.Node, "fetch_transcript": lambda url, language: f"{url} in {language}"}
    node = execute("002", 1, names)["node"]
    shared = {"video_url": "https://youtu.be/abc123"}
    node.run(shared)
    assert shared["raw_transcript"] == "https://youtu.be/abc123 in en"
