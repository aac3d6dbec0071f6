"""Seed 003: its pipe lines, as one argument each, and what their text says of the store."""

import json

import pytest

from tests.seeds.blocks import block, execute, pipe_in

URL = "https://youtu.be/abc123"
TRANSCRIPT = f"Video transcript content of {URL} in en"


@pytest.fixture(autouse=True)
def _with_stand_ins(place):
    place.use("stand_ins")


def test_fetch_and_summarize(place):
    """Section 9.4 has `prompt` in the store too: llm's is its own, and the text comes through the pipe."""
    ran = place.pflow(pipe_in(block("003", 8).split("\n", 1)[1]))
    response = f"Summarize this transcript\n\n{TRANSCRIPT}"
    printed = execute("003", 16, {})["shared"]
    assert {key: ran.store[key] for key in printed if key != "prompt"} == {
        "url": URL, "transcript": TRANSCRIPT, "response": response,
    }  # fmt: skip
    assert "prompt" not in ran.store
    assert place.snapshot()["cli_injections"] == {}


def test_read_summarize_write(place):
    place.write("data.txt", "some data")
    assert place.pflow(pipe_in(block("003", 19).split("\n", 1)[1])).code == 0
    assert place.read("summary.md") == "Summarize this data\n\nsome data"


def test_two_llm_steps_keep_both_responses(place):
    """In section 10.2 the second overwrites the first: here steps whose keys meet move under their ids (section 6)."""
    ran = place.pflow(pipe_in(block("003", 22).split("\n", 1)[1]))
    points = "Extract key points\n\nVideo transcript content of VIDEO in en"
    outline = f"Create presentation outline\n\n{points}"
    assert "response" not in ran.store
    assert (ran.store["llm"]["response"], ran.store["llm-2"]["response"]) == (points, outline)
    assert place.read("outline.md") == outline
    assert execute("003", 23, {})["shared"].keys() == {"url", "transcript", "response"}


def test_comment_on_an_issue(place, github):
    ran = place.pflow(pipe_in(block("003", 25).split("\n", 1)[1]))
    assert ran.code == 0
    issue = "/repos/owner/repo/issues/123"
    assert github.asked == [issue, f"{issue}/comments"]
    assert github.comments == [ran.store["response"]]
    assert ran.store["response"].startswith("Analyze this issue and suggest a fix\n\n")


EDUCATIONAL = block("003", 26).splitlines()
TABLE = "name,age\nAda,36\nBob,\n,\n"


@pytest.mark.parametrize(
    ("line", "file", "content"),
    [
        (EDUCATIONAL[2].partition("Generated: ")[2], "results.txt", "rows: 2\n"),
        (EDUCATIONAL[3].partition("can edit: ")[2], "results.json", '{"rows": 1, "names": ["Ada"]}'),
        (pipe_in(EDUCATIONAL[6]), "dashboard.html", "<dt>rows<dd>3\n"),
    ],
)
def test_the_educational_flows_run(place, line, file, content):
    place.write("data.csv", TABLE)
    place.write("new_data.csv", TABLE)
    assert place.pflow(line).code == 0
    assert place.read(file) == content


def test_the_walk_through(place):
    """Its node reads `text`, and the one before writes `transcript`: a pipe fits the two together."""
    ran = place.pflow(pipe_in(block("003", 28).split("\n", 1)[1]))
    assert ran.store == {**execute("003", 38, {})["shared"], "transcript": TRANSCRIPT}


def test_the_printed_interface_has_no_pipe(place):
    """Without `[pipe]` a write is not carried on (DESIGN.md, section 3): then a mapping says what goes where."""
    place.use("printed", "stand_ins")
    line = pipe_in(block("003", 28).split("\n", 1)[1])
    ran = place.pflow(line)
    assert (ran.code, "'text'" in ran.err) == (66, True)
    ran = place.pflow(line.replace("--temperature", "--map-in text=transcript --temperature"))
    assert ran.store == execute("003", 38, {})["shared"]


