"""Claude Code: calling it, and reading its result or failure from its output."""

import json
import os
import shlex
import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from pflow.errors import BAD_CONFIG, DENIED, FAILED, OVER_BUDGET, TRY_AGAIN, UNAVAILABLE, USAGE, PflowError, shorten
from pflow.kit.agents.work import Agent, AgentReply, AgentTask
from pflow.words.printable import one_line
from pflow.words.usage import amount

LOG_IN = "set ANTHROPIC_API_KEY, or log in: claude, /login; --load-settings where your settings have the key"

_BY_ERROR = {
    "authentication_failed": (DENIED, LOG_IN),
    "oauth_org_not_allowed": (DENIED, LOG_IN),
    "billing_error": (DENIED, "its account has no credit"),
    "rate_limit": (TRY_AGAIN, ""),
    "overloaded": (TRY_AGAIN, ""),
    "server_error": (TRY_AGAIN, ""),
    "model_not_found": (BAD_CONFIG, "--model names another"),
}
"""Exit codes and hints by the `error` of its last message."""

BUDGET = "error_max_budget_usd"

_BY_SUBTYPE = {
    "error_max_turns": (OVER_BUDGET, "--max-turns allows more"),
    BUDGET: (OVER_BUDGET, "--max-budget allows more"),
}
"""Exit codes and hints by the `subtype` of its result."""

_RULES = {"Write": "Edit", "NotebookEdit": "Edit", "MultiEdit": "Edit", "Edit": "Edit", "Read": "Read"}
"""The kind of rule that allows a tool a path. A path after any other name of these is ignored."""

