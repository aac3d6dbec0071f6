"""The evaluation: its sentences are what they say, its scores count what is wrong, its program does not break."""

import json
import os
import subprocess
import sys

import pytest

from pflow.flow.rules import check
from pflow.flow.wiring import wire
from tests.eval.run import HERE, judged, node_set
from tests.eval.score import expected_flows, outcome

ENTRIES = json.loads((HERE / "sentences.json").read_text())
ASIDE = json.loads((HERE / "aside.json").read_text())
IMPOSSIBLE = json.loads((HERE / "impossible.json").read_text())


@pytest.fixture(autouse=True, scope="module")
def nodes():
    with node_set():
        yield


def test_every_expected_flow_passes_the_rules():
    assert len({each["sentence"] for each in [*ENTRIES, *ASIDE, *IMPOSSIBLE]}) == 100
    assert (len(ENTRIES), len(ASIDE), [each["flows"] for each in IMPOSSIBLE]) == (60, 30, [[]] * 10)
    for flow in [flow for each in [*ENTRIES, *ASIDE] for flow in expected_flows(each)]:
        assert [str(found) for found in check(wire(flow)) if not found.is_warning] == []


@pytest.mark.parametrize("each", [each for each in [*ENTRIES, *ASIDE] if each["flows"]])
def test_the_expected_flows_of_a_sentence_leave_as_many_things_as_it_says(each):
    left = {outcome(flow, each) for flow in expected_flows(each)}
    assert len(left) == each.get("answers", 1)
    for worlds in map(json.loads, left):
        assert any(files or sent or (answer and "fails" not in answer) for files, sent, answer in worlds)


@pytest.mark.parametrize(
    ("start", "plan", "kind"),
    [
        ("read data.txt", "read-file --path=data.txt => llm --prompt=Shorten => write-file --path=summary.md", "right"),
        ("read data.txt", "llm --prompt='Summarize data.txt' => write-file --path=summary.md", "wrong"),
        ("read data.txt", "read-file --path=data.txt => write-file --path=summary.md", "wrong"),
        ("copy a.txt", "shell --command='cat a.txt > b.txt'", "right"),
        ("copy a.txt", "move-file --path=a.txt --destination=b.txt", "wrong"),
        ("count the lines", "shell --command='cat /var/log/syslog' => shell --command='wc -l'", "right"),
        ("count the lines", "read-file --path=/var/log/syslog => count-words", "wrong"),
        ("list all markdown", "list-files --pattern='docs/*.txt'", "wrong"),
        ("append the weather", "get-weather --city=Berlin => shell --command='cat >> weather.log'", "right"),
        ("append the weather", "get-weather --city=Berlin => write-file --path=weather.log", "wrong"),
        ("append the weather", "get-weather --city=Bonn => write-file --path=weather.log --append", "wrong"),
        ("sort names.txt", "shell --command='cat names.txt' => shell --command='sort > sorted.txt'", "right"),
        ("sort names.txt", "copy-file --path=names.txt --destination=sorted.txt", "wrong"),
        ("save the page", "http --url=http://intranet/status => write-file --path=status.html", "wrong"),
        ("read letter.tex", "read-file --path=letter.tex => llm --prompt=Mend => write-file --path=letter-new.tex",
         "wrong"),
        ("resize photo.jpg", "shell --command='convert photo.jpg -resize 300x small.jpg'", "right"),
        ("translate stdin", "translate --language=nl => write-file --path=nl.txt", "right"),
        ("translate stdin", "translate --language=German => write-file --path=nl.txt", "wrong"),
        ("mail the body", "github-get-issue --issue=42 => send-mail --to=qa@example.com", "wrong"),
        ("run the tests; if", "run-tests => llm --prompt=Why => post-slack --channel=#dev", "wrong"),
        ("show how much", "shell --command='df' => post-slack --channel=#ops", "right"),
        ("show how much", "shell --command='ls -l' => post-slack --channel=#ops", "wrong"),
        ("book me a flight", "llm --prompt='Book a flight to Rome on friday'", "wrong"),
    ],
)  # fmt: skip
def test_a_plan_is_right_if_it_leaves_what_an_expected_flow_leaves(start, plan, kind):
    (entry,) = [each for each in ENTRIES if each["sentence"].startswith(start)]
    assert judged(entry, *expected_flows({"flows": [plan]})).partition(",")[0] == kind


def run(*words, **more):
    kept = {name: value for name, value in os.environ.items() if name not in ("PFLOW_MODEL", "PFLOW_PLAN_MODEL")}
    command = [sys.executable, str(HERE / "run.py"), *words]
    return subprocess.run(command, env={**kept, **more}, capture_output=True, text=True, timeout=900, check=False)


def test_a_model_that_knows_the_answers_scores_sixty_of_sixty(tmp_path):
    file = tmp_path / "found.json"
    done = run("--self-test", "--json", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert "all right            60 of 60" in done.stdout
    assert len(json.loads(file.read_text())) == 60


def test_without_a_capable_model_it_ends_with_78(tmp_path):
    done = run("--limit", "1", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path), LLM_USER_PATH=str(tmp_path))
    assert done.returncode == 78
    assert "Traceback" not in done.stderr
