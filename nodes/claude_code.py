"""The claude-code node: have Claude Code work in a directory."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import BAD_CONFIG, MISSING, USAGE, PflowError
from pflow.node import Node

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import Any

    from pflow.agents.task import Task, Work


class ClaudeCode(Node):
    """Have Claude Code work in a directory, and take its report.

    It may read and change files below the directory, and what --allowed-tools names, in Claude Code's own words:
    'Bash(pytest *)' lets it run pytest, Bash any command. The list is the whole of it, so name 'Edit(./**)' too where
    it is to change files. What it asks for beyond that is denied, and the step fails (77). All of the prompt is text:
    no @FILE in it is read, and no /COMMAND is run. Settings, CLAUDE.md, hooks, plugins and MCP servers count with
    --load-settings only; where ANTHROPIC_API_KEY is set, its tools are Bash, Edit and Read without it.

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
    - Params: load_settings: bool = false  # work with the user's and the directory's settings
    - Effects: reads files, writes files, network, runs commands
    - Repeats: no

    Examples:
        pflow-claude-code 'Say in one sentence what this project is for'
        pflow-claude-code 'Write tree.txt, a haiku' --expect=tree.txt --max-budget=0.5 | pflow-get changed_files
        pflow-read-file examples/notes.txt | pflow-claude-code 'Put these into todo.md: $content' --expect=todo.md -r
    """

    version = "1.0.0"

    def cache_parts(self, reads: Mapping[str, Any]) -> dict[str, Any]:
        raise PflowError("cannot cache what an agent does: it works on files", exit=BAD_CONFIG)

    def prep(self, shared: Mapping[str, Any]) -> Task:
        from pflow.agents.task import Task

        prompt, params = shared["prompt"], self.params
        if not prompt.strip():
            raise PflowError("cannot have claude work: the prompt is empty", hint="--prompt gives one", exit=MISSING)
        for name in ("max_turns", "max_budget", "time_limit"):
            if params[name] is not None and not params[name] > 0:
                raise PflowError(f"cannot have claude work: {name} is {params[name]}", hint="give more", exit=USAGE)
        names = (
            "directory",
            "allowed_tools",
            "model",
            "max_turns",
            "max_budget",
            "time_limit",
            "expect",
            "load_settings",
        )
        return Task(prompt, **{name: params[name] for name in names})

    def exec(self, task: Task) -> Work:
        from pflow.agents.table import AGENTS
        from pflow.agents.work import work

        return work(AGENTS["claude"], task)

    def post(self, shared: MutableMapping[str, Any], task: Task, done: Work) -> None:
        shared["report"], shared["session"] = done.report, done.session
        shared["cost"], shared["usage"] = done.usage["cost"], done.usage
        shared["changed_files"] = done.changed_files
