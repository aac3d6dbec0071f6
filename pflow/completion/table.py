"""The table of what the driver, its commands and the tools take, so that TAB imports none of them."""

from __future__ import annotations

import os

from pflow.help.usage import Argument, Flag, Usage
from pflow.jsontext import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

FILE = "commands.json"
"""Lies beside this module; `make generate` writes it."""


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
    with open(os.path.join(os.path.dirname(__file__), FILE), "rb") as file:
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
