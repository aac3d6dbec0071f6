"""The evaluation: its sentences are what they say, its scores count what is wrong, its program does not break."""

import copy
import json
import os
import subprocess
import sys

import pytest

from pflow.flow.load import load_document
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire
from tests.eval.run import HERE, judged, node_set
from tests.eval.score import ASPECTS, expected_flows, score
from tests.eval.store import outcome

ENTRIES = json.loads((HERE / "sentences.json").read_text())
ASIDE = json.loads((HERE / "aside.json").read_text())


@pytest.fixture(autouse=True, scope="module")
def nodes():
    with node_set():
        yield


def entry(start):
    (found,) = [each for each in ENTRIES if each["sentence"].startswith(start)]
    return found


def wrong(start, flow):
    """The aspects that a flow loses."""
    return [aspect for aspect, right in score(entry(start), flow).items() if not right]


def test_every_expected_flow_passes_the_rules_and_is_its_own_best_score():
    assert len({each["sentence"] for each in [*ENTRIES, *ASIDE]}) == 90
    assert (len(ENTRIES), len(ASIDE)) == (60, 30)
    for each in [*ENTRIES, *ASIDE]:
        for flow in expected_flows(each):
            assert [str(found) for found in check(wire(flow)) if not found.is_warning] == []
            assert all(score(each, flow).values())


@pytest.mark.parametrize(
    "each", [each for each in [*ENTRIES, *ASIDE] if each["flows"]], ids=lambda each: each["sentence"]
)
def test_the_expected_flows_of_a_sentence_leave_as_many_things_as_it_says(each):
    left = {outcome(flow, each) for flow in expected_flows(each)} - {None}
    assert len(left) == each.get("answers", 1)
    for worlds in map(json.loads, left):
        assert any(files or sent or not answer.startswith("fails") for files, sent, answer in worlds)


@pytest.mark.parametrize(
    ("start", "plan", "kind"),
    [
        ("copy a.txt", "shell --command='cat a.txt > b.txt'", "right"),
        ("copy a.txt", "move-file --path=a.txt --destination=b.txt", "wrong"),
        ("append the weather", "get-weather --city=Berlin => shell --command='cat >> weather.log'", "right"),
        ("append the weather", "get-weather --city=Berlin => write-file --path=weather.log", "wrong"),
        ("sort names.txt", "shell --command='cat names.txt' => shell --command='sort > sorted.txt'", "right"),
        ("sort names.txt", "copy-file --path=names.txt --destination=sorted.txt", "wrong"),
        ("save the page", "http --url=http://intranet/status => write-file --path=status.html", "wrong"),
        ("read letter.tex", "read-file --path=letter.tex => llm --prompt=Mend => write-file --path=letter-new.tex",
         "wrong"),
        ("translate stdin", "translate --language=nl => write-file --path=nl.txt", "right"),
        ("mail the body", "github-get-issue --issue=42 => send-mail --to=qa@example.com", "wrong"),
        ("run the tests; if", "run-tests => llm --prompt=Why => post-slack --channel=#dev", "wrong"),
        ("what day is it", "shell --command='date +%F'", "right"),
        ("book me a flight", "llm --prompt='Book a flight to Rome on friday'", "wrong"),
    ],
)  # fmt: skip
def test_a_plan_is_right_if_it_leaves_what_an_expected_flow_leaves(start, plan, kind):
    assert judged(entry(start), *expected_flows({"flows": [plan]})) == kind


@pytest.mark.parametrize(
    ("start", "change", "lost"),
    [
        ("read data.txt", lambda ir: ir["nodes"][0]["inputs"].update(path="other.txt"), ["values"]),
        ("read data.txt", lambda ir: ir["nodes"][1]["inputs"].update(prompt="Say it shorter"), []),
        ("read data.txt", lambda ir: ir["mappings"]["write-file"]["input_mappings"].update(content="content"),
         ["mappings"]),
        ("run the tests; if", lambda ir: ir["edges"][0].pop("action"), ["order"]),
        ("make up a haiku", lambda ir: ir["nodes"].append({"id": "b", "type": "get-weather"}),
         ["nodes", "order", "mappings"]),
        ("resize photo.jpg", lambda ir: ir["nodes"][1]["params"].update(width=301), ["values"]),
        ("tranlsate letter.txt", lambda ir: ir["nodes"][1]["params"].update(language="german"), []),
        ("translate stdin", lambda ir: ir["nodes"][0]["params"].update(language="nl"), []),
        ("translate stdin", lambda ir: ir["nodes"][0]["params"].update(language="de"), ["values"]),
        ("append the weather", lambda ir: ir["nodes"][1]["params"].clear(), ["values"]),
        ("read data.txt", lambda ir: ir["nodes"][2].update(params={"append": True}), ["values"]),
        ("list all markdown", lambda ir: ir["nodes"][0]["inputs"].update(pattern="*.txt"), ["values"]),
        ("show how much", lambda ir: ir["nodes"][0]["inputs"].update(command="ls -l"), ["values"]),
    ],
)  # fmt: skip
def test_each_fault_loses_what_it_should(start, change, lost):
    ir = copy.deepcopy(flow_to_ir(expected_flows(entry(start))[0]))
    change(ir)
    assert wrong(start, load_document(ir, "changed", FlowCatalog()).usable()) == lost


def test_no_flow_is_right_only_where_none_can_be():
    assert wrong("copy a.txt", None) == list(ASPECTS)
    assert wrong("book me a flight", None) == []
    assert wrong("book me a flight", parse_pipe(["llm --prompt=x => count-words"], FlowCatalog())) == list(ASPECTS)


def run(*words, **more):
    kept = {name: value for name, value in os.environ.items() if name not in ("PFLOW_MODEL", "PFLOW_PLAN_MODEL")}
    command = [sys.executable, str(HERE / "run.py"), *words]
    return subprocess.run(command, env={**kept, **more}, capture_output=True, text=True, timeout=120, check=False)


def test_a_model_that_knows_the_answers_scores_sixty_of_sixty(tmp_path):
    file = tmp_path / "found.json"
    done = run("--self-test", "--json", str(file), "--tries", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "all right            60 of 60" in done.stdout
    assert len(json.loads(file.read_text())) == 60


def test_without_a_capable_model_it_ends_with_78(tmp_path):
    done = run("--limit", "1", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path), LLM_USER_PATH=str(tmp_path))
    assert done.returncode == 78
    assert "Traceback" not in done.stderr
