"""Claude Code as an agent: its command line, and reading its result or failure from its output."""

import json
import os
import re
import shlex
import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from pflow.errors import BAD_DATA, DENIED, FAILED, OVER_BUDGET, TRY_AGAIN, UNAVAILABLE, USAGE, PflowError, shorten
from pflow.kit.agents.work import Agent, AgentReply, AgentTask
from pflow.text.printable import foreign_line
from pflow.values.usage import amount
from pflow.web.reasons import Reason, exit_of

LOG_IN = "set ANTHROPIC_API_KEY, or log in: claude, /login; --load-settings where your settings have the key"
LONGER = "the variable CLAUDE_CODE_MAX_OUTPUT_TOKENS allows a longer one"

_HINTS = {"key": LOG_IN, "access": LOG_IN, "credit": "its account has no credit", "model": "--model names another"}
"""Hints by the kind of an error (pflow.web.reasons)."""

_OWN_WORDS = {
    "busy": "limit reached|(hit|reached) your .*limit",
    "key": "/login|oauth|organization has been disabled",
    "filter": "unable to respond to this request|usage policy",
    "cut": "output token maximum",
    "down": "aborted|could not be parsed",
    "unreachable": "unable to connect|connection error|econn|enotfound",
}
"""Words that only Claude Code uses, by the kind of the error."""

_OWN_KINDS = {"cut": (BAD_DATA, LONGER), "unreachable": (UNAVAILABLE, "")}
"""Exit codes and hints of the kinds that providers do not have."""

_OF_BUDGET = ("error_max_budget_usd", "error_max_budget", "budget_exhausted")

_BY_LIMIT = {
    **dict.fromkeys(("error_max_turns", "max_turns"), "--max-turns allows more"),
    **dict.fromkeys(_OF_BUDGET, "--max-budget allows more"),
}
"""Hints for limits that pflow sets, by the `subtype` or the `terminal_reason` of the result."""

_CUT = ("max_tokens", "model_context_window_exceeded")

_BY_REASON = {
    **dict.fromkeys(("tool_use", "tool_deferred", "aborted_tools"), (TRY_AGAIN, "it ended before its tool ran", "")),
    **dict.fromkeys(("pause_turn", "aborted_streaming", "model_error"), (TRY_AGAIN, "it stopped in its work", "")),
    **dict.fromkeys(_CUT, (BAD_DATA, "its report stops at its token limit", LONGER)),
    "refusal": (FAILED, "it refused", ""),
    "prompt_too_long": (BAD_DATA, "the prompt is too long", ""),
    "malformed_tool_use_exhausted": (TRY_AGAIN, "it called a tool in a wrong form", ""),
}
"""Exit codes, words and hints for results that claim success and are failures: by `stop_reason`, `terminal_reason`."""

_RULES = {"Write": "Edit", "NotebookEdit": "Edit", "MultiEdit": "Edit", "Edit": "Edit", "Read": "Read"}
"""The rule by which Claude Code allows each tool of files a path. It ignores a path after another tool's name."""

