"""claude-code: what Claude Code is given, what its answers become, and what ends it; Claude Code itself is a peer."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pflow.driver.budget import Budget
from pflow.errors import PflowError
from pflow.nodes.claude_code import ClaudeCode
from pflow.values.usage import Calls

PEER = Path(__file__).parent.parent / "peers" / "claude"
LIMIT = 20
"""Seconds after which a process that should have ended counts as left over."""
USAGE = {"model": "claude-opus-4-8", "input": 142, "output": 20, "cost": 0.01}
ISOLATED = ["--safe-mode", "--setting-sources=", "--no-session-persistence"]


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """A working directory, where `claude` is the peer, and no key is set."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_PEER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{PEER}:{os.environ['PATH']}")
    monkeypatch.setenv("CLAUDE_PEER_SEEN", str(tmp_path / "seen.json"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def work(prompt: str = "Plant a tree", calls: Calls | None = None, **params: object) -> dict[str, object]:
    node = ClaudeCode()
    node.calls = calls or Calls()
    node.set_params(params)
    shared: dict[str, object] = {"prompt": prompt}
    assert node.run(shared) is None
    return shared


def refuse(prompt: str = "Plant a tree", **params: object) -> PflowError:
    with pytest.raises(PflowError) as caught:
        work(prompt, **params)
    return caught.value


def seen() -> dict[str, object]:
    return json.loads(Path(os.environ["CLAUDE_PEER_SEEN"]).read_text())


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, [*ISOLATED, "--allowedTools=Edit(./**)"]),
        ({"load_settings": True, "allowed_tools": []}, []),
        ({"allowed_tools": ["Bash(ls -m a,b)", "Edit"]}, ["--allowedTools=Bash(ls -m a,b)", "--allowedTools=Edit"]),
        ({"model": "--opus", "allowed_tools": []}, ["--model=--opus"]),
        ({"max_turns": 3, "max_budget": 0.00001, "allowed_tools": []}, ["--max-turns=3", "--max-budget-usd=0.000010"]),
    ],
)  # fmt: skip
def test_params_become_words_and_the_prompt_goes_through_stdin(directory, monkeypatch, params, words):
    monkeypatch.setenv("CLAUDECODE", "1")  # as in a terminal of Claude Code, which refuses to start inside another one
    (directory / "sub").mkdir()
    work("Find a tree\0 and ünder it @/etc/passwd", directory="sub", **params)
    isolated = [] if params.get("load_settings") or words[:1] == ISOLATED[:1] else ISOLATED
    always = ["-p", "--output-format=stream-json", "--verbose"]
    assert seen()["words"] == [*always, *isolated, *words]
    assert (seen()["prompt"], seen()["attachments"]) == ("Find a tree\0 and ünder it @/etc/passwd", "1")
    assert seen()["directory"] == str(directory / "sub")


def test_with_a_key_it_is_bare_and_nothing_shows_the_key(directory, monkeypatch, capfd):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    monkeypatch.setenv("CLAUDE_PEER", "leak")
    assert work()["report"] == "The key is ***."
    assert "--bare" in seen()["words"]
    work(allowed_tools=["Edit(./**)", "Write"])
    assert "--bare" not in seen()["words"]  # it would not offer Write
    monkeypatch.setenv("CLAUDE_PEER", "key")
    error = refuse()
    assert (error.exit, error.message) == (77, "cannot finish 'claude': Invalid API key ***")
    monkeypatch.setenv("CLAUDE_PEER", "success")
    refuse(expect=["!echo $ANTHROPIC_API_KEY; exit 1"])
    assert "0123456789" not in f"{capfd.readouterr()}{seen()}"


def test_a_prompt_is_never_a_command(directory):
    work("/compact")
    assert seen()["prompt"] == "\n/compact"


