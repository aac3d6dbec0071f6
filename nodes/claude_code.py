"""The claude-code node: have Claude Code work in a directory."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import check_positive, nonblank
from pflow.interface.interface import spell_flag
from pflow.node import Node, Shared

if TYPE_CHECKING:
    from pflow.kit.agents.work import AgentReply, AgentTask


class ClaudeCode(Node):
    """Have Claude Code work in a directory and report.

    It may read files below the directory, and do whatever --allowed-tools names in Claude Code's own words:
    'Edit(./**)', the default, lets it write files there; 'Bash(pytest *)' lets it run pytest, and Bash any command.
    Anything else is denied, and the step fails (77). It also fails if the report is cut (65) or missing, or if Claude
    Code ends before its tool ran (75). The prompt is plain text: an @FILE in it is not read, a /COMMAND not run.
    Settings, CLAUDE.md, hooks, plugins and MCP servers only count with --load-settings; without it, if
    ANTHROPIC_API_KEY is set, its tools are Bash, Edit and Read, unless --allowed-tools names another.

    --expect=FILE fails unless that file in the directory is new or changed; --expect=!COMMAND fails unless /bin/sh runs
    that command there with exit code 0. When the step fails, its changes stay.

    Interface:
    - Reads: shared["prompt"]: str [pipe] [own] [word]  # the task
    - Writes: shared["report"]: str [pipe]  # its report on the work
    - Writes: shared["cost"]: float  # its own estimate of the cost, in dollars
    - Writes: shared["session"]: str  # its name for this session
    - Writes: shared["changed_files"]: list[path]  # changed files below the directory, without those that git ignores
    - Writes: shared["usage"]: dict{model: str, input: int, output: int, cost: float}  # the tokens and their cost
    - Params: directory: path = "."  # the directory to work in
    - Params: allowed_tools: list[str] = ["Edit(./**)"] [verbatim]  # a tool to allow besides reading
    - Params: model: str = null [short m]  # a model's name or alias in Claude Code
    - Params: max_turns: int = null [positive]  # the maximum number of turns (79)
    - Params: max_budget: float = null [positive]  # the maximum cost in dollars (79); a run's --max-cost holds too
    - Params: time_limit: float = 1800 [positive]  # the maximum time in seconds (124)
    - Params: expect: list[str] = [] [verbatim]  # a file that must change, or !COMMAND that must succeed
    - Params: load_settings: bool = false  # load the user's settings, and keep the session for claude --resume
    - Params: allow_empty: bool = false  # work even if all that a template takes is empty
    - Params: allow_no_answer: bool = false  # take work without a report as done
    - Effects: reads files, writes files, network, runs commands
    - Repeats: no

    Examples:
        pflow-claude-code 'Say in one sentence what this project is for'
        pflow-claude-code 'Write tree.txt, a haiku' --expect=tree.txt --max-budget=0.5 | pflow-get changed_files
        pflow-read-file examples/notes.txt | pflow-claude-code 'Put these into todo.md: $content' --expect=todo.md -r
    """

    tells_budget = True

    def prep(self, shared: Shared) -> AgentTask:
        from pflow.kit.agents.work import AgentTask

        params = self.params
        prompt = nonblank(shared["prompt"], "cannot have claude work", "prompt", "--prompt gives one")
        for name in ("max_turns", "max_budget", "time_limit"):
            check_positive(spell_flag(name), params[name])
        settings = {name: params[name] for name in AgentTask.__dataclass_fields__ if name in params}
        return AgentTask(**{**settings, "prompt": prompt, "directory": os.fsdecode(params["directory"])})

    def exec(self, task: AgentTask) -> AgentReply:
        from pflow.kit.agents.claude import CLAUDE
        from pflow.kit.agents.work import run_agent

        return run_agent(CLAUDE, task, self.calls)

    def post(self, shared: Shared, task: AgentTask, done: AgentReply) -> None:
        shared["report"], shared["session"] = done.report, done.session
        shared["usage"], shared["changed_files"] = done.usage, done.changed_files
        if "cost" in done.usage:
            shared["cost"] = done.usage["cost"]
