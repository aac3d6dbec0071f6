"""The evaluation: its sentences are what they say, its scores count what is wrong, its program does not break."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys

import pytest

from pflow.errors import PflowError
from pflow.explain.pipe_form import pipe_of
from pflow.flow.load import load_document
from pflow.flow.pipe import parse_pipe
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire
from tests.eval.perfect import NAME, write_transcript
from tests.eval.planning import HERE, NodeSet, plan_entry
from tests.eval.score import ASPECTS, Facts, expected_flows, score
from tests.eval.table import line, table
from tests.peers import openai_server

ENTRIES = json.loads((HERE / "sentences.json").read_text())


@pytest.fixture(autouse=True, scope="module")
def node_set():
    with NodeSet():
        yield


def entry(start):
    (found,) = [each for each in ENTRIES if each["sentence"].startswith(start)]
    return found


def test_there_are_sixty_sentences_each_once():
    assert len(ENTRIES) == len({each["sentence"] for each in ENTRIES}) == 60


def test_some_sentences_branch_loop_run_batches_use_saved_flows_and_cannot_be_planned():
    flows = [expected_flows(each) for each in ENTRIES]
    firsts = [each[0] for each in flows if each]
    assert sum(any(edge.action != "default" for edge in flow.edges) for flow in firsts) >= 3
    assert sum(bool(wire(flow).graph.forks()) or len(flow.edges) >= len(flow.steps) for flow in firsts) >= 1
    assert sum(any(step.batch for step in flow.steps) for flow in firsts) >= 3
    assert sum(any(step.type.startswith("flow:") for step in flow.steps) for flow in firsts) >= 4
    assert sum(not each for each in flows) >= 4


@pytest.mark.parametrize("sentence", [each["sentence"] for each in ENTRIES])
def test_every_expected_flow_passes_the_rules_is_its_own_best_score_and_comes_back_from_pipe_syntax(sentence):
    here = entry(sentence)
    for flow in expected_flows(here):
        assert [str(each) for each in check(wire(flow)) if not each.is_warning] == []
        assert score(here, flow).differs == []
        assert comes_back(flow_to_ir(flow))


def comes_back(ir):
    """Whether a plan, its inputs as literals, has the same score when its pipe syntax is pasted back."""
    flow = load_document(ir, "the plan", FlowCatalog()).usable()
    try:
        again = parse_pipe([pipe_of(wire(flow))], FlowCatalog())
    except PflowError as error:
        return "batch" in error.message
    one, other = Facts(flow), Facts(again)
    return (one.types, one.edges, one.feeds, one.values) == (other.types, other.edges, other.feeds, other.values)


def changed(start, change):
    """The score of what is expected of a sentence after a change to its IR."""
    here = entry(start)
    ir = copy.deepcopy(flow_to_ir(expected_flows(here)[0]))
    change(ir)
    return score(here, load_document(ir, "changed", FlowCatalog()).usable())


def lost(scored):
    return [aspect for aspect in ASPECTS if not scored.right[aspect]]


def other_type(ir):
    ir["nodes"][1] = {"id": "llm", "type": "count-words"}
    ir["mappings"] = {
        "llm": {"input_mappings": {"text": "content"}},
        "write-file": {"input_mappings": {"content": "words"}},
    }


def test_each_fault_loses_what_it_should():
    def value(ir):
        ir["nodes"][0]["inputs"]["path"] = "other.txt"

    def source(ir):
        ir["mappings"]["write-file"]["input_mappings"]["content"] = "content"

    def prompt(ir):
        ir["nodes"][1]["inputs"]["prompt"] = "Say it shorter"

    def template(ir):
        del ir["mappings"]["llm"]
        ir["nodes"][1]["inputs"] = {"prompt": "Summarize ${read-file.content}"}

    def edge(ir):
        del ir["edges"][0]["action"]

    assert lost(changed("read data.txt", other_type)) == ["nodes", "order", "mappings"]
    assert lost(changed("read data.txt", value)) == ["values"]
    assert lost(changed("read data.txt", source)) == ["mappings"]
    assert lost(changed("read data.txt", prompt)) == []
    assert lost(changed("read data.txt", template)) == []
    assert lost(changed("run the tests; if", edge)) == ["order"]
    assert changed("run the tests; if", edge).differs == ["other edges"]
    assert "values" in lost(changed("read data.txt", lambda ir: ir["nodes"][2]["inputs"].update(path="summary.txt")))
    assert "order" in lost(
        changed("make up a haiku", lambda ir: ir["nodes"].append({"id": "b", "type": "get-weather"}))
    )
    assert lost(changed("resize photo.jpg", lambda ir: ir["nodes"][1]["params"].update(width=301))) == ["values"]
    assert lost(changed("append the weather", lambda ir: ir["nodes"][1].pop("params"))) == ["values"]
    assert lost(changed("tranlsate letter.txt", lambda ir: ir["nodes"][1]["params"].update(language="german"))) == []


@pytest.mark.parametrize(
    ("start", "flow", "lost_of_it"),
    [
        ("mail the body of issue 42", "github-get-issue --issue=42 => send-mail --to=qa@example.com "
         "--subject='${issue_data.body}' --body='${issue_data.title}'", ["mappings"]),
        ("get issue 77", "github-get-issue --issue=77 --repo=torvalds/linux => llm --prompt='Explain: "
         "${issue_data.body}' => github-add-comment --issue-number=77 --repo=torvalds/linux", []),
        ("read data.txt", "read-file --path=data.txt => llm --prompt=Summarize => write-file --path=summary.md "
         "--content='${content}: ${response}'", ["mappings"]),
        ("draft a tweet", "llm:draft --prompt='A tweet' => judge:check => write-file --path=tweet.txt; "
         "check =failed=> llm:again --prompt='Rewrite it: ${draft.response}, $verdict' => check", ["mappings"]),
        ("draft a tweet", "llm:draft --prompt='A tweet' => judge:check => write-file --path=tweet.txt "
         "--content='${draft.response}'; check =failed=> llm:again --prompt='Rewrite it: ${draft.response}, $verdict' "
         "=> check", ["mappings"]),
        ("what day is it", "shell --command='date +%A'", []),
        ("what day is it", "shell --command=cal", ["values"]),
        ("copy a.txt", "shell --command='cp -- \"a.txt\" \"b.txt\"'", []),
        ("copy a.txt", "shell --command='cp b.txt a.txt'", ["values"]),
        ("sort names.txt", "read-file --path=names.txt => shell --command='sort -f' => write-file --path=sorted.txt",
         []),
        ("summarise ./README.md", "flow:summarize-file --path=README.md", []),
        ("summarise ./README.md", "flow:summarize-file --path=readme.md", ["values"]),
        ("make the weekly", "flow:weekly-report --directory=notes/ --to=team@example.com", []),
    ],
)  # fmt: skip
def test_what_is_as_good_loses_nothing_and_what_is_not_does(start, flow, lost_of_it):
    assert lost(score(entry(start), parse_pipe([flow], FlowCatalog()))) == lost_of_it


def test_no_flow_is_right_only_where_none_can_be():
    assert lost(score(entry("copy a.txt"), None)) == list(ASPECTS)
    assert lost(score(entry("book me a flight"), None)) == []
    assert lost(score(entry("book me a flight"), parse_pipe(["llm --prompt=x => count-words"], FlowCatalog()))) == list(
        ASPECTS
    )


@pytest.fixture
def perfect(tmp_path, monkeypatch):
    """Starts the model that answers as its transcript says, with what is expected passed through a function."""
    monkeypatch.setattr(openai_server, "TRANSCRIPTS", tmp_path)
    started = []

    def start(entries, spoil=lambda ir: ir):
        write_transcript(tmp_path, entries, spoil)
        started.append(openai_server.OpenAIServer(tmp_path).__enter__())
        monkeypatch.setenv("LLM_USER_PATH", str(started[0].llm_user_path))
        return lambda each: plan_entry(each, NAME, 60)

    yield start
    for server in started:
        server.__exit__()


def test_a_model_that_knows_the_answers_scores_sixty_of_sixty(perfect):
    plan = perfect(ENTRIES)
    results = [plan(each) for each in ENTRIES]
    assert [line(0, each) for each in results if not all(each["right"].values())] == []
    assert [each["sentence"] for each in results if each["flow"] and not comes_back(each["flow"])] == []
    said = table(NAME, results)
    assert "  all right         60 of 60\n" in said
    assert "  refused rightly    4 of 4\n" in said


@pytest.mark.parametrize(
    ("answer", "rules"),
    [("I do not know.", {"PL00"}), ({"nodes": [{"id": "a", "type": "no-such-node"}]}, {"PF11"})],
)
def test_an_answer_that_never_passes_is_told_with_its_rules(perfect, answer, rules):
    plan = perfect([entry("copy a.txt")], lambda ir: answer)
    result = plan(entry("copy a.txt"))
    assert lost(score(entry("copy a.txt"), None)) == [key for key, right in result["right"].items() if not right]
    assert result["tries"] == 3
    assert rules <= set(result["findings"])


def test_what_a_provider_does_wrong_is_told_and_does_not_end_it(perfect):
    plan = perfect([entry("copy a.txt"), entry("book me")], lambda ir: {"behave": "bad-request"})
    first = plan(entry("copy a.txt"))
    assert "this prompt is too long" in first["error"]
    assert lost(score(entry("copy a.txt"), None)) == [key for key, right in first["right"].items() if not right]
    assert " err copy a.txt to b.txt" in line(1, first)
    assert table(NAME, [first]).count("errors") == 1


def program(*words, **more):
    kept = {name: value for name, value in os.environ.items() if name not in ("PFLOW_MODEL", "PFLOW_PLAN_MODEL")}
    return [sys.executable, str(HERE / "run.py"), *words], {**kept, **more}


def run(*words, **more):
    command, env = program(*words, **more)
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_the_program_tests_itself_and_writes_what_it_found(tmp_path):
    file = tmp_path / "found.json"
    done = run("--self-test", "--only", "copy*", "--json", str(file), "--tries", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "all right          1 of 1" in done.stdout
    assert json.loads(file.read_text())[0]["flow"]["nodes"][0]["type"] == "read-file"


def test_without_a_capable_model_it_ends_with_78(tmp_path):
    done = run("--limit", "1", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path), LLM_USER_PATH=str(tmp_path))
    assert done.returncode == 78
    assert "Traceback" not in done.stderr
