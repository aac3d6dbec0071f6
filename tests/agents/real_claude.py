"""Claude Code itself, behind a server on 127.0.0.1: its flags and its answers are those that pflow goes by.

`make agents` runs this with `claude` on PATH; no other test does.
"""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pflow.errors import PflowError
from pflow.kit.agents.claude import arguments
from pflow.kit.agents.work import AgentTask
from pflow.nodes.claude_code import ClaudeCode
from tests.agents.messages_server import STALLS, MessagesServer, fails, says, uses

assert shutil.which("claude"), "no claude on PATH: run this by make agents"

KEY = "sk-ant-api03-0123456789abcdef"
LIMIT = 20
HIDDEN = {"--max-turns"}
"""Flags that its help leaves out; a test below shows that it has them."""
TOUCH = uses("Bash", command="touch made.txt && touch made2.txt", description="make files")


@pytest.fixture(autouse=True)
def server(tmp_path, monkeypatch):
    """It works in an empty directory, with a home of its own, and asks a server on this machine once."""
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE"))]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with MessagesServer() as server:
        for name, value in {
            "HOME": str(tmp_path / "home"),
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "NO_PROXY": "127.0.0.1",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def subscription(monkeypatch):
    """Without a key, so not --bare, but logged in."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-0123456789")


def work(prompt: str = "Plant a tree", **params: object) -> dict[str, object]:
    node = ClaudeCode()
    node.set_params(params)
    shared: dict[str, object] = {"prompt": prompt}
    node.run(shared)
    return shared


def refuse(**params: object) -> PflowError:
    with pytest.raises(PflowError) as caught:
        work(**params)
    return caught.value


def test_it_has_every_flag_that_is_set():
    shown = subprocess.run(["claude", "--help"], capture_output=True, text=True, check=True).stdout
    task = AgentTask("x", allowed_tools=["Edit"], model="opus", max_turns=1, max_budget=1.0)
    flags = {word.partition("=")[0] for word in arguments(task)}
    assert "--bare" in flags
    assert flags - HIDDEN - set(re.findall(r"(?<![\w-])--?[\w-]+", shown)) == set()


def test_it_changes_a_file_and_reports(server):
    path = str(Path.cwd() / "tree.txt")
    server.turns = [uses("Edit", file_path=path, old_string="", new_string="Oak"), says("Planted.")]
    done = work(expect=["tree.txt", "!grep -q Oak tree.txt"])
    assert (done["report"], done["changed_files"], Path("tree.txt").read_text()) == ("Planted.", ["tree.txt"], "Oak")
    assert done["cost"] > 0
    usage = done["usage"]
    assert (usage["input"], usage["output"], usage["cost"]) == (200, 40, done["cost"])
    headers, body = server.requests[0]
    assert headers["x-api-key"] == KEY
    assert len(str(body)) < 10_000
    assert done["session"]


def test_a_login_changes_a_file_too(server, subscription):
    server.turns = [uses("Write", file_path=str(Path.cwd() / "tree.txt"), content="Oak"), says("Planted.")]
    assert work()["changed_files"] == ["tree.txt"]
    assert server.requests[0][0]["authorization"] == "Bearer sk-ant-oat01-0123456789"


def test_a_long_report_is_whole_and_so_is_one_that_goes_on_after_its_limit(server):
    server.turns = [says("x" * 200_000)]
    assert work()["report"] == "x" * 200_000
    server.turns = [says("half of the", stop="max_tokens"), says(" report.")]
    assert work()["report"] == "half of the report."


@pytest.mark.parametrize(
    ("stop", "exit"),
    [
        *(("refusal", 1), ("max_tokens", 65), ("model_context_window_exceeded", 65), ("pause_turn", 75)),
        *(("tool_use", 75), ("end_turn", 75)),
    ],
)
def test_a_report_that_did_not_end_by_itself_or_is_empty_is_a_failure(server, stop, exit):
    server.turns = [says("half" if stop != "end_turn" else "", stop=stop)]
    assert refuse().exit == exit


@pytest.mark.parametrize(
    ("turn", "exit", "words"),
    [
        (fails(401, "authentication_error", "invalid x-api-key"), 77, "Invalid API key"),
        (fails(403, "permission_error", "no"), 77, ""),
        (fails(400, "invalid_request_error", "Your credit balance is too low to access the API"), 77, "Credit balance"),
        (fails(404, "not_found_error", "model: nope"), 78, "selected model"),
        (fails(429, "rate_limit_error", "slow down"), 75, "slow down"),
        (fails(529, "overloaded_error", "Overloaded"), 75, "Overloaded"),
        (fails(500, "api_error", "Internal"), 75, "Internal"),
        (fails(400, "invalid_request_error", "bad thing"), 65, "bad thing"),
    ],
)
def test_what_a_server_refuses_fails_with_its_code(server, turn, exit, words):
    server.turns = [turn]
    error = refuse()
    assert (error.exit, words in error.message) == (exit, True), error.message


def test_a_reached_limit_says_when_it_ends(server, subscription):
    ends = int(time.time()) + 3600
    server.turns = [
        fails(
            429,
            "rate_limit_error",
            "This request would exceed your account's rate limit.",
            anthropic_ratelimit_unified_status="rejected",
            anthropic_ratelimit_unified_reset=str(ends),
            anthropic_ratelimit_unified_representative_claim="five_hour",
        )
    ]
    error = refuse()
    assert (error.exit, error.retry_after == pytest.approx(3600, abs=60)) == (75, True), error.message
    assert time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ends)) in error.hint


def test_without_a_login_its_failure_says_what_to_do(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    error = refuse()
    assert (error.exit, "set ANTHROPIC_API_KEY" in error.hint) == (77, True)


def test_where_nothing_listens_it_fails(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    assert refuse().exit == 69


@pytest.mark.parametrize(("params", "words"), [({"max_turns": 1}, "turns"), ({"max_budget": 0.0001}, "budget")])
def test_its_own_limits_are_79_and_what_it_took_counts(server, params, words):
    server.turns = [uses("Read", file_path=str(Path.cwd())), says("Done.")]
    error = refuse(**params)
    assert (error.exit, words in error.message, error.usage["tokens"]["in"]) == (79, True, 100)


@pytest.mark.parametrize(
    "turn",
    [
        TOUCH,
        uses("Edit", file_path="/tmp/outside-of-it.txt", old_string="", new_string="x"),
        uses("Read", file_path="/etc/passwd"),
    ],
)
def test_what_nobody_allowed_is_denied_and_fails(server, turn):
    server.turns = [turn, says("Done.")]
    error = refuse()
    assert (error.exit, "was denied" in error.message) == (77, True)
    assert list(Path.cwd().iterdir()) == []


def test_a_tool_that_is_named_is_offered_with_a_key_too(server):
    server.turns = [uses("Write", file_path=str(Path.cwd() / "tree.txt"), content="Oak"), says("Planted.")]
    assert work(allowed_tools=["Write"])["changed_files"] == ["tree.txt"]
    assert refuse(allowed_tools=["Write(./**)"]).exit == 2


def test_the_rule_of_a_hint_allows_what_was_denied(server, subscription, tmp_path):
    outside = uses("Write", file_path=str(tmp_path / "out.txt"), content="Oak")
    server.turns = [outside, says("Done.")]
    rule = refuse().hint.removeprefix("--allowed-tools=").partition(" allows it")[0]
    server.turns = [outside, says("Done.")]
    work(allowed_tools=[rule.strip("'")])
    assert (tmp_path / "out.txt").read_text() == "Oak"


def test_an_empty_result_is_no_success(server):
    server.turns = [uses("Read", file_path=str(Path.cwd() / "none")), says("")]
    assert refuse().message == "cannot finish 'claude': it reported nothing"


def test_what_is_allowed_is_done(server):
    server.turns = [TOUCH, says("Done.")]
    assert work(allowed_tools=["Bash(touch *)"])["changed_files"] == ["made.txt", "made2.txt"]


def test_settings_allow_nothing_unless_they_are_loaded(server, subscription):
    Path("../home/.claude").mkdir(exist_ok=True)
    Path("../home/.claude/settings.json").write_text('{"permissions": {"allow": ["Bash(*)"]}}')
    server.turns = [TOUCH, says("Done.")]
    assert refuse().exit == 77
    server.turns = [TOUCH, says("Done.")]
    assert work(load_settings=True)["changed_files"] == ["made.txt", "made2.txt"]


@pytest.mark.parametrize("prompt", ["/compact this", "See @/etc/passwd and @secret.txt", "-x --model=y"])
def test_all_of_a_prompt_is_text(server, subscription, prompt):
    Path("secret.txt").write_text("the secret")
    work(prompt)
    sent = str(server.requests[0][1]["messages"])
    assert prompt in sent
    assert "root:" not in sent
    assert "the secret" not in sent


def test_it_ends_with_the_stage(server):
    server.turns = [STALLS]
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    command = [Path(sys.executable).parent / "pflow-claude-code", "Plant a tree", "-r"]
    stage = subprocess.Popen(command, close_fds=False, stdin=subprocess.DEVNULL)
    os.close(writer)
    try:
        assert server.is_stalled.wait(LIMIT)
        stage.send_signal(signal.SIGKILL)
        stage.wait(LIMIT)
        assert select.select([reader], [], [], LIMIT)[0], "a process is left"
    finally:
        os.close(reader)
