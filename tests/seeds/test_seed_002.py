"""Seed 002: its walk-through, its rules, and the flow that its text generates, with its nodes as they are printed."""

import json

import pytest

import pflow
from pflow.catalog.registry import load_file
from tests.peers.youtube import SEGMENTS, TRANSCRIPT
from tests.seeds.blocks import HERE, block, execute, line

NODES = HERE / "nodes" / "bindings"
STATE = execute("002", 22, execute("002", 21, {}))["flow_execution"]
"""The store, the snapshot and the trace that section 13 ends with."""
URL = "--url=https://youtu.be/abc123"
FLAGS = (URL, "--temperature=0.9")
SUMMARY = "{}\n\nSummarize this text. Answer with the summary alone."
"""What the model is asked, and gives back."""


def flow(**changes):
    """The IR of section 8; `changes` are for its last step."""
    ir = json.loads(block("002", 4))
    ir["nodes"][-1].update(changes)
    return ir


@pytest.fixture(autouse=True)
def _there(place, monkeypatch):
    monkeypatch.chdir(place.directory)


def with_model(snapshot):
    """A printed snapshot, with the model that was asked."""
    changed = json.loads(json.dumps(snapshot))
    changed["config_overrides"]["summarise"]["model"] = "echo"
    return changed


def test_the_walk_ends_in_the_printed_store_snapshot_and_trace(place):
    """The real nodes write more than the printed ones: `segments` and `usage`."""
    ran = place.run(block("002", 4), *FLAGS)
    printed = STATE["shared_store"]
    assert ran.store.keys() - {"segments", "usage"} == printed.keys() == execute("002", 10, {})["shared"].keys()
    assert (ran.store["video_url"], ran.store["raw_transcript"]) == (printed["video_url"], TRANSCRIPT)
    assert (ran.store["segments"], ran.store["article_summary"]) == (SEGMENTS, SUMMARY.format(TRANSCRIPT))
    assert place.snapshot() == with_model(STATE["derived_snapshot"])
    trace = place.trace()["execution_trace"]
    for step, wanted in zip(trace, STATE["execution_trace"], strict=True):
        assert (step["node"], step["read_keys"]) == (wanted["node"], wanted["read_keys"])
        assert {*step["write_keys"]} - {"segments", "usage"} == {*wanted["write_keys"]}


def test_the_flow_hash_has_the_bindings_in_it_and_neither_config_nor_layout(place):
    def hash_of(ir):
        place.run(ir, *FLAGS)
        return place.trace()["flow"]["hash"]

    first = hash_of(flow())
    assert hash_of(block("002", 3)) == hash_of(flow(config={"temperature": 0.1})) == first
    assert hash_of(flow(output_bindings={"summary": "gist"})) != first


def test_pipe_a_text(place):
    """The node must bind to `stdin` (rule 5)."""
    ir = flow(input_bindings={"text": "stdin"})
    ir["nodes"], ir["edges"] = ir["nodes"][1:], []
    ran = place.run(ir, stdin="some notes\n")
    assert (ran.store["stdin"], ran.store["article_summary"]) == ("some notes\n", SUMMARY.format("some notes"))


@pytest.mark.parametrize("pipe", [line("002", 5), line("002", 11)])
def test_a_line_has_no_bindings_and_its_keys_are_the_nodes_own(place, tube, pipe):
    ran = place.pflow(pipe)
    assert ran.store.keys() == {"url", "transcript", "segments", "summary", "usage"}
    assert ran.store["summary"] == SUMMARY.format(TRANSCRIPT)
    url = pipe.partition("--url=")[2].split()[0]
    assert tube.videos()[-1] == url.rpartition("/")[2]
    assert place.snapshot() == {
        "config_overrides": {"summarise-text": {"temperature": 0.9, "model": "echo"}},
        "cli_injections": {"yt-transcript.url": url},  # an [explicit] read has its flag for itself
    }


@pytest.mark.parametrize(
    ("ir", "flags", "code", "said"),
    [
        (flow(), [URL, "--raw_transcript=other"], 2, "fetch"),
        (flow(), [URL, "--config={}"], 2, "PF01"),
        (flow(), [URL, "--summarise.output_bindings={}"], 2, "PF01"),
        (flow(), [], 66, "--video-url"),
        (flow(output_bindings={"summary": "stdin"}), [URL], 65, "nodes[1].output_bindings.summary: PF05"),
        (
            flow(output_bindings={"summary": "raw_transcript"}),
            [URL],
            65,
            "nodes[1].output_bindings.summary: PF06",
        ),
    ],
    ids=["1 feed", "1 bindings", "8 bindings", "3 missing", "5 stdin", "6 unique"],
)
def test_what_breaks_a_rule_aborts(place, ir, flags, code, said):
    ran = place.run(ir, *flags)
    assert (ran.code, said in ran.err) == (code, True), ran.err


def test_rules_2_4_and_7_let_flags_fill_params_and_what_no_step_feeds(place):
    """A later step's source may be an input too."""
    ran = place.run(flow(input_bindings={"text": "other"}), URL, "--text=mine", "--language=de")
    assert (ran.store["other"], ran.store["article_summary"]) == ("mine", SUMMARY.format("mine"))
    assert place.snapshot()["config_overrides"]["fetch"]["language"] == "de"


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--temprature=0.9", "did you mean --temperature?"),
        ("--summarise.temprature:=0.9", "did you mean --summarise.temperature?"),
        ("--colour=red", "flags: --video-url, --url, --language, --proxy, --delay, --style, --model, --temperature"),
    ],
)
def test_rule_2_refuses_a_flag_that_the_flow_does_not_name(place, flag, said):
    ran = place.run(flow(), URL, flag)
    assert (ran.code, said in ran.err) == (2, True), ran.err


def test_rule_9_a_node_inherits_from_pocketflows(place):
    place.write("transcribe.py", "class Transcribe:\n    pass\n")
    place.environment["PFLOW_NODES"] = str(place.directory)
    ran = place.run({"nodes": [{"type": "transcribe"}]}, URL)
    assert (ran.code, "PF09" in ran.err) == (65, True)


def generated():
    """What the generated code of section 8 stands on."""
    fetch = load_file(str(NODES / "yt_transcript.py"), "yt-transcript")
    summarise = load_file(str(NODES / "summarise_text.py"), "summarise-text")
    return {"YTTranscript": fetch, "SummarizeText": summarise, "SummariseText": summarise, "Flow": pflow.Flow}


def test_the_generated_flow_and_command_run(place):
    names = execute("002", 7, generated())
    shared = execute("002", 6, {})["shared"]
    names["create_flow"]().run(shared)
    assert shared == STATE["shared_store"]
    names["run_with_cli"]()
    assert place.read("asked") == "0.9 This is the video transcript content..."
