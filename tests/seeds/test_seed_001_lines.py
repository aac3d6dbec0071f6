"""Seed 001: flags, templates, what a flow asks for, and the IR."""

import json
import shutil
import subprocess

import pytest

from tests.seeds.blocks import block
from tests.seeds.github_server import BODY, TITLE

CHAIN = block("001", 3)


def test_the_chain_of_templates_runs_as_it_is_printed(place, github):
    ran = place.use("stand_ins").pflow(CHAIN)
    report = f"done: ...This is the issue: {BODY}"
    message = f"Write commit message for: {report}"
    found = {name: ran.store[name] for name in ("issue", "issue_title", "issue_number", "code_report", "response")}
    assert found == {
        "issue": BODY, "issue_title": TITLE, "issue_number": 1234, "code_report": report, "response": message,
    }  # fmt: skip
    assert place.read("commits") == message + "\n"
    assert github.asked == ["/repos/owner/repo/issues/1234"]
    reads = {step["node"]: step["reads"] for step in place.trace()["execution_trace"]}
    assert reads["claude-code"] == {"prompt": ["issue"]}
    assert reads["llm"] == {"prompt": ["code_report"]}
    assert reads["git-commit"] == {"message": ["response"]}


def test_a_name_that_nothing_writes_is_what_the_step_before_hands_on(place):
    """`$commit_message` is in nobody's interface."""
    place.use("stand_ins").write("chain", CHAIN)
    ran = place.pflow("check", "chain")
    assert ran.code == 0
    assert "nothing writes '$commit_message'" in ran.out
    assert "${response}" in ran.out


PROMPT = block("001", 2).split("\n\n")[0].split("\n", 1)[1]
"""The first of the two commands: the other is what it becomes."""


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_template_is_filled_from_the_store(place, quote):
    """In single quotes; in double quotes the shell has taken `$issue` before pflow sees it (DESIGN.md, section 4)."""
    command = PROMPT.replace('"', quote)
    ran = place.use("stand_ins").sh(f"pflow-set -n issue='{BODY}' | pflow {command} | pflow-get code_report")
    assert ran.out.startswith("done: <instructions>\n                        1. Understand")
    assert ran.out.rstrip("\n").endswith("This is the issue: " + (BODY if quote == "'" else ""))


def test_double_quotes_inside_a_flow_are_pflows_own(place, github):
    """A flow in one argument, or a file, is not read by a shell."""
    ran = place.use("stand_ins").pflow(f"github-get-issue --issue=1234 => {PROMPT}")
    assert ran.store["code_report"].endswith(f"This is the issue: {BODY}")


def test_flags_go_where_they_belong(place, github):
    """Data into the store, with the type that the node declares (an int, not "1234"); behaviour into the params."""
    flow = {"nodes": [{"type": "github-get-issue"}, {"type": "summarise-text"}]}
    flow["mappings"] = {"summarise-text": {"input_mappings": {"text": "issue"}}}
    ran = place.use("stand_ins").run(flow, "--issue=1234", "--temperature=0.3")
    assert ran.store["issue_number"] == 1234
    assert "temperature" not in ran.store
    assert place.snapshot() == {
        "config_overrides": {"summarise-text": {"temperature": 0.3}},
        "cli_injections": {"issue_number": 1234},
    }


@pytest.fixture
def saved(place, github):
    """The saved flow fix-issue."""
    flows = place.home / ".local" / "share" / "pflow" / "flows"
    flows.mkdir(parents=True)
    (flows / "fix-issue.pflow.json").write_text(json.dumps({"nodes": [{"type": "github-get-issue"}]}))
    return place.use("stand_ins")


@pytest.mark.skipif(shutil.which("script") is None, reason="script(1) makes the terminal")
def test_a_saved_flow_asks_for_what_is_missing_on_a_terminal(saved):
    ran = subprocess.run(
        ["script", "-qec", "pflow fix-issue -q", "/dev/null"],
        cwd=saved.directory,
        env=saved.environment,
        input="1234\n",
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    assert "github-get-issue needs --issue (issue number):" in ran.stdout
    assert saved.snapshot()["cli_injections"] == {"issue_number": 1234}


def test_without_a_terminal_it_says_which_flag_gives_it(saved, github):
    ran = saved.pflow("fix-issue")
    assert (ran.code, "--issue=" in ran.err) == (66, True)
    assert github.asked == []


def test_a_saved_flow_takes_its_inputs_as_flags(saved):
    assert saved.pflow("fix-issue", "--issue=1234").store["issue_number"] == 1234


def test_the_ir_has_a_param_that_write_file_has_not(place):
    """pflow's own write-file writes what it is given, and has no `format` (PF13)."""
    place.write("flow.pflow.json", block("001", 14))
    ran = place.pflow("check", "flow.pflow.json")
    assert ran.code == 65
    assert ran.out.startswith("flow.pflow.json: nodes[1].params.format: PF13: ")
    assert ran.out.count("\n") == 1


def test_without_that_param_the_ir_runs(place):
    flow = json.loads(block("001", 14))
    del flow["nodes"][1]["params"]
    ran = place.run(flow, "--prompt=Say this", "--model=echo", "--path=out.md")
    assert {name: ran.store[name] for name in ("formatted_prompt", "content")} == {
        "formatted_prompt": "Say this", "content": "Say this",
    }  # fmt: skip
    assert place.read("out.md") == "Say this"
    assert place.snapshot()["config_overrides"] == {"llm": {"model": "echo"}}
