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
from tests.eval.run import HERE, node_set
from tests.eval.score import ASPECTS, expected_flows, score

ENTRIES = json.loads((HERE / "sentences.json").read_text())


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
    assert len(ENTRIES) == len({each["sentence"] for each in ENTRIES}) == 60
    for each in ENTRIES:
        for flow in expected_flows(each):
            assert [str(found) for found in check(wire(flow)) if not found.is_warning] == []
            assert wrong(each["sentence"], flow) == []


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
    assert "all right   60 of 60" in done.stdout
    assert len(json.loads(file.read_text())) == 60


def test_without_a_capable_model_it_ends_with_78(tmp_path):
    done = run("--limit", "1", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path), LLM_USER_PATH=str(tmp_path))
    assert done.returncode == 78
    assert "Traceback" not in done.stderr
