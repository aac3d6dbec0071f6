"""What completes pflow in bash: one file a command, a table each; the driver's also has the engine that reads them."""

from __future__ import annotations

import os

from pflow.help import usage as kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.help.usage import Argument, Flag, Usage

ENGINE = ("engine.bash", "line.bash", "values.bash", "answer.bash")
"""The engine, in parts: one file would be long."""

LOAD = """\
# Completes {name} in bash; generated, as its help is.
# shellcheck shell=bash
# SC1090, SC1091: the driver's file, beside this one. SC2016: a description's $ is its own.
# shellcheck disable=SC1090,SC1091,SC2016
declare -F _pflow >/dev/null || case ${{BASH_SOURCE[0]}} in
    */*) [[ ! -f ${{BASH_SOURCE[0]%/*}}/pflow ]] || . "${{BASH_SOURCE[0]%/*}}/pflow" ;;
    *) [[ ! -f ./pflow ]] || . ./pflow ;;
esac
declare -F _pflow >/dev/null || return 0

"""


def files(usages: list[Usage]) -> dict[str, str]:
    """The files by name, for these commands. A node's depends on nothing but its usage."""
    texts = {usage.name: _node(usage) for usage in usages if usage.is_node}
    texts.update({usage.name: _tool(usage) for usage in usages if _is_tool(usage)})
    drivers = [usage for usage in usages if not usage.is_node]
    if any(usage.name == "pflow" for usage in drivers):
        texts["pflow"] = _driver(drivers)
    return texts


def _is_tool(usage: Usage) -> bool:
    return usage.name.startswith("pflow-") and not usage.is_node


def _node(usage: Usage) -> str:
    return f"{LOAD.format(name=usage.name)}{_table(usage)}complete -F _pflow {quote(usage.name)}\n"


def _tool(usage: Usage) -> str:
    return f"{LOAD.format(name=usage.name)}complete -F _pflow {quote(usage.name)}\n"


def _driver(usages: list[Usage]) -> str:
    """The engine, then what the driver, its commands and the tools take."""
    commands = [usage.name[6:] for usage in usages if usage.name.startswith("pflow ") and usage.name != kinds.SENTENCE]
    tools = [usage.name.removeprefix("pflow-") for usage in usages if _is_tool(usage)]
    names = [f"_pflow_commands=({' '.join(map(quote, commands))})\n", f"_pflow_tools=({' '.join(map(quote, tools))})\n"]
    return "".join([*map(_resource, ENGINE), "\n", *names, *map(_table, usages), "complete -F _pflow pflow\n"])


def _resource(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


def _table(usage: Usage) -> str:
    """A call of the engine's _pflow_command: a line for each flag and argument."""
    flags = [flag for _, group in usage.groups() for flag in group if flag.is_typed]
    rows = [*map(_flag_row, flags), *map(_argument_row, usage.arguments)]
    head = f"_pflow_command {quote(usage.name)} {quote(usage.summary)}"
    return " \\\n    ".join([head, *(" ".join(map(quote, row)) for row in rows)]) + "\n"


def _flag_row(flag: Flag) -> tuple[str, str, str, str, str]:
    """Group, names, what its value may be, `+` where it repeats and `no` where --no-x undoes it, what it does."""
    repeats = "+" if flag.repeats else "no" if flag.is_bool else ""
    return flag.group, " ".join(flag.names), _values(flag), repeats, flag.text


def _argument_row(argument: Argument) -> tuple[str, str, str, str, str]:
    return "argument", argument.metavar, _values(argument), "+" if argument.repeats else "", ""


def _values(taker: Flag | Argument) -> str:
    """The kind of a value, and the choices that there are."""
    return " ".join([taker.values, *taker.choices])


def quote(text: str) -> str:
    """A text as one word of bash, on one line: nothing in it means anything."""
    return "'" + " ".join(text.split("\n")).replace("'", "'\\''") + "'"