@pytest.mark.parametrize(
    ("answer", "report"),
    [
        ("success", "Done."),
        ("no_text", "Said before."),
        ("long", "x" * 300_000),
        ("torn", "Done."),
        ("within", "Done."),
    ],
)
def test_a_whole_result_is_a_success(directory, monkeypatch, answer, report):
    monkeypatch.setenv("CLAUDE_PEER", answer)
    assert work() == {
        "prompt": "Plant a tree",
        "report": report,
        "session": "5e55-10n",
        "cost": 0.01,
        "usage": USAGE,
        "changed_files": [],
    }


@pytest.mark.parametrize(
    ("answer", "exit", "words"),
    [
        ("login", 77, "Not logged in · Please run /login; set ANTHROPIC_API_KEY, or log in"),
        ("limit", 75, "You've hit your limit · resets 1am (UTC); its limit ends at 20"),
        ("limit_as_success", 75, "Rate limit reached"),
        ("status_429", 75, "Rate limit reached"),
        ("status_503", 75, "503"),
        ("overloaded", 75, "529 Overloaded"),
        ("unreachable", 69, "Unable to connect to API"),
        ("model", 78, "selected model (nope); --model names another"),
        ("refusal", 1, "unable to respond to this request"),
        ("turns", 79, "Reached maximum number of turns (1); --max-turns allows more"),
        ("budget", 79, "Reached maximum budget ($0.01); --max-budget allows more"),
        ("denied", 77, "Bash was denied: rm -rf build, and 1 more; --allowed-tools='Bash(…)' allows it"),
        ("nothing", 1, "it ended with 0 and without a result"),
        ("cut", 1, "it ended with 0 and without a result"),
        ("crash", 3, "it ended with 3 and without a result: out of memory"),
        ("killed", 137, "it ended with 137 and without a result"),
    ],
)
def test_anything_else_is_a_failure(directory, monkeypatch, answer, exit, words):
    monkeypatch.setenv("CLAUDE_PEER", answer)
    error = refuse()
    assert error.exit == exit
    assert words in f"{error.message}; {error.hint}"
    assert error.usage["model"]  # a call that came to nothing is a call
    assert not error.ends_run
    assert (error.retry_after is not None) == (answer == "limit")


SUCCESS = {"type": "result", "subtype": "success", "is_error": False, "result": "Done."}
PLAN = """\
{"type": "assistant", "message": {"content": [{"text": "I plant."}, {"type": "tool_use", "name": "Edit"}]}}
{"type": "user"}
"""
MALFORMED = (65, "cannot read the answer of 'claude': its result or its usage is malformed")


def denied(tool, **input):
    return {"permission_denials": [{"tool_name": tool, "tool_input": input}]}


@pytest.mark.parametrize(
    ("code", "members", "exit", "words"),
    [
        (9, {}, 9, "cannot accept the result of 'claude': it ended with 9"),
        (0, {"result": " \n"}, 75, "it reported nothing"),
        # Claude Code ignores Write(//tmp/…).
        (0, denied("Write", file_path="/tmp/a b.txt"), 77, "--allowed-tools='Edit(//tmp/a b.txt)' allows it"),
        (0, denied("NotebookEdit", notebook_path="n.ipynb"), 77, "--allowed-tools='Edit(./n.ipynb)' allows it"),
        (0, denied("Read", file_path="/etc/passwd"), 77, "--allowed-tools='Read(//etc/passwd)' allows it"),
        (0, denied("WebFetch", url="http://a/"), 77, "--allowed-tools=WebFetch allows it"),
        (0, {"modelUsage": "DEEP"}, *MALFORMED),
        (0, {"modelUsage": {"m": {"inputTokens": float("nan")}}}, *MALFORMED),
        (0, {"modelUsage": {"m": {"inputTokens": -1}}}, *MALFORMED),
        (0, {"modelUsage": [7]}, *MALFORMED),
        (0, {"total_cost_usd": float("inf")}, *MALFORMED),
        (0, {"subtype": {}}, *MALFORMED),
        *((0, {"usage": usage}, *MALFORMED) for usage in ("x", [1], 0, "DEEP")),
        *((0, {"usage": {"input_tokens": count}}, *MALFORMED) for count in ("many", -1, [1], 10**400, float("nan"))),
        (0, {"usage": {"output_tokens": True}, "modelUsage": {}}, *MALFORMED),
    ],
)
def test_a_result_is_read_strictly(directory, monkeypatch, code, members, exit, words):
    result = json.dumps(SUCCESS | members).replace('"DEEP"', "DEEP")
    monkeypatch.setenv("CLAUDE_PEER", "raw")
    monkeypatch.setenv("CLAUDE_PEER_RAW", f"{code} {PLAN}{result}")
    error = refuse()
    assert (error.exit, words in f"{error.message}; {error.hint}") == (exit, True), error.message


