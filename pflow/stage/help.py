"""What a stage tells of itself: --help and --describe, from the interface and the table of common flags."""

from __future__ import annotations

from pflow.common import COMMON
from pflow.errors import EXIT_CODES
from pflow.jsontext import encode
from pflow.node import version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Interface, Item

_COLUMN = 28


def help_text(name: str, interface: Interface) -> str:
    """The help of a node: three groups of flags, what it writes, its actions, effects and exit codes."""
    parts = [f"Usage: pflow-{name} [FLAG]…\n\n{interface.summary}\n"]
    if interface.description:
        parts.append(f"{interface.description}\n")
    parts.append(group("Data (into the store)", [_item_row(item) for item in interface.reads.values()]))
    parts.append(group("Params (how it works)", [_item_row(item) for item in interface.params.values()]))
    parts.append(group("Common", [common_row(flag) for flag in COMMON]))
    parts.append(group("Writes", [(item.name, _doc(item)) for item in interface.writes.values()]))
    if interface.actions != ("default",):
        parts.append(f"Actions: {', '.join(interface.actions)}{_aside(interface.actions_doc)}\n")
    parts.append(f"Effects: {', '.join(interface.effects) or 'none'}\n")
    if interface.examples:
        parts.append("Examples:\n" + "\n".join([f"  {line}" for line in interface.examples]) + "\n")
    codes = [f"{code} {words}" for code, words in EXIT_CODES.items()]
    parts.append("Exit codes: " + wrap([*codes, "128+n ended by signal n"]) + "\n")
    return "\n".join(part for part in parts if part)


def _aside(doc: str) -> str:
    return f" ({doc})" if doc else ""


def group(title: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    lines = [title + ":"]
    for left, right in rows:
        if len(left) > _COLUMN - 3:
            lines += [f"  {left}", f"  {'':{_COLUMN}}{right}"]
        else:
            lines.append(f"  {left:{_COLUMN}}{right}")
    return "\n".join(lines) + "\n"


def _item_row(item: Item) -> tuple[str, str]:
    names = ", ".join("--" + name.replace("_", "-") for name in [item.name, *item.flags])
    if "secret" in item.marks:
        names = item.name
    metavar = "" if item.type.name == "bool" else f" {_metavar(item)}"
    return names + metavar, _doc(item)


def _metavar(item: Item) -> str:
    if item.type.choices:
        return "|".join(item.type.choices)
    words = {"path": "PATH", "int": "N", "float": "X", "dict": "JSON", "list": "ITEM"}
    return words.get(item.type.name, "TEXT")


def _doc(item: Item) -> str:
    """What an item is, then what its declaration says of it."""
    notes = []
    if item.kind == "read" and item.required:
        notes.append("required")
    if not item.required and item.default not in (None, [], {}, ""):
        notes.append(f"default {str(encode(item.default), 'utf-8')}")
    if "pipe" in item.marks:
        notes.append("what the pipe carries on" if item.kind == "write" else "from the pipe")
    if item.env:
        notes.append(f"or {item.env}")
    if item.type.name == "list":
        notes.append("may be repeated, or a JSON list")
    return f"{item.doc} [{'; '.join(notes)}]" if notes else item.doc


def common_row(name: str) -> tuple[str, str]:
    flag = COMMON[name]
    letter = f"-{flag.letter}, " if flag.letter else ""
    metavar = f" {flag.metavar}" if flag.metavar else ""
    note = f" [default {flag.default:g}]" if isinstance(flag.default, float) and flag.default else ""
    return f"{letter}--{name.replace('_', '-')}{metavar}", flag.doc + note


def wrap(words: list[str]) -> str:
    import textwrap

    return textwrap.fill(" · ".join(words), 96, initial_indent="", subsequent_indent="  ")


def describe(name: str, node_class: Any, interface: Interface) -> str:
    """The interface as one line of JSON, for other programs."""
    about = {
        "name": name,
        "version": version_of(node_class),
        "summary": interface.summary,
        "reads": {key: _described(item) for key, item in interface.reads.items()},
        "writes": {key: _described(item) for key, item in interface.writes.items()},
        "params": {key: _described(item) for key, item in interface.params.items()},
        "actions": interface.actions,
        "effects": interface.effects,
        "flow_safe": bool(getattr(node_class, "flow_safe", False)),
        "open": interface.open,
    }
    return str(encode(about), "utf-8") + "\n"


def _described(item: Item) -> dict[str, Any]:
    about: dict[str, Any] = {"type": str(item.type), "doc": item.doc}
    if item.kind == "read":
        about["required"] = item.required
    if not item.required:
        about["default"] = item.default
    if item.marks:
        about["marks"] = sorted(item.marks)
    if item.flags:
        about["flags"] = item.flags
    if item.env:
        about["env"] = item.env
    return about
