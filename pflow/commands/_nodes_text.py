"""The nodes there are as text for a terminal: a line a node, or all that one node declares."""

from __future__ import annotations

import os

from pflow.catalog.discovery import own_places
from pflow.catalog.entries import is_known
from pflow.catalog.kinds import BUNDLED, FLOW, PROGRAM
from pflow.terminal.colour import PLAIN, Colour
from pflow.terminal.columns import cells, clean, pad, table, value_text, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pflow.catalog.lines import Line

    Entry = dict[str, Any]
    Row = tuple[str, ...]

_TITLES = {BUNDLED: "Nodes that come with pflow", FLOW: "Saved flows"}
_FOUND = "Found, best first"


def list_text(listed: list[Line], width: int, colour: Colour = PLAIN, *, is_ranked: bool = False) -> str:
    """A line for each node: its name, version, what it touches, what it is; ranked ones in their order, else by place.

    Then what is a node only by its look, and why: another has its name, or it has a fault.
    """
    own = set(own_places())
    groups: dict[str, list[Row]] = {}
    for line in listed:
        if line.is_there:
            title = _FOUND if is_ranked else _title(line, own)
            groups.setdefault(title, []).append((line.name, line.version, line.touched, line.summary))
    parts = [_group(title, rows, width, colour) for title, rows in groups.items()]
    hidden = [(line, f"{line.file} is behind {line.behind}") for line in listed if line.behind]
    faulty = [(line, _fault(line)) for line in listed if line.fault]
    parts += [_reasons("Shadowed", hidden, colour.warning, colour)] if hidden else []
    parts += [_reasons("Broken", faulty, colour.fault, colour)] if faulty else []
    return "\n".join(parts)


def _fault(line: Line) -> str:
    return line.fault if line.file in line.fault else f"{line.file}: {line.fault}"


def _title(line: Line, own: set[str]) -> str:
    if line.origin in _TITLES:
        return _TITLES[line.origin]
    folder = os.path.dirname(line.file)
    return f"Your own, in {folder}" if folder in own else f"Programs on PATH, in {folder}"


def _group(title: str, rows: list[Row], width: int, colour: Colour) -> str:
    shown = [tuple(map(clean, row)) for row in rows]
    lines = _even(shown, width, colour) or table(shown, width, first=colour.name)
    return "\n".join([colour.heading(clean(title)), *lines]) + "\n"


def _even(rows: list[Row], width: int, colour: Colour) -> list[str]:
    """What `table` makes of rows that all fit, in a third of its time; nothing where some do not."""
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    sizes = [max(map(cells, column)) for column in columns]
    if sum(sizes) + 2 * len(sizes) > width:
        return []
    padded = [[pad(cell, size) for cell in column] for column, size in zip(columns, sizes, strict=True)]
    padded[0] = [colour.name(name) + cell[len(name) :] for name, cell in zip(columns[0], padded[0], strict=True)]
    return [("  " + "  ".join(row)).rstrip() for row in zip(*padded, strict=True)]


def _reasons(title: str, rows: list[tuple[Line, str]], paint: Callable[[str], str], colour: Colour) -> str:
    """Why some are no nodes: whole lines, so that a path in them can be copied."""
    lines = [f"  {paint(clean(line.name))}  {clean(why)}" for line, why in rows]
    return "\n".join([colour.heading(title), *lines]) + "\n"


def detail_text(entry: Entry, description: str, examples: tuple[str, ...], width: int, colour: Colour = PLAIN) -> str:
    """What one node declares: its reads, writes and params, its actions and effects, where it comes from."""
    if not is_known(entry):
        return "\n".join(wrap(f"{clean(entry['name'])}: {clean(entry['fault'])}", width)) + "\n"
    summary = f": {clean(entry['summary'])}" if entry["summary"] else ""
    parts = [wrap(f"{clean(entry['name'])} {clean(entry['version'])}{summary}", width)]
    parts += [wrap(clean(paragraph), width) for paragraph in description.split("\n\n") if paragraph]
    where = f"From     {clean(entry['file'])} ({entry['origin']})"
    parts.append([where, *table(list(_facts(entry)), width, indent=0)])
    for title in ("reads", "writes", "params"):
        rows = [_item(name, item) for name, item in entry[title].items()]
        parts.append([colour.heading(title.title()), *table(rows, width, first=colour.name)] if rows else [])
    parts.append([colour.heading("Examples"), *(f"  {clean(line)}" for line in examples)] if examples else [])
    return "\n".join("\n".join(lines) + "\n" for lines in parts if lines)


def _facts(entry: Entry) -> Iterator[tuple[str, str]]:
    is_broken = "fault" in entry and entry["origin"] == PROGRAM
    if is_broken:
        yield "Broken", clean(entry["fault"])
    if entry["open"]:
        why = f": {clean(entry['fault'])}" if "fault" in entry and not is_broken else ""
        yield "Open", f"its interface says nothing, so that any key and any param may pass{why}"
    else:
        yield "Effects", ", ".join(entry["effects"]) or "none"
    yield "Actions", ", ".join(map(clean, entry["actions"]))
    if entry["flow_safe"]:
        yield "Pure", "same inputs and params, same outputs"


def _item(name: str, item: dict[str, Any]) -> tuple[str, str, str, str]:
    notes = ["required"] if item.get("required") else []
    if item.get("default") is not None:
        notes.append(f"default {value_text(item['default'])}")
    notes += item.get("marks", [])
    notes += [f"--{flag.replace('_', '-')}" for flag in item.get("flags", [])]
    notes += [item["env"]] if "env" in item else []
    return clean(name), item["type"], ", ".join(notes), clean(item["doc"])
