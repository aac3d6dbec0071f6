"""What completes pflow in zsh: a table of flags for each command, and the functions that read one on TAB."""

from __future__ import annotations

import os

from pflow.help.usage import SENTENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pflow.help.usage import Argument, Flag, Usage

ENGINE = ("words", "text", "step", "stage", "flags", "values", "names", "show")
"""The functions that every table is read by; each is a file beside this one."""

_HEAD = """\
#compdef {}
# Written by `make generate`, from how the command is used.

emulate -L zsh
setopt $_comp_options

"""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def files(usages: list[Usage]) -> dict[str, str]:
    """The files by name, for these commands; with the driver among them, its commands' and the engine too."""
    programs = [usage for usage in usages if usage.name.startswith("pflow-") and _PLAIN.issuperset(usage.name)]
    texts = {f"_{usage.name}": _program(usage) for usage in programs}
    for usage in usages:
        if usage.name == "pflow":
            texts["_pflow"] = _driver(usage, usages)
            texts.update((f"_pflow_{name}", _engine(name)) for name in ENGINE)
    return texts


def _program(usage: Usage) -> str:
    """The file of a node or a tool."""
    lines = ["local -a flags arguments", *_table(usage), "_pflow_stage"]
    return _HEAD.format(usage.name) + "\n".join(lines) + "\n"


def _driver(driver: Usage, usages: list[Usage]) -> str:
    """The driver's file: what it knows by name, and the table of each command. It names no node."""
    driven = {usage.name.removeprefix("pflow "): usage for usage in usages if usage.name.count(" ") == 1}
    commands = {name: usage for name, usage in driven.items() if usage.name != SENTENCE}
    tools = {usage.name.removeprefix("pflow-"): usage for usage in usages if _is_tool(usage)}
    lines = [*_names("_pflow_commands", commands), *_names("_pflow_tools", tools), "local -a flags arguments"]
    lines += ["", "case $words[2] in"]
    for name, usage in driven.items():
        lines += [f"  {name})", *_indented(_table(usage)), "    ;;"]
    lines += ["  *)", *_indented(_table(driver)), "    ;;", "esac", "", "_pflow_words"]
    return _HEAD.format("pflow") + "\n".join(lines) + "\n"


def _is_tool(usage: Usage) -> bool:
    return usage.name.startswith("pflow-") and not usage.is_node


def _names(variable: str, usages: dict[str, Usage]) -> Iterator[str]:
    """An array of names, each followed by what it does."""
    yield f"local -a {variable}=("
    for name, usage in usages.items():
        yield f"  {_quoted(name)} {_quoted(usage.summary)}"
    yield ")"


def _table(usage: Usage) -> list[str]:
    rows = [_row(flag) for _, flags in usage.groups() for flag in flags if flag.is_typed]
    arguments = " ".join(map(_argument, usage.arguments))
    return ["flags=(", *(f"  {row}" for row in rows), ")", f"arguments=({arguments})"]


def _row(flag: Flag) -> str:
    """GROUP NAMES KIND CHOICES TEXT: what stage.zsh reads."""
    names = _quoted(" ".join(flag.names))
    return f"{flag.group} {names} {_kind(flag)} {_quoted('|'.join(flag.choices))} {_quoted(flag.text)}"


def _kind(flag: Flag) -> str:
    """The kind of its value; with a + where the flag repeats."""
    switch = "bool" if flag.is_bool else "switch"
    return (flag.values or switch) + "+" * flag.repeats


def _argument(argument: Argument) -> str:
    kind = argument.values + "+" * argument.repeats
    return _quoted(":".join([kind, "|".join(argument.choices)])) if argument.choices else kind


def _quoted(text: str) -> str:
    """A text as one word of zsh, without what would move a terminal's cursor."""
    shown = "".join(each if each.isprintable() else " " for each in text)
    return "'" + shown.replace("'", "'\\''") + "'"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def _engine(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), f"{name}.zsh"), encoding="utf-8") as file:
        return file.read()
