"""What there is to complete: commands, nodes, saved flows, runs, models, files. None of it is run."""

from __future__ import annotations

import os

from pflow.catalog.registry import saved_flow, saved_flows
from pflow.help.usage import SENTENCE, Flag, Usage
from pflow.values.jsontext import decode

COMMANDS, NODES, TOOLS, FLOWS = "commands", "nodes", "tools", "flows"
VALUES, FILES, RUNS, MODELS, STEPS = "values", "files", "runs", "models", "steps"
"""The groups of candidates that are not flags."""

TABLE = "commands.json"
"""The file beside this module that `make generate` writes: what the driver, its commands and the tools take, so that
TAB imports none of them. By name, a list: the summary, the flags, the other words, each as `Flag` takes them."""

# bash-completion looks for completions by the name of a command, so each has a file.
LOADER = '. "${{BASH_SOURCE[0]%/*}}/pflow" && complete -F _pflow {name}\n'

_MOST_RUNS = 99
"""As many as readline lists without a question."""


class Candidate:
    """One thing that may stand at the cursor: the group in which it is shown, its value, what is said of it."""

    __slots__ = ("about", "group", "value")

    def __init__(self, group: str, value: str, about: str = "") -> None:
        self.group = group
        self.value = value
        self.about = about

    @property
    def is_open(self) -> bool:
        """Whether more is to be typed after it without a blank."""
        return self.value.endswith(("=", "/"))


def read_table() -> dict[str, Usage]:
    """The usage of each by what is typed: `pflow`, `pflow runs`, `pflow-get`."""
    with open(os.path.join(os.path.dirname(__file__), TABLE), "rb") as file:
        rows = decode(file.read())
    table = {name: Usage(name, summary) for name, (summary, _, _) in rows.items()}
    for name, (_, flags, arguments) in rows.items():
        table[name].flags = [Flag(*row) for row in flags]
        table[name].arguments = [Flag(*row) for row in arguments]
    return table


def commands() -> list[Candidate]:
    table = read_table().items()
    return [
        Candidate(COMMANDS, name[6:], each.summary) for name, each in table if name[:6] == "pflow " and name != SENTENCE
    ]


def tools() -> list[Candidate]:
    return [Candidate(TOOLS, name[6:], each.summary) for name, each in read_table().items() if name[:6] == "pflow-"]


def nodes() -> list[Candidate]:
    from pflow.catalog.lines import node_lines

    return [Candidate(NODES, line.name, line.summary) for line in node_lines() if line.is_there]


def flows(prefix: str = "") -> list[Candidate]:
    """The saved flows; steps name them with the prefix `flow:`."""
    return [Candidate(FLOWS, prefix + name, _description(saved_flow(name) or "")) for name in saved_flows()]


def _description(file: str) -> str:
    try:
        with open(file, "rb") as source:
            return str(decode(source.read()).get("description") or "")
    except (OSError, ValueError, AttributeError):
        return ""


def runs() -> list[Candidate]:
    """The newest runs, the newest first, which is `last` too."""
    import time

    from pflow.record.runs import list_runs

    listed = [(run, time.strftime("%Y-%m-%d %H:%M", time.localtime(run.begun))) for run in list_runs(_MOST_RUNS - 1)]
    found = [Candidate(RUNS, run.id, f"{when}  {run.status}  {run.name}".rstrip()) for run, when in listed]
    return [*(Candidate(RUNS, "last", newest.about) for newest in found[:1]), *found]


def steps_of(run: str) -> list[Candidate]:
    """The steps of a run's flow, each with its type."""
    from pflow.errors import PflowError
    from pflow.record.log import FLOW
    from pflow.record.runs import find_run

    try:
        with open(os.path.join(find_run(run).directory, FLOW), "rb") as file:
            return [Candidate(STEPS, step["id"], step["type"]) for step in decode(file.read())["nodes"]]
    except (OSError, ValueError, KeyError, TypeError, PflowError):
        return []


def models() -> list[Candidate]:
    """The models of the list that runs of the `llm` library keep."""
    from pflow.models.list import read_models

    return [Candidate(MODELS, model, about) for model, about in read_models()]


def files(typed: str, wanted: str) -> list[Candidate]:
    """The names of the files in the directory that is typed, those of directories with a / at the end.

    `wanted` is how the names of files end, or `/` for directories alone.
    """
    folder, _, begun = typed.rpartition("/")
    folder = os.path.expanduser(folder) or ("/" if typed.startswith("/") else ".")
    try:
        with os.scandir(folder) as entries:
            found = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
    except OSError:
        return []
    shown = [name for name in found if name.startswith(begun or ".") == bool(begun)]
    return [Candidate(FILES, name) for name in shown if name.isprintable() and name.endswith((wanted, "/"))]
