"""How a node is used: from its interface and the table of common flags."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.common import COMMON as COMMON_FLAGS
from pflow.help import usage as kinds
from pflow.help.usage import Flag, Usage
from pflow.jsontext import encode

if TYPE_CHECKING:
    from pflow.interface import Interface, Item
    from pflow.types import Type

_METAVARS = {"bool": "", "path": "PATH", "int": "N", "float": "X", "dict": "JSON", "list": "ITEM"}

_OPEN = "It declares no interface: any other flag is data and param at once, and it may read and write any key."


def usage_of_node(name: str, interface: Interface) -> Usage:
    usage = Usage(f"pflow-{name}", interface.summary)
    usage.is_node = True
    usage.description = interface.description
    usage.flags = [flag_of(item, kinds.DATA) for item in interface.reads.values()]
    usage.flags += [flag_of(item, kinds.PARAMS) for item in interface.params.values()]
    usage.flags += [common_flag(each) for each in COMMON_FLAGS]
    usage.writes = [(item.name, _text(item.doc, _notes(item))) for item in interface.writes.values()]
    if not interface.open:
        usage.actions = ", ".join(interface.actions) + (f" ({interface.actions_doc})" if interface.actions_doc else "")
    usage.effects = None if interface.open else interface.effects
    usage.notes = (_OPEN,) * interface.open
    usage.examples = interface.examples
    return usage


def common_flag(name: str) -> Flag:
    """A flag that every stage has."""
    flag = COMMON_FLAGS[name]
    names = (f"-{flag.letter}",) * bool(flag.letter) + (f"--{name.replace('_', '-')}",)
    return Flag(
        names,
        flag.doc,
        group=kinds.COMMON,
        metavar=flag.metavar,
        choices=flag.type.choices if flag.type else (),
        repeats=flag.repeats,
        notes=(f"default {flag.default:g}",) if isinstance(flag.default, float) and flag.default else (),
    )


def flag_of(item: Item, group: str) -> Flag:
    """A read or a param as a flag."""
    names = tuple(f"--{each.replace('_', '-')}" for each in [item.name, *item.flags])
    return Flag(
        names,
        item.doc,
        group=group,
        metavar=metavar(item.type),
        values=kinds.SWITCH if item.type.name == "bool" else _values(item),
        choices=item.type.choices,
        repeats=item.type.name == "list",
        notes=_notes(item),
        env=item.env,
        is_typed="secret" not in item.marks,
    )


def metavar(type: Type) -> str:
    """The name of the value of a flag of this type; empty for a switch."""
    return "|".join(type.choices) or _METAVARS.get(type.name, "TEXT")


def _values(item: Item) -> str:
    """What its value may be: the type says it, and for a directory or a model its name."""
    type = item.type.items or item.type
    if type.name == "path":
        return kinds.DIRECTORY if item.name in ("directory", "dir", "folder") else kinds.FILE
    if item.kind == "param" and item.name == "model" and type.name == "str":
        return kinds.MODEL
    return kinds.CHOICE if item.type.choices else kinds.TEXT


def _notes(item: Item) -> tuple[str, ...]:
    """What its declaration says of an item, beside what it is."""
    notes = []
    if item.kind == "read" and item.required:
        notes.append("required")
    if not item.required and item.default not in (None, [], {}, ""):
        notes.append(f"default {str(encode(item.default), 'utf-8')}")
    if "pipe" in item.marks:
        notes.append("what the pipe carries on" if item.kind == "write" else "from the pipe")
    if item.env:
        notes.append(f"or {item.env}")
    if item.type.name == "list" and item.kind != "write":
        notes.append("may be repeated, or a JSON list")
    return tuple(notes)


def _text(doc: str, notes: tuple[str, ...]) -> str:
    return f"{doc} [{'; '.join(notes)}]" if notes else doc