def says(*parts, id="m1", stop=None, model="claude-x", **more):
    """Return an event: texts and, in a list, the name of a tool that it calls."""
    content = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "tool_use", "id": "t", "name": part[0]}
        for part in parts
    ]
    message = {"id": id, "role": "assistant", "model": model, "stop_reason": stop, "content": content}
    return {"type": "assistant", "message": message, **more}


RAN = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t"}]}}
THOUGHT = {"type": "assistant", "message": {"id": "m1", "content": [{"type": "thinking", "thinking": "Hm"}]}}
WITHIN = says("mine", id="m9", parent_tool_use_id="t")
NO_TURN = SUCCESS | {"num_turns": 0, "result": ""}


@pytest.mark.parametrize(
    ("events", "result", "report"),
    [
        ([says('{"a": 1, '), says('"b": 2}')], {"result": '{"a": 1, '}, '{"a": 1, "b": 2}'),
        ([says('{"a": 1, '), says('"b": 2}')], {"result": '"b": 2}'}, '{"a": 1, "b": 2}'),
        ([says("one, ", "two")], {"result": "two"}, "one, two"),
        ([says("one, "), THOUGHT, WITHIN, says("two")], {"result": "two"}, "one, two"),
        ([says("I look", ["Read"]), RAN, says("one, ", id="m2"), says("two", id="m2")], {"result": "two"}, "one, two"),
        ([says("one, ", stop="max_tokens"), says("two", id="m2")], {"result": "two"}, "one, two"),
        ([says("one, "), says("two", id="m2")], {"result": "two"}, "one, two"),
        ([says("Old."), says("new", id="m2")], {"result": "new"}, "new"),
        ([says("old"), RAN, says("new", id="m2")], {"result": "new"}, "new"),
        ([says("one")], {"result": "other"}, "other"),
        *(([says("one")], {"result": blank}, "one") for blank in ("", " \n", None)),
        ([says("One."), SUCCESS | {"result": "One."}, says("two", id="m2")], {"result": "two"}, "two"),
        ([says("one"), SUCCESS | {"result": "one"}, NO_TURN], {"num_turns": 0, "result": ""}, "one"),
        ([says("API Error: 529", error="overloaded"), says("one", id="m2")], {"result": "one"}, "one"),
        ([says("one")], {"result": "one", "stop_reason": "end_turn", "terminal_reason": "completed"}, "one"),
    ],
)
def test_a_report_is_the_whole_text_of_its_last_message(directory, monkeypatch, events, result, report):
    monkeypatch.setenv("CLAUDE_PEER", "raw")
    monkeypatch.setenv("CLAUDE_PEER_RAW", "0 " + "\n".join(map(json.dumps, [*events, SUCCESS | result])))
    assert work()["report"] == report


