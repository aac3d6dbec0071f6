"""Seed 002: its CLI scenarios and validation rules, row by row."""

import json

import pytest

from tests.seeds.blocks import block, pipe_in

URL = "https://youtu.be/abc"
SUMMARY = "Summary: The video discusses..."
TRANSCRIPT = "This is the video transcript content..."


def flow(*steps, **changes):
    """The IR of section 8, some of its steps; `changes` are for the last one."""
    ir = json.loads(block("002", 4))
    ir["nodes"] = [node for node in ir["nodes"] if node["id"] in steps] if steps else ir["nodes"]
    ir["edges"] = [] if len(ir["nodes"]) == 1 else ir["edges"]
    ir["nodes"][-1].update(changes)
    return ir


@pytest.fixture(autouse=True)
def _with_the_printed_nodes(place):
    place.use("bindings")


def test_provide_a_video_url(place):
    ran = place.run(flow("fetch"), f"--url={URL}")
    assert ran.store == {"video_url": URL, "raw_transcript": TRANSCRIPT}
    assert place.snapshot() == {"config_overrides": {}, "cli_injections": {"video_url": URL}}


def test_override_the_temperature(place):
    place.run(flow("summarise"), "--temperature=0.9", "--text=Some")
    assert place.snapshot() == {
        "config_overrides": {"summarise": {"temperature": 0.9}},
        "cli_injections": {"raw_transcript": "Some"},
    }
    assert place.read("asked") == "0.9 Some"


def test_pipe_a_text(place):
    """The node must bind to `stdin` (rule 5)."""
    ran = place.run(flow("summarise", input_bindings={"text": "stdin"}), stdin="some notes\n")
    assert ran.store == {"stdin": "some notes\n", "article_summary": SUMMARY}
    assert place.read("asked") == "0.7 some notes\n"
    assert place.snapshot()["cli_injections"].keys() == {"stdin"}


def test_chain_fetch_and_summarise(place):
    ran = place.run(flow(), f"--url={URL}", "--temperature=0.9")
    assert ran.store == {"video_url": URL, "raw_transcript": TRANSCRIPT, "article_summary": SUMMARY}


@pytest.mark.parametrize("command", [block("002", 5), block("002", 11)])
def test_a_line_has_no_bindings_for_its_nodes(place, command):
    """Bindings stand in IR; the line runs with nodes whose keys are their own (DESIGN.md, section 3)."""
    ran = place.pflow(pipe_in(command))
    assert (ran.code, "KeyError: 'input_bindings'" in ran.err) == (1, True)
    ran = place.use("stand_ins").pflow(pipe_in(command))
    assert ran.store.keys() == {"url", "transcript", "summary"}


@pytest.mark.parametrize(
    "flag",
    ["--input_bindings={}", "--output_bindings={}", "--config={}", "--summarise.output_bindings={}"],
)
def test_rules_1_and_8_the_command_line_cannot_alter_bindings(place, flag):
    ran = place.run(flow(), f"--url={URL}", flag)
    assert ran.code == 2
    assert "PF01" in ran.err


def test_rule_1_the_command_line_cannot_feed_what_an_earlier_step_feeds(place):
    for flag in ("--text=other", "--raw_transcript=other"):
        ran = place.run(flow(), f"--url={URL}", flag)
        assert ran.code == 2, flag
        assert "fetch" in ran.err


def test_rule_2_an_unknown_flag_passes_where_a_node_has_no_interface(place):
    """Any key and any param may be meant (DESIGN.md, section 3); with interfaces, it is refused."""
    assert place.run(flow("fetch"), f"--url={URL}", "--colour=red").store["colour"] == "red"
    place.use("stand_ins")
    ran = place.run({"nodes": [{"type": "yt-transcript"}]}, f"--url={URL}", "--langage=de")
    assert (ran.code, "--language" in ran.err) == (2, True)


def test_rule_3_a_missing_value_stops_the_run(place):
    ran = place.run(flow())
    assert (ran.code, "--url" in ran.err) == (66, True)
    assert ran.out.startswith('{"$pflow":')
    assert not (place.directory / "asked").exists()


def test_rule_4_config_can_be_overridden(place):
    place.run(flow(), f"--url={URL}", "--language=de", "--summarise.temperature=1")
    overrides = place.snapshot()["config_overrides"]
    assert overrides == {"fetch": {"language": "de"}, "summarise": {"temperature": 1}}


def test_rule_5_stdin_is_reserved(place):
    ran = place.run(flow(output_bindings={"summary": "stdin"}), f"--url={URL}")
    assert (ran.code, "nodes[1].output_bindings.summary: PF05" in ran.err) == (65, True)


def test_rule_6_two_steps_cannot_bind_one_output(place):
    ran = place.run(flow(output_bindings={"summary": "raw_transcript"}), f"--url={URL}")
    assert (ran.code, "nodes[1].output_bindings.summary: PF06" in ran.err) == (65, True)


def test_rule_7_a_later_step_takes_a_flag_where_no_step_feeds_it(place):
    """The paper lets first steps alone take flags; here any source that no step writes is an input (section 6)."""
    ran = place.run(flow(input_bindings={"text": "other"}), f"--url={URL}", "--text=mine")
    assert ran.store["other"] == "mine"
    assert place.read("asked") == "0.7 mine"


def test_rule_9_a_node_inherits_from_pocketflows(place):
    place.write("yt_transcript.py", "class YTTranscript:\n    pass\n")
    place.environment["PFLOW_NODES"] = str(place.directory)
    ran = place.run(flow("fetch"), f"--url={URL}")
    assert (ran.code, "PF09" in ran.err) == (65, True)