_BY_MODEL = {"input": ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"), "output": ("outputTokens",)}
_IN_RESULT = {
    "input": ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "output": ("output_tokens",),
}
"""The names of its counts of tokens."""

_BY_STATUS = {401: "authentication_failed", 403: "authentication_failed", 429: "rate_limit"}


def words(task: AgentTask) -> list[str]:
    """Return its arguments. A person's values follow a =, so that none of them is taken for a flag."""
    # Permissions in settings count in safe mode too.
    isolation = ["--safe-mode", "--setting-sources=", "--no-session-persistence"]
    tools = {_name_of(str(tool)) for tool in task.allowed_tools}
    # It saves 65,000 characters a turn, but offers these tools alone, whatever --tools says.
    if os.environ.get("ANTHROPIC_API_KEY") and tools <= {"Bash", "Edit", "Read"}:
        isolation.append("--bare")
    return [
        "-p",
        # Unlike json, it says when a limit ends. It needs --verbose.
        "--output-format=stream-json",
        "--verbose",
        *([] if task.load_settings else isolation),
        *(f"--allowedTools={_checked(str(tool))}" for tool in task.allowed_tools),
        *([f"--model={task.model}"] if task.model else []),
        *([f"--max-turns={task.max_turns}"] if task.max_turns else []),
        *([f"--max-budget-usd={task.max_budget:.6f}"] if task.max_budget else []),
    ]


def _checked(tool: str) -> str:
    """Check a tool to allow. Raises PflowError (2) for a flag, a pattern of all tools, and a path without effect."""
    name = _name_of(tool)
    rule, paths = _RULES.get(name, name), tool.partition("(")[2]
    if tool.startswith("-") or name in ("", "*"):
        what = f"cannot allow '{shorten(tool)}': it is not the name of a tool"
        raise PflowError(what, hint="tools are written Edit, 'Bash(make test)' or 'Edit(./src/**)'", exit=USAGE)
    if rule != name and paths not in ("", ")", "*)"):
        what = f"cannot allow '{shorten(tool)}': Claude Code ignores paths of {name}"
        raise PflowError(what, hint=f"'{rule}({shorten(paths)}' allows {name} too", exit=USAGE)
    return tool


def _name_of(tool: str) -> str:
    return tool.partition("(")[0].strip()


def as_text(prompt: str) -> str:
    """Return the prompt as plain text: to Claude Code, a slash at its beginning would make it a command."""
    return f"\n{prompt}" if prompt.startswith("/") else prompt


class _Story:
    """Its output: the result, and the model, text, error and limit from the lines before it."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.result: dict[str, Any] | None = None
        self.model = self.text = self.error = ""
        self.resets_at: float | None = None
        for event in _events(lines):
            kind = event.get("type")
            if kind == "result":
                self.result = event
            elif kind == "system":
                self.model = str(event.get("model") or self.model)
            elif kind == "assistant":
                self._note_message(event)
            elif kind == "rate_limit_event":
                self._note_limit(event)

    def _note_message(self, event: dict[str, Any]) -> None:
        if event.get("parent_tool_use_id"):  # a message of its subagent
            return
        message = event.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        parts = [each for each in content or [] if isinstance(each, dict)]
        text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        is_report = all(part.get("type") != "tool_use" for part in parts)  # not its words before it uses a tool
        self.text = (text or self.text) if is_report else ""
        self.error = str(event.get("error") or "")

    def _note_limit(self, event: dict[str, Any]) -> None:
        info = event.get("rate_limit_info")
        if isinstance(info, dict) and info.get("status") == "rejected" and isinstance(info.get("resetsAt"), int):
            self.resets_at = min(max(info["resetsAt"], 0), 1e11)  # within what a calendar can show


def _events(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # sometimes it writes one event into another
            continue
        if isinstance(event, dict):
            yield event


def read(lines: Iterable[bytes]) -> AgentReply | None:
    story = _Story(lines)
    result = story.result
    if result is None:
        return None
    said = result.get("result")
    report = (said if isinstance(said, str) else "") or story.text
    failure = _failure(result, story)
    if failure is None and not report.strip():
        failure = PflowError("cannot finish 'claude': it reported nothing", hint="its changes stay", exit=FAILED)
    session = str(result.get("session_id") or "")
    return AgentReply(report=report, session=session, usage=_usage(result, story.model), failure=failure)


def _usage(result: dict[str, Any], model: str) -> dict[str, Any]:
    """Sum the tokens of all its models, else those of the result, which omits calls that ended at a limit."""
    by_model, own, cost = (result.get(name) for name in ("modelUsage", "usage", "total_cost_usd"))
    tokens = {} if own is None else _tokens([own], _IN_RESULT)
    if by_model is not None:
        tokens = _tokens(by_model.values(), _BY_MODEL)
    price = {} if cost is None else {"cost": float(_amount(cost))}
    return {"model": model or next(iter(by_model or {}), "claude"), **tokens, **price}


def _tokens(parts: Collection[dict[str, Any]], names: dict[str, tuple[str, ...]]) -> dict[str, int]:
    return {side: sum(int(_amount(part.get(name))) for part in parts for name in of) for side, of in names.items()}


def _amount(value: Any) -> float:
    """Return a count or a price, 0 for none. Raises ValueError for anything else."""
    if value is not None and amount(value) is None:
        raise ValueError("an amount is not a number")
    return value or 0


def _failure(result: dict[str, Any], story: _Story) -> PflowError | None:
    """Return the failure, if any; `subtype` alone does not tell, being `success` after a failed login too."""
    if result.get("subtype") in _BY_SUBTYPE:
        exit, hint = _BY_SUBTYPE[result["subtype"]]
        error = PflowError(f"cannot finish 'claude': {_words(result, story)}", hint=hint, exit=exit, is_permanent=True)
        error.ends_run = result["subtype"] == BUDGET
        return error
    if result.get("is_error") is not False or story.error:
        return _error(result, story)
    denials = result.get("permission_denials")
    return _denied(denials) if denials else None


def _error(result: dict[str, Any], story: _Story) -> PflowError:
    status: Any = result.get("api_error_status")
    by_status = "server_error" if isinstance(status, int) and status >= 500 else _BY_STATUS.get(status, "")
    error = story.error if story.error in _BY_ERROR else by_status
    exit, hint = _BY_ERROR.get(error, (FAILED, ""))
    if error == "server_error" and status is None:
        exit = UNAVAILABLE
    wait = None
    if exit == TRY_AGAIN and story.resets_at is not None:
        wait = max(story.resets_at - time.time(), 0)
        hint = f"its limit ends at {time.strftime('%Y-%m-%d %H:%M:%S %z', time.localtime(story.resets_at))}"
    return PflowError(f"cannot finish 'claude': {_words(result, story)}", hint=hint, exit=exit, retry_after=wait)


def _denied(denials: list[dict[str, Any]]) -> PflowError:
    tool, input = str(denials[0].get("tool_name") or "a tool"), denials[0].get("tool_input") or {}
    what = next((value for value in input.values() if isinstance(value, str)), "")
    more = f", and {len(denials) - 1} more" if len(denials) > 1 else ""
    hint = f"--allowed-tools={_rule_for(tool, what)} allows it; list the others too, or tell it to work without"
    return PflowError(f"cannot finish 'claude': {tool} was denied: {shorten(what)}{more}", hint=hint, exit=DENIED)


def _rule_for(tool: str, what: str) -> str:
    """Return the words that allow a tool what it was denied: a path, for a tool of files."""
    if tool in _RULES and what:
        return shlex.quote(f"{_RULES[tool]}({'/' if what.startswith('/') else './'}{what})")
    return "'Bash(…)'" if tool == "Bash" else shlex.quote(tool)


def _words(result: dict[str, Any], story: _Story) -> str:
    """Return its own words for the failure."""
    errors = result.get("errors")
    said = "; ".join(map(str, errors)) if isinstance(errors, list) else result.get("result") or story.text
    return one_line(str(said or result.get("subtype") or "it failed"))


CLAUDE = Agent(
    program="claude",
    how_to_get="npm install -g @anthropic-ai/claude-code, then set ANTHROPIC_API_KEY, or claude and /login",
    secrets=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    # Else it would read any @FILE in a prompt, even without the right to, and a prompt may come from strangers.
    variables={"CLAUDE_CODE_DISABLE_ATTACHMENTS": "1"},
    words=words,
    prompt=as_text,
    read=read,
)