@pytest.mark.parametrize(
    ("events", "result", "exit", "words"),
    [
        *(
            ([], {"stop_reason": stop}, 75, "it ended before its tool ran: Done.")
            for stop in ("tool_use", "tool_deferred")
        ),
        ([says("I plan", ["Task"])], {}, 75, "it ended before its tool ran: Done."),
        ([says("I plan"), says(["Task"])], {"result": ""}, 75, "it ended before its tool ran; its changes stay"),
        ([], {"terminal_reason": "aborted_tools"}, 75, "it ended before its tool ran"),
        ([], {"stop_reason": "pause_turn"}, 75, "it stopped in its work"),
        (
            [],
            {"stop_reason": "max_tokens"},
            65,
            "stops at its token limit: Done.; the variable CLAUDE_CODE_MAX_OUTPUT_",
        ),
        ([says("Don", stop="max_tokens")], {"result": "Don"}, 65, "stops at its token limit: Don;"),
        ([], {"stop_reason": "model_context_window_exceeded"}, 65, "stops at its token limit"),
        ([], {"stop_reason": "refusal", "result": "No."}, 1, "it refused: No."),
        ([], {"subtype": "error_during_execution", "errors": ["ede"]}, 1, "cannot finish 'claude': ede"),
        ([], {"subtype": "error_new"}, 1, "cannot finish 'claude': Done."),
        ([], {"is_error": None}, 1, "cannot finish 'claude': Done."),
        ([], {"subtype": "error_max_budget", "result": None}, 79, "error_max_budget; --max-budget allows more"),
        ([], {"terminal_reason": "max_turns"}, 79, "--max-turns allows more"),
        ([says("No response requested.", model="<synthetic>")], {}, 1, "cannot finish 'claude': Done."),
        ([says("Credit balance is too low", error="billing_error")], None, 77, "its account has no credit"),
        (
            [],
            {"result": 'API Error: 400 {"error":{"message":"Your credit balance is too low"}}'},
            77,
            "400 Your credit",
        ),
        *(
            ([], {"result": said, "is_error": is_error}, exit, said)
            for said, is_error, exit in [
                ("API Error: 529 Overloaded", False, 75),
                ("API Error: 400 messages.0: text content blocks must be non-empty", False, 65),
                ("API Error (404): model: nope", True, 78),
                ("API Error: 413 request_too_large", True, 65),
                ("API Error: Claude's response exceeded the 32000 output token maximum.", True, 65),
                ("API Error: Request timed out.", True, 75),
                ("API Error: Connection error.", True, 69),
                ("API Error: 500 Internal server error", True, 75),
                ("API Error: Request was aborted.", False, 75),
                ("The model's tool call could not be parsed (retry also failed).", True, 75),
                ("Credit balance is too low", True, 77),
                ("Invalid API key \u00b7 Fix external API key", True, 77),
                ("OAuth token has expired", True, 77),
                ("You've hit your session limit \u00b7 resets 3am (UTC)", True, 75),
                ("Prompt is too long", True, 65),
                ("Claude AI usage limit reached|1893456000", True, 75),
            ]
        ),
    ],
)
def test_what_calls_itself_a_success_may_be_none(directory, monkeypatch, events, result, exit, words):
    results = [] if result is None else [SUCCESS | result]
    monkeypatch.setenv("CLAUDE_PEER", "raw")
    monkeypatch.setenv("CLAUDE_PEER_RAW", "0 " + "\n".join(map(json.dumps, [*events, *results])))
    error = refuse()
    assert (error.exit, words in f"{error.message}; {error.hint}") == (exit, True), error.message
    assert error.is_permanent or exit in (1, 69, 75)
    assert (error.retry_after is not None) == ("|1893456000" in words)


def test_work_without_a_report_is_done_if_that_is_allowed(directory, monkeypatch):
    monkeypatch.setenv("CLAUDE_PEER", "raw")
    monkeypatch.setenv("CLAUDE_PEER_RAW", f"0 {json.dumps(SUCCESS | {'result': ' '})}")
    assert work(allow_no_answer=True)["report"].strip() == ""