def test_a_video_url_goes_into_the_store(place):
    assert place.sh("pflow yt-transcript --url=https://youtu.be/abc").store["url"] == "https://youtu.be/abc"


def test_a_mapped_read_has_its_flag_where_the_mapping_says(place):
    """Section 5.1."""
    flow = {"nodes": [{"type": "yt-transcript"}]}
    assert place.run(flow, f"--url={URL}").store["url"] == URL
    flow["mappings"] = {"yt-transcript": {"input_mappings": {"url": "video_source"}}}
    ran = place.run(flow, f"--url={URL}")
    assert ran.store == {"video_source": URL, "transcript": TRANSCRIPT}


def test_override_the_temperature(place):
    """A stage leaves no snapshot, and an llm without prompt and text asks nothing."""
    ran = place.sh("pflow llm --temperature=0.9")
    assert (ran.code, "--prompt" in ran.err) == (66, True)
    assert place.sh("pflow llm --temperature=0.9 --prompt=Go").store.keys() == {"response", "usage"}


def test_pipe_a_text(place):
    place.write("notes.txt", "some notes\n")
    ran = place.sh('cat notes.txt | pflow llm --prompt="Summarize this"')
    assert ran.store["stdin"] == "some notes\n"
    assert ran.store["response"] == "Summarize this\n\nsome notes\n"


def test_a_store_lives_for_one_run(place):
    """Section 4.2."""
    flow = {"nodes": [{"type": "yt-transcript"}]}
    assert place.run(flow, f"--url={URL}").code == 0
    assert place.run(flow).code == 66
    kept = [
        file.name for file in (place.home / ".local/state/pflow/runs").glob("*/*") if TRANSCRIPT in file.read_text()
    ]
    assert kept == []


MAPPED = json.loads(block("003", 6)) | {"mappings": {"summarise-text": {"input_mappings": {"text": "transcript"}}}}


def with_mappings(**mappings):
    return {**MAPPED, "mappings": mappings}


@pytest.mark.parametrize(
    ("flow", "flags", "code", "said"),
    [
        (MAPPED, ["--text=mine"], 2, "PF01"),
        (MAPPED, ["--temprature=1"], 2, "--temperature"),
        (MAPPED, [], 66, "--url"),
        (
            with_mappings(**{"yt-transcript": {"output_mappings": {"transcript": "stdin"}}}),
            [f"--url={URL}"],
            65,
            "PF05",
        ),
        (
            with_mappings(
                **{
                    "yt-transcript": {"output_mappings": {"transcript": "same"}},
                    "summarise-text": {
                        "input_mappings": {"text": "same"},
                        "output_mappings": {"summary": "same"},
                    },
                }
            ),
            [f"--url={URL}"],
            65,
            "PF06",
        ),
    ],
    ids=["1 mappings", "2 unknown", "3 missing", "5 stdin", "6 unique"],
)
def test_what_breaks_a_rule_aborts(place, flow, flags, code, said):
    ran = place.run(flow, *flags)
    assert (ran.code, said in ran.err) == (code, True), ran.err


def test_rule_5_a_step_takes_stdin_by_a_mapping(place):
    flow = {"nodes": [{"type": "summarise-text"}]}
    flow["mappings"] = {"summarise-text": {"input_mappings": {"text": "stdin"}}}
    assert place.run(flow, stdin="some notes").store["summary"] == "Summary: The video discusses..."


def test_rule_7_an_odd_key_is_a_warning(place):
    flow = with_mappings(
        **{"yt-transcript": {"output_mappings": {"transcript": "Raw-Transcript"}},
           "summarise-text": {"input_mappings": {"text": "Raw-Transcript"}}},
    )  # fmt: skip
    place.write("flow.pflow.json", flow)
    ran = place.pflow("check", "flow.pflow.json")
    assert (ran.code, "PF10: warning" in ran.out) == (0, True)
