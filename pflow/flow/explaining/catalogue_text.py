"""The nodes there are as text for a terminal: a line a node, or all that one node declares."""

from __future__ import annotations

from pflow.flow.explaining.catalogue import is_known
from pflow.flow.explaining.columns import clean, table, wrap
from pflow.flow.explaining.sayings import value_text
from pflow.flow.kinds import BUNDLED, FLOW, PROGRAM, PYTHON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Entry = dict[str, Any]

_GROUPS = {
    BUNDLED: "Nodes that come with pflow",
    PYTHON: "Your own nodes in Python",
    PROGRAM: "Programs",
    FLOW: "Saved flows",
}


def list_text(entries: list[Entry], width: int) -> str:
    """A line for each node, in a group for each origin: its name, version, what it is, what it touches."""
    parts = []
    for origin, title in _GROUPS.items():
        rows = [_row(entry) for entry in entries if entry["origin"] == origin]
        if rows:
            parts.append("\n".join([title, *table(rows, width)]) + "\n")
    return "\n".join(parts)


def _row(entry: Entry) -> tuple[str, str, str, str]:
    name = clean(entry["name"])
    if not is_known(entry):
        return name, "?", clean(entry["fault"]), ""
    version = "" if entry["origin"] == FLOW else clean(entry["version"])
    return name, version, clean(entry["summary"]), _touched(entry)


def _touched(entry: Entry) -> str:
    return "open" if entry["open"] else ", ".join(entry["effects"])


def detail_text(entry: Entry, description: str, examples: tuple[str, ...], width: int) -> str:
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
        parts.append([title.title(), *table(rows, width)] if rows else [])
    parts.append(["Examples", *(f"  {clean(line)}" for line in examples)] if examples else [])
    return "\n".join("\n".join(lines) + "\n" for lines in parts if lines)


def _facts(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry["open"]:
        why = f": {clean(entry['fault'])}" if "fault" in entry else ""
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