def test_tokens_are_those_of_all_models_else_of_the_result_and_without_both_unknown(directory, monkeypatch):
    monkeypatch.setenv("CLAUDE_PEER", "raw")
    own, all = {"usage": {"input_tokens": 3, "output_tokens": 4}}, {"modelUsage": {"m": {"inputTokens": 5}}}
    for members, tokens in (({}, {}), (own, {"input": 3, "output": 4}), (own | all, {"input": 5, "output": 0})):
        monkeypatch.setenv("CLAUDE_PEER_RAW", f"0 {json.dumps(SUCCESS | members)}")
        assert {**work()["usage"], "model": ""} == {"model": "", **tokens}


@pytest.mark.parametrize(
    ("params", "exit", "words"),
    [
        ({"directory": "none"}, 66, "cannot work in 'none': there is no such directory"),
        ({"allowed_tools": ["--dangerously-skip-permissions"]}, 2, "it is not the name of a tool"),
        ({"allowed_tools": ["*"]}, 2, "cannot allow '*': it is not the name of a tool"),
        ({"allowed_tools": ["Edit", ""]}, 2, "cannot allow '': it is not the name of a tool"),
        ({"allowed_tools": ["Write(./**)"]}, 2, "cannot allow 'Write(./**)': Claude Code ignores paths of Write"),
        ({"expect": ["tree.txt", "! \n"]}, 2, "an --expect is empty"),
        ({"max_turns": 0}, 2, "--max-turns=0: it must be more than 0"),
        ({"max_budget": -1.0}, 2, "--max-budget=-1.0: it must be more than 0"),
        ({"time_limit": 0.0}, 2, "--time-limit=0.0: it must be more than 0"),
        ({"prompt": " \n"}, 66, "the prompt is empty"),
        ({"prompt": "\udc80"}, 65, "the text has a lone surrogate"),
    ],
)
def test_what_cannot_be_done_is_refused_before_it_starts(directory, params, exit, words):
    error = refuse(**params)
    assert (error.exit, words in error.message) == (exit, True)
    assert not Path(os.environ["CLAUDE_PEER_SEEN"]).exists()


