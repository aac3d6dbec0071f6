"""The claude-code node: have Claude Code work in a directory."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import MISSING, USAGE, PflowError
from pflow.node import Node, Shared

if TYPE_CHECKING:
    from pflow.kit.agents.task import AgentResult, AgentTask


class ClaudeCode(Node):
    """Have Claude Code work in a directory, and take its report.

    It may read files below the directory, and do what --allowed-tools names in Claude Code's own words: 'Edit(./**)',
    the default, has it change files there, 'Bash(pytest *)' run pytest, and Bash any command. What it asks for beyond
    that is denied, and the step fails (77). All of the prompt is text: no @FILE in it is read, and no /COMMAND is run.
    Settings, CLAUDE.md, hooks, plugins and MCP servers count with --load-settings only; where ANTHROPIC_API_KEY is
    set, its tools are Bash, Edit and Read without it.

    --expect holds its work to a file in the directory that is new or changed, or to a command, !COMMAND, which
    /bin/sh runs there and which ends with 0. Nothing that it has done is taken back when the step fails.

    Interface:
    - Reads: shared["prompt"]: str [pipe] [own] [word]  # what to do
    - Writes: shared["report"]: str [pipe]  # what it says that it did
    - Writes: shared["cost"]: float  # its own estimate of what it cost, in dollars
    - Writes: shared["session"]: str  # its name for this session
    - Writes: shared["changed_files"]: list[path]  # below the directory; in a repository none that git ignores
    - Writes: shared["usage"]: dict{model: str, input: int, output: int, cost: float}  # what it took
    - Params: directory: path = "."  # where it works
    - Params: allowed_tools: list[str] = ["Edit(./**)"] [verbatim]  # what it may do beside reading
    - Params: model: str = null [short m]  # which model, a name or an alias of Claude Code's
    - Params: max_turns: int = null  # how many turns it may take (79)
    - Params: max_budget: float = null  # after how many dollars it stops (79); a run's --max-cost holds too
    - Params: time_limit: float = 1800  # after how many seconds it is ended (124)
    - Params: expect: list[str] = [] [verbatim]  # a file, or !COMMAND, that must hold when it is done
    - Params: load_settings: bool = false  # work with these settings, and keep the session for claude --resume
    - Effects: reads files, writes files, network, runs commands
    - Repeats: no

    Examples:
        pflow-claude-code 'Say in one sentence what this project is for'
        pflow-claude-code 'Write tree.txt, a haiku' --expect=tree.txt --max-budget=0.5 | pflow-get changed_files
        pflow-read-file examples/notes.txt | pflow-claude-code 'Put these into todo.md: $content' --expect=todo.md -r
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> AgentTask:
        from pflow.kit.agents.task import AgentTask

        prompt, params = shared["prompt"], self.params
        if not prompt.strip():
            raise PflowError("cannot have claude work: the prompt is empty", hint="--prompt gives one", exit=MISSING)
        for name in ("max_turns", "max_budget", "time_limit"):
            if params[name] is not None and not params[name] > 0:
                what = f"cannot have claude work: {name} is {params[name]}"
                raise PflowError(what, hint="it is more than 0", exit=USAGE)
        settings = {name: params[name] for name in AgentTask.__dataclass_fields__ if name in params}
        return AgentTask(**{**settings, "prompt": prompt, "directory": os.fsdecode(params["directory"])})

    def exec(self, task: AgentTask) -> AgentResult:
        from pflow.kit.agents.claude import CLAUDE
        from pflow.kit.agents.work import work

        return work(CLAUDE, task)

    def post(self, shared: Shared, task: AgentTask, done: AgentResult) -> None:
        shared["report"], shared["session"] = done.report, done.session
        shared["usage"], shared["changed_files"] = done.usage, done.changed_files
        if "cost" in done.usage:
            shared["cost"] = done.usage["cost"]
