"""The papers' flows in examples/flows, and each of them from a sentence, planned by a scripted model."""

import json

import pytest

from tests.peers.repository import git
from tests.peers.youtube import TRANSCRIPT
from tests.seeds.blocks import HERE, block
from tests.seeds.running import ISSUE

FLOWS = HERE.parent.parent / "examples" / "flows"


def has_fixed(place, github):
    shown = git(place.directory, "show", "--format=%s", "--name-only").split("\n")
    assert shown == ["Write commit message for: Done.", "", "fix.txt"]


def has_commented(place, github):
    (body,) = github.repository.bodies(123)
    assert body.startswith(f"{ISSUE.format(123)}\n\nAnalyze this issue and suggest a fix\n")


def has_processed(place, github):
    assert json.loads(place.read("results.json"))["stats"]["rows"] == 2


def nothing_else(place, github):
    return


@pytest.mark.parametrize(
    ("command", "printed", "check"),
    [
        ("fix-issue --issue=1234 -q", "", has_fixed),
        ("suggest-fix --issue=123 -q", "", has_commented),
        ("summarise-video --url=https://youtu.be/abc123 --temperature=0.9 -r", TRANSCRIPT, nothing_else),
    ],
)
def test_a_flow_of_the_examples_does_what_its_paper_says(place, github, command, printed, check):
    place.make_repository().environment["PATH"] = f"{FLOWS}:{place.environment['PATH']}"
    ran = place.sh(command)
    assert ran.code == 0, ran.err
    assert printed in ran.out
    check(place, github)


def test_the_flow_in_json_is_the_one_that_is_printed():
    assert json.loads((FLOWS / "summarise-video.pflow.json").read_text()) == json.loads(block("002", 4))


@pytest.mark.parametrize(
    ("sentence", "allowed", "refused", "printed", "check"),
    [
        ("fix issue 1234 with Claude Code and commit it", "anything", "runs commands", "", has_fixed),
        (
            "get github issue 123 from owner/repo, analyze it and suggest a fix, then add the suggestion as a comment",
            "", "", "", has_commented,
        ),
        ("get youtube transcript from https://youtu.be/abc123 and summarize it", "", "", TRANSCRIPT, nothing_else),
        ("process data.csv", "", "", "", has_processed),
    ],
)  # fmt: skip
def test_a_sentence_gives_the_flow_and_the_gate_holds(place, github, sentence, allowed, refused, printed, check):
    place.make_repository().write("data.csv", "name,age\nAda,36\nBob,41\n")
    git(place.directory, "add", "data.csv")
    git(place.directory, "commit", "--quiet", "--message=data")
    place.environment["PFLOW_PLAN_MODEL"] = "papers"
    if refused:
        ran = place.pflow(sentence, "--yes", "-r")
        assert (ran.code, refused in ran.err) == (77, True), ran.err
    ran = place.pflow(sentence, "--yes", *([f"--allow={allowed}"] if allowed else []), "-r")
    assert ran.code == 0, ran.err
    assert printed in ran.out
    check(place, github)
