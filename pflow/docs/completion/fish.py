"""What completes pflow in fish: one file a command, of tables that the engine in the driver's file reads."""

from __future__ import annotations

import os

from pflow.help import usage as kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pflow.help.usage import Flag, Usage

_ENGINE = os.path.join(os.path.dirname(__file__), "engine.fish")

_DRIVER = """\
# What completes pflow in fish 3.5 and newer.
builtin -q path; or return

set -q __pflow_files; or complete -c pflow -f -k -a '(__pflow_complete pflow)'
set -g __pflow_files (status dirname)

{engine}
{tables}"""

_FILE = """\
# What completes {title} in fish; pflow.fish has the engine.
functions -q __pflow_complete; or source (status dirname)/pflow.fish
functions -q __pflow_complete; or return
functions -q {function}; or complete -c {name} -f -k -a {offer}

{table}"""


def files(usages: list[Usage]) -> dict[str, str]:
    """The files by name, for these commands: the driver's own with its commands in it, and one for each program."""
    made = {f"{each.name}.fish": _file(each) for each in usages if each.name.startswith("pflow-")}
    if any(each.name == "pflow" for each in usages):
        made["pflow.fish"] = _driver(usages)
    return made


def _driver(usages: list[Usage]) -> str:
    with open(_ENGINE, encoding="utf-8") as file:
        engine = file.read()
    own = [each for each in usages if not each.name.startswith("pflow-")]
    commands = [each for each in own if " " in each.name and each.name != kinds.SENTENCE]
    tools = [each for each in usages if each.name.startswith("pflow-") and not each.is_node]
    names = [
        _list("__pflow_commands", [_line(each.name.split()[1], f"[command] {each.summary}") for each in commands]),
        _list("__pflow_tool_names", [quote(each.name[len("pflow-") :]) for each in tools]),
        _list("__pflow_tools", [_line(each.name[len("pflow-") :], f"[tool] {each.summary}") for each in tools]),
    ]
    return _DRIVER.format(engine=engine, tables="\n".join([*map(_table, [*own, _any_stage()]), *names]))


def _any_stage() -> Usage:
    """What a node takes of which no more is known."""
    from pflow.common import COMMON
    from pflow.help.node import common_flag
    from pflow.help.usage import Usage

    usage = Usage("any stage", "")
    usage.flags = [common_flag(name) for name in COMMON]
    return usage


def _file(usage: Usage) -> str:
    name = quote(usage.name)
    offer = quote(f"(__pflow_complete {name})")
    return _FILE.format(
        title=_shown(usage.name), name=name, function=_function(usage), offer=offer, table=_table(usage)
    )


def _table(usage: Usage) -> str:
    """A function that sets what a command takes."""
    words = [_line(each.values + "…" * each.repeats, *each.choices) for each in usage.arguments]
    lists = [
        _list("__pflow_flags", _flag_lines(usage)),
        _list("__pflow_values", list(_value_lines(usage))),
        _list("__pflow_words", words),
    ]
    body = "".join(lists).replace("\n", "\n    ").rstrip()
    return f"function {_function(usage)}\n    {body}\nend\n"


def _function(usage: Usage) -> str:
    return quote(f"__pflow_table_{usage.name}")


def _list(name: str, items: Iterable[str]) -> str:
    return " \\\n    ".join([f"set -g {name}", *items]) + "\n"


def _flag_lines(usage: Usage) -> list[str]:
    """What is offered for a command's flags, group by group; the names of one letter at the end."""
    typed = [flag for _, flags in usage.groups() for flag in flags if flag.is_typed]
    shown = [(word, f"[{flag.group}] {text}") for flag in typed for word, text in _words(flag)]
    return [_line(*pair) for pair in sorted(shown, key=lambda pair: not pair[0].startswith("--"))]


def _words(flag: Flag) -> Iterator[tuple[str, str]]:
    """What may be typed for a flag, each with what it does."""
    for name in flag.names:
        yield f"{name}=" if flag.values != kinds.SWITCH and name.startswith("--") else name, flag.text
        if flag.is_bool:
            yield f"--no-{name.removeprefix('--')}", f"not: {flag.text}"


def _value_lines(usage: Usage) -> Iterator[str]:
    """What the values of a command's flags may be; a bool's stand only after its =."""
    for flag in usage.flags:
        for name in flag.names if flag.is_typed else ():
            if flag.is_bool:
                yield _line(f"{name}=", kinds.CHOICE, "true", "false")
            elif flag.values != kinds.SWITCH:
                yield _line(name, flag.values, *flag.choices)


def _line(*fields: str) -> str:
    """Fields with tabs between them, as one word of fish's, on one line."""
    return r"\t".join(quote(_shown(field)) for field in fields)


def quote(text: str) -> str:
    """A text as fish reads it back."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _shown(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)
