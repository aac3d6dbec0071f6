"""What there is to complete: commands, nodes, saved flows, runs, models, files. None of it is run."""

from __future__ import annotations

import os

from pflow.catalog.flows import saved_flow, saved_flows
from pflow.help.usage import Argument, Flag, Usage
from pflow.jsontext import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

TABLE = "commands.json"
"""The file beside this module that `make generate` writes: what the driver, its commands and the tools take, so that
TAB imports none of them."""

# bash-completion looks for completions by the name of a command, so each has a file.
LOADER = '. "${{BASH_SOURCE[0]%/*}}/pflow" && complete -F _pflow {name}\n'

_MOST_RUNS = 99
"""As many as readline lists without a question."""


def nodes() -> Iterator[tuple[str, str]]:
    from pflow.catalog.lines import node_lines

    for line in node_lines():
        if line.is_there:
            yield line.name, line.summary


def flows() -> Iterator[tuple[str, str]]:
    """The saved flows, by the names of their files."""
    for name in saved_flows():
        yield name, str(read_flow(saved_flow(name) or "").get("description") or "")


def read_flow(file: str) -> dict[str, Any]:
    """The document in a flow's file; an empty one where it cannot be read."""
    try:
        with open(file, "rb") as source:
            document = decode(source.read())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def runs() -> Iterator[tuple[str, str]]:
    """The newest runs, the newest first."""
    import time

    from pflow.run.runs import list_runs

    for run in list_runs(_MOST_RUNS):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.begun))
        yield run.id, f"{when}  {run.status}  {run.name}".rstrip()


def models() -> Iterator[tuple[str, str]]:
    """The models of the list that runs of the `llm` library keep."""
    from pflow.models.list import read_models

    return read_models()


def files(typed: str, wanted: str) -> list[str]:
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
    shown = [name for name in found if name.startswith(begun) and (begun or not name.startswith("."))]
    return [name for name in shown if name.isprintable() and name.endswith((wanted, "/"))]


def table_text(usages: Iterable[Usage]) -> str:
    """The table as JSON, a line for each flag and each argument."""
    commands = [f"{_text(usage.name)}:[{_text(usage.summary)}{''.join(map(_line, _rows(usage)))}]" for usage in usages]
    return "{" + ",\n".join(commands) + "}\n"


def _line(row: list[Any]) -> str:
    return f",\n {_text(row)}"


def _rows(usage: Usage) -> list[list[Any]]:
    flags: list[list[Any]] = [
        [flag.group, list(flag.names), flag.values, list(flag.choices), flag.repeats, flag.text]
        for _, flags in usage.groups()
        for flag in flags
    ]
    return flags + [["argument", each.values, list(each.choices), each.repeats] for each in usage.arguments]


def _text(value: Any) -> str:
    return str(encode(value, escape=False), "utf-8")


def read_table() -> dict[str, Usage]:
    """The usage of each by what is typed: `pflow`, `pflow runs`, `pflow-get`."""
    with open(os.path.join(os.path.dirname(__file__), TABLE), "rb") as file:
        commands = decode(file.read())
    return {name: _usage(name, *rows) for name, rows in commands.items()}


def _usage(name: str, summary: str, *rows: list[Any]) -> Usage:
    usage = Usage(name, summary)
    for kind, *fields in rows:
        if kind == "argument":
            values, choices, repeats = fields
            usage.arguments.append(Argument("", values, repeats=repeats, choices=tuple(choices)))
        else:
            names, values, choices, repeats, text = fields
            flag = Flag(tuple(names), text, group=kind, values=values, choices=tuple(choices), repeats=repeats)
            usage.flags.append(flag)
    return usage
