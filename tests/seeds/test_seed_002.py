"""Seed 002: its walk-through with its nodes as they are printed, its rules, and the flow that its text generates."""

import json

import pytest

import pflow
from pflow.catalog.registry import load_file
from tests.seeds.blocks import HERE, block, execute, line

NODES = HERE / "nodes" / "bindings"
STATE = execute("002", 22, execute("002", 21, {}))["flow_execution"]
"""The store, the snapshot and the trace that section 13 ends with."""
URL = "--url=https://youtu.be/abc123"
FLAGS = (URL, "--temperature=0.9")


def flow(**changes):
    """The IR of section 8; `changes` are for its last step."""
    ir = json.loads(block("002", 4))
    ir["nodes"][-1].update(changes)
    return ir


@pytest.fixture(autouse=True)
def _with_the_printed_nodes(place, monkeypatch):
    place.use("bindings")
    monkeypatch.chdir(place.directory)


def test_the_walk_ends_in_the_printed_store_snapshot_and_trace(place):
    ran = place.run(block("002", 4), *FLAGS)
    assert ran.store == STATE["shared_store"]
    assert ran.store.keys() == execute("002", 10, {})["shared"].keys()
    assert place.snapshot() == STATE["derived_snapshot"]
    trace = place.trace()["execution_trace"]
    assert [{name: step[name] for name in ("node", "read_keys", "write_keys")} for step in trace] == (
        STATE["execution_trace"]
    )
    assert place.read("asked") == "0.9 This is the video transcript content..."


def test_the_flow_hash_has_the_bindings_in_it_and_neither_config_nor_layout(place):
    def hash_of(ir):
        place.run(ir, *FLAGS)
        return place.trace()["flow"]["hash"]

    first = hash_of(flow())
    assert hash_of(block("002", 3)) == hash_of(flow(config={"temperature": 0.1, "more": "x"})) == first
    assert hash_of(flow(output_bindings={"summary": "gist"})) != first


def test_pipe_a_text(place):
    """The node must bind to `stdin` (rule 5)."""
    ir = flow(input_bindings={"text": "stdin"})
    ir["nodes"], ir["edges"] = ir["nodes"][1:], []
    ran = place.run(ir, stdin="some notes\n")
    assert ran.store == {"stdin": "some notes\n", "article_summary": STATE["shared_store"]["article_summary"]}
    assert place.read("asked") == "0.7 some notes\n"


@pytest.mark.parametrize("pipe", [line("002", 5), line("002", 11)])
def test_a_line_has_no_bindings_for_its_nodes(place, pipe):
    """Bindings stand in IR; the line runs with nodes whose keys are their own (DESIGN.md, section 3)."""
    ran = place.pflow(pipe)
    assert (ran.code, "KeyError: 'input_bindings'" in ran.err) == (1, True)
    ran = place.use("stand_ins").pflow(pipe)
    assert ran.store.keys() == {"url", "transcript", "summary"}
    url = pipe.partition("--url=")[2].split()[0]
    assert place.snapshot() == {
        "config_overrides": {"summarise-text": {"temperature": 0.9}},
        "cli_injections": {"url": url},
    }


@pytest.mark.parametrize(
    ("ir", "flags", "code", "said"),
    [
        (flow(), [URL, "--raw_transcript=other"], 2, "fetch"),
        (flow(), [URL, "--config={}"], 2, "PF01"),
        (flow(), [URL, "--summarise.output_bindings={}"], 2, "PF01"),
        (flow(), [], 66, "--url"),
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
    """A later step's source may be an input too (DESIGN.md, section 6)."""
    ran = place.run(flow(input_bindings={"text": "other"}), URL, "--text=mine", "--language=de")
    assert (ran.store["other"], place.read("asked")) == ("mine", "0.7 mine")
    assert place.snapshot()["config_overrides"]["fetch"]["language"] == "de"


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--temprature=0.9", "did you mean --temperature?"),
        ("--summarise.temprature:=0.9", "did you mean --summarise.temperature?"),
        ("--colour=red", "there is --video-url, --url, --language, --temperature"),
    ],
)
def test_rule_2_refuses_a_flag_that_the_flow_does_not_name(place, flag, said):
    ran = place.run(flow(), URL, flag)
    assert (ran.code, said in ran.err) == (2, True), ran.err


def test_rule_9_a_node_inherits_from_pocketflows(place):
    place.write("yt_transcript.py", "class YTTranscript:\n    pass\n")
    place.environment["PFLOW_NODES"] = str(place.directory)
    ran = place.run(flow(), URL)
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