def test_where_it_is_not_installed_its_failure_says_how_to_get_it(directory, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    error = refuse()
    assert (error.exit, error.message) == (78, "cannot run 'claude': it is not installed")
    assert "npm install -g @anthropic-ai/claude-code" in error.hint


@pytest.mark.parametrize("is_repository", [True, False])
def test_changed_files_are_those_that_it_left_otherwise(directory, monkeypatch, is_repository):
    (directory / "repo" / ".git").mkdir(parents=True)
    (directory / "repo" / ".git" / "x").touch()
    (directory / "repo" / "old.txt").write_text("old")
    (directory / "repo" / "tree.txt").write_text("none")
    if is_repository:
        git = ["git", "-C", "repo", "-c", "init.defaultBranch=main"]
        subprocess.run([*git, "init", "-q"], check=True)
        (directory / "repo" / ".gitignore").write_text("old.txt\n")
    monkeypatch.setenv("CLAUDE_PEER", "write")
    assert work(directory="repo")["changed_files"] == ["repo/tree.txt"]


@pytest.mark.parametrize(
    ("expect", "answer", "message"),
    [
        (["tree.txt", "!test -s tree.txt"], "write", ""),
        (["tree.txt"], "success", "cannot find 'tree.txt' as expected: it is not there"),
        (["old.txt"], "write", "cannot find 'old.txt' as expected: it has not changed"),
        (["!grep -q Ash tree.txt"], "write", "cannot accept the work: 'grep -q Ash tree.txt' ended with 1"),
        (["tree.txt"], "denied", "cannot finish 'claude': Bash was denied"),
    ],
)
def test_what_is_expected_of_it_must_hold(directory, monkeypatch, expect, answer, message):
    (directory / "sub").mkdir()
    (directory / "sub" / "old.txt").write_text("old")
    monkeypatch.setenv("CLAUDE_PEER", answer)
    if not message:
        assert work(directory="sub", expect=expect)["changed_files"] == ["sub/tree.txt"]
        return
    error = refuse(directory="sub", expect=expect)
    assert error.message.startswith(message)
    assert error.usage["cost"] == 0.01


@pytest.mark.parametrize(
    ("own", "passed", "ends_run"), [(None, "0.250000", True), (1.0, "0.250000", True), (0.1, "0.100000", False)]
)
def test_the_budget_of_a_run_bounds_its_own(directory, monkeypatch, own, passed, ends_run):
    asked = []
    run = Budget({"cost": 0.25, "calls": 3})
    calls = Calls(lambda name, about: asked.append(about) or run.answer(name, about))
    monkeypatch.setenv("CLAUDE_PEER", "budget")
    error = refuse(calls=calls, max_budget=own, model="opus")
    assert f"--max-budget-usd={passed}" in seen()["words"]
    assert (error.exit, error.ends_run, asked[0]["model"], asked[0]["is_capped"]) == (79, ends_run, "opus", True)
    assert error.hint == f"--max-{'cost' if ends_run else 'budget'} allows more"
    monkeypatch.setenv("CLAUDE_PEER", "turns")
    assert not refuse(calls=calls, max_budget=own).ends_run


def test_a_cost_that_it_does_not_tell_is_unknown_and_never_0(directory, monkeypatch):
    monkeypatch.setenv("CLAUDE_PEER", "unpriced")
    done = work()
    assert "cost" not in done
    assert done["usage"] == {key: USAGE[key] for key in ("model", "input", "output")}


def test_a_run_counts_what_it_cost(directory, monkeypatch):
    monkeypatch.setenv("CLAUDE_PEER", "spend")
    monkeypatch.setenv("CLAUDE_PEER_COST", "0.4")
    flow = "claude-code 'Plant an oak' => claude-code 'an ash' => claude-code 'an elm'"
    command = [Path(sys.executable).parent / "pflow", "run", "--max-cost=0.7", "-q", flow]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert (done.returncode, "spent $0.80 of $0.70" in done.stderr) == (79, True), done.stderr
    assert "--max-budget-usd=0.300000" in seen()["words"]


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9), (None, 124)])
def test_it_ends_with_us_and_with_all_that_it_started(directory, monkeypatch, signum, code):
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    monkeypatch.setenv("CLAUDE_PEER", "hang")
    limit = "0.5" if signum is None else "1800"
    command = [Path(sys.executable).parent / "pflow-claude-code", "Plant", f"--time-limit={limit}", "-r"]
    stage = subprocess.Popen(command, close_fds=False, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(writer)
    try:
        if signum:
            while not Path(os.environ["CLAUDE_PEER_SEEN"]).exists():
                assert stage.poll() is None
                time.sleep(0.01)
            stage.send_signal(signum)
        assert stage.wait(LIMIT) in (code, 128 + code if code < 0 else -15)
        assert select.select([reader], [], [], LIMIT)[0], "a process is left"
    finally:
        os.close(reader)
        stage.stderr.close()


@pytest.mark.parametrize("command", [["explain"], ["run", "--dry-run", "-q"], []])
def test_what_it_may_do_is_told_before_it_does(directory, command):
    words = [
        "claude-code",
        "Plant",
        "--allowed-tools=Bash(make *)",
        "--expect=!make",
        "--model=opus",
        "--max-budget=2.5",
    ]
    program = [Path(sys.executable).parent / "pflow", *command]
    given = [*program, shlex.join(words)] if command else [*program, *words, "--dry-run", "-q"]
    done = subprocess.run(given, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True)
    shown = " ".join(f"{done.stdout}{done.stderr}".split())
    for each in ("directory", 'allowed_tools*["Bash(make *)"]', 'expect*["!make"]', "opus", "max_budget*2.5"):
        name, _, value = each.partition("*")
        assert re.search(f"{name}:? ?{re.escape(value)}", shown), shown
    assert not Path(os.environ["CLAUDE_PEER_SEEN"]).exists()