_BY_MODEL = {"input": ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"), "output": ("outputTokens",)}
_IN_RESULT = {
    "input": ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "output": ("output_tokens",),
}
"""Claude Code's names for the counts of tokens: of one model, and of the whole result."""


def arguments(task: AgentTask) -> list[str]:
    """Return the arguments of the program. A person's values follow a =, so that none of them is taken for a flag."""
    # Load no settings: even in safe mode, Claude Code applies the permissions in them.
    isolation = ["--safe-mode", "--setting-sources=", "--no-session-persistence"]
    tools = {_name_of(str(tool)) for tool in task.allowed_tools}
    # --bare saves 65,000 characters a turn, but offers only these tools, whatever --tools says.
    if os.environ.get("ANTHROPIC_API_KEY") and tools <= {"Bash", "Edit", "Read"}:
        isolation.append("--bare")
    return [
        "-p",
        # Unlike json, stream-json says when a rate limit ends. It needs --verbose.
        "--output-format=stream-json",
        "--verbose",
        *([] if task.load_settings else isolation),
        *(f"--allowedTools={_checked(str(tool))}" for tool in task.allowed_tools),
        *([f"--model={task.model}"] if task.model else []),
        *([f"--max-turns={task.max_turns}"] if task.max_turns else []),
        *([f"--max-budget-usd={task.max_budget:.6f}"] if task.max_budget else []),
    ]


def _checked(tool: str) -> str:
    """Return the tool. Raises PflowError (2) for a flag, a pattern of all tools, and a path without effect."""
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
    """Return the prompt as plain text: Claude Code takes one that begins with a slash for a command."""
    return f"\n{prompt}" if prompt.startswith("/") else prompt


class _Output:
    """The output of Claude Code: its result, and the model, text, end, error and rate limit in the lines before it.

    `text` is the text of the last message, whose blocks may come as several events, and `stop` the reason for its end.
    `error` is the kind of error in a message that Claude Code itself wrote in place of the model.
    """

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.result: dict[str, Any] | None = None
        self.model = self.text = self.error = ""
        self.stop: Any = None
        self.resets_at: float | None = None
        self._id: Any = None
        self._is_cut = False
        for event in _events(lines):
            kind = event.get("type")
            if kind == "result" and (self.result is None or event.get("result") or event.get("num_turns") != 0):
                self.result = event  # a later result without a turn only reports work in the background
            elif kind == "system":
                self.model = str(event.get("model") or self.model)
            elif kind == "user":
                self.stop, self._is_cut = None, False  # a tool's result, so the message before it was complete
            elif kind == "assistant" and not event.get("parent_tool_use_id"):  # else a subagent wrote the message
                self._note_message(event)
            elif kind == "rate_limit_event":
                self._note_limit(event)

    def _note_message(self, event: dict[str, Any]) -> None:
        message: Any = event.get("message")
        message = message if isinstance(message, dict) else {}
        parts = [each for each in message.get("content") or [] if isinstance(each, dict)]
        text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        calls_tool = any(part.get("type") == "tool_use" for part in parts)
        if calls_tool:
            self.text = ""  # words before a tool say what it will do, and do not belong to the report
        elif message.get("id") == self._id or self.stop in _CUT or self._is_cut:
            self.text += text
        else:
            self.text = text or self.text
        self.stop = message.get("stop_reason") or ("tool_use" if calls_tool else None)
        self.error = str(event.get("error") or ("unknown" if message.get("model") == "<synthetic>" else ""))
        # At its token limit Claude Code silently goes on in another message. A text cut within a sentence shows that.
        last = "" if self.error else self.text.rstrip()[-1:]
        self._id, self._is_cut = message.get("id"), last.isalnum() or last == ","

    def _note_limit(self, event: dict[str, Any]) -> None:
        info = event.get("rate_limit_info")
        if isinstance(info, dict) and info.get("status") == "rejected" and isinstance(info.get("resetsAt"), int):
            self.resets_at = min(max(info["resetsAt"], 0), 1e11)  # strftime fails past that


def _events(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # seen: one event written into the middle of another
            continue
        if isinstance(event, dict):
            yield event


def read(lines: Iterable[bytes]) -> AgentReply | None:
    output = _Output(lines)
    if output.result is None and not output.error:
        return None
    result = output.result or {}
    said = result.get("result")
    report = said if isinstance(said, str) else ""
    if report.strip() in output.text:  # the result may have only one of the text's blocks, or none
        report = output.text
    failure = _failure(result, output, report)
    session = str(result.get("session_id") or "")
    return AgentReply(report=report, session=session, usage=_usage(result, output.model), failure=failure)


def _usage(result: dict[str, Any], model: str) -> dict[str, Any]:
    """Return the model, tokens and cost. The sum of all models counts: the result's own omits calls cut by a limit."""
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


def _failure(result: dict[str, Any], output: _Output, report: str) -> PflowError | None:
    """Return the failure, if any. `subtype` alone does not tell: it is `success` after a failed login, too."""
    subtype, ended = result.get("subtype"), result.get("terminal_reason")
    limit = next((each for each in (subtype, ended) if each in _BY_LIMIT), None)
    if limit is not None:
        error = _unfinished(_words(result, output), _BY_LIMIT[limit], OVER_BUDGET, is_permanent=True)
        error.ends_run = limit in _OF_BUDGET
        return error
    if result.get("is_error") is not False or subtype != "success" or output.error or report.startswith("API Error"):
        return _error(result, output)
    if denials := result.get("permission_denials"):
        return _denied(denials)
    for reason in (result.get("stop_reason") or output.stop, ended):
        if reason in _BY_REASON:
            exit, why, hint = _BY_REASON[reason]
            said = f": {shorten(foreign_line(report))}" if report.strip() else ""
            return _unfinished(f"{why}{said}", hint or "its changes stay", exit, is_permanent=exit != TRY_AGAIN)
    return None


def _unfinished(why: str, hint: str, exit: int, **more: Any) -> PflowError:
    return PflowError(f"cannot finish 'claude': {why}", hint=hint, exit=exit, **more)


def _error(result: dict[str, Any], output: _Output) -> PflowError:
    said = _words(result, output)
    status = re.match(r"API Error:? \(?(\d{3})\b", said)
    reason = Reason(codes=[output.error])
    reason.note(result.get("api_error_status") or (status and status[1]))
    reason.words = foreign_line(reason.read(said))
    own = (kind for kind, words in _OWN_WORDS.items() if re.search(words, said, re.IGNORECASE))
    kind = next(own, "") or reason.kind()
    exit, hint = _OWN_KINDS.get(kind, (exit_of(kind), _HINTS.get(kind, "")))
    wait = None
    if until := re.search(r"\|(\d{10})$", said):  # how older versions say when a limit ends
        output.resets_at = float(until[1])
    if exit == TRY_AGAIN and output.resets_at is not None:
        wait = max(output.resets_at - time.time(), 0)
        hint = f"its limit ends at {time.strftime('%Y-%m-%d %H:%M:%S %z', time.localtime(output.resets_at))}"
    is_permanent = True if exit == BAD_DATA or kind == "filter" else None
    return _unfinished(reason.words, hint, exit, retry_after=wait, is_permanent=is_permanent)


def _denied(denials: list[dict[str, Any]]) -> PflowError:
    tool, input = str(denials[0].get("tool_name") or "a tool"), denials[0].get("tool_input") or {}
    what = next((value for value in input.values() if isinstance(value, str)), "")
    more = f", and {len(denials) - 1} more" if len(denials) > 1 else ""
    hint = f"--allowed-tools={_rule_for(tool, what)} allows it; list the others too, or tell it to work without"
    return _unfinished(f"{tool} was denied: {shorten(what)}{more}", hint, DENIED)


def _rule_for(tool: str, what: str) -> str:
    """Return the value of --allowed-tools that would allow what was denied: for a tool of files, with its path."""
    if tool in _RULES and what:
        return shlex.quote(f"{_RULES[tool]}({'/' if what.startswith('/') else './'}{what})")
    return "'Bash(…)'" if tool == "Bash" else shlex.quote(tool)


def _words(result: dict[str, Any], output: _Output) -> str:
    """Return Claude Code's own words for the failure."""
    errors = result.get("errors")
    said = "; ".join(map(str, errors)) if isinstance(errors, list) else result.get("result") or output.text
    return foreign_line(str(said or result.get("subtype") or "it failed"))


CLAUDE = Agent(
    program="claude",
    how_to_get="npm install -g @anthropic-ai/claude-code, then set ANTHROPIC_API_KEY, or claude and /login",
    secrets=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    # Attachments are off, since Claude Code would read any @FILE in a prompt, even one that it has no right to read,
    # and a prompt may come from strangers. It refuses to start with CLAUDECODE, which another Claude Code sets.
    variables={"CLAUDE_CODE_DISABLE_ATTACHMENTS": "1", "CLAUDECODE": ""},
    arguments=arguments,
    prompt=as_text,
    read=read,
)
