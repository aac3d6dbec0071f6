"""The account of a flow as text for a terminal."""

from __future__ import annotations

from pflow.explain.pipe_lines import pipe_lines
from pflow.explain.sayings import said, say, value_text
from pflow.explain.step_text import step_lines
from pflow.terminal.colour import PLAIN
from pflow.terminal.columns import clean, table, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.terminal.colour import Colour

    Account = dict[str, Any]


def account_text(account: Account, width: int, colour: Colour = PLAIN) -> str:
    """All of it: the pipe, the steps, what it touches, needs and gives, the store."""

    title, pipe, *effects = _from_outside(account, width, colour)
    steps = [step_lines(step, width, colour) for step in account["steps"]]
    store = _section("The store at the end", _store(account), "nothing", colour.name, (width, colour))
    return _joined([title, pipe, *steps, *effects, store, _mind(account, width, colour)])


def brief_text(account: Account, about: list[str], width: int, colour: Colour = PLAIN) -> str:
    """What it is from outside: the pipe, what it touches, needs and gives. `about` are lines below its title."""
    title, *parts = _from_outside(account, width, colour)
    return _joined([[*title, *about], *parts, _mind(account, width, colour)])


def _from_outside(account: Account, width: int, colour: Colour) -> list[list[str]]:
    look = (width, colour)
    return [
        list(map(colour.heading, _title(account, width))),
        _pipe(account, width, colour),
        _section("It will touch", _touches(account), "nothing: no step has an effect", colour.warning, look),
        _section("It needs", _needs(account), "nothing", colour.name, look),
        _section("It gives", _gives(account), "nothing", colour.name, look),
    ]


def _section(
    title: str, rows: list[tuple[str, ...]], without: str, first: Callable[[str], str], look: tuple[int, Colour]
) -> list[str]:
    width, colour = look
    return [colour.heading(title), *(table(rows, width, first=first) if rows else [f"  {without}"])]


def _joined(parts: list[list[str]]) -> str:
    return "\n".join("\n".join(lines) + "\n" for lines in parts if lines)


def _mind(account: Account, width: int, colour: Colour) -> list[str]:
    rows = [("", clean(warning)) for warning in account["warnings"]]
    return [colour.warning("Mind"), *table(rows, width)] if rows else []


def _title(account: Account, width: int) -> list[str]:
    name, description = clean(account["name"]), clean(account["description"])
    return wrap(": ".join(part for part in (name, description) if part), width) if name or description else []


def _pipe(account: Account, width: int, colour: Colour) -> list[str]:
    if account["pipe"] is None:
        return wrap(f"Not as a pipe: {clean(account['pipe_fault'])}", width)
    lines = pipe_lines(account["pipe"], width - 2)
    return [colour.heading("As a pipe"), *("  " + "\n".join(map(clean, line.split("\n"))) for line in lines)]


def _touches(account: Account) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    before = ""
    for touch in account["touches"]:
        what = ", ".join(f"{clean(key)} {said(origins)}" for key, origins in touch["what"].items() if _tells(origins))
        effect = touch["effect"] if touch["effect"] != before else ""
        before = touch["effect"]
        rows.append((effect, clean(touch["step"]), what))
    return rows


def _tells(origins: list[Account]) -> bool:
    """Whether more is known of a value than that it is unset."""
    return origins != [{"from": "default", "value": None}] and origins != [{"from": "default", "value": []}]


def _needs(account: Account) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for need in account["needs"]:
        rows.append((clean(need["flag"]), need["type"], _necessity(need), _what(need)))
    piped = account["piped"]
    if piped is not None and "step" in piped:
        rows.append(("the pipe", "any", "", f"{clean(piped['step'])} takes it as {clean(piped['key'])}"))
    return rows


def _necessity(need: Account) -> str:
    if need["required"]:
        return "required, or the pipe" if need["pipe"] else "required"
    default = f"default {value_text(need['default'])}" if need.get("default") is not None else "optional"
    return f"{default}, or the pipe" if need["pipe"] else default


def _what(need: Account) -> str:
    """What an input is, and the steps that read it."""
    readers = _names(need["read_by"])
    if not need["doc"]:
        return f"read by {readers}" if readers else ""
    return clean(need["doc"]) + (f" ({readers})" if readers else "")


def _gives(account: Account) -> list[tuple[str, ...]]:
    gives = account["gives"]
    rows: list[tuple[str, ...]] = [
        (clean(name), output["type"], say(output["from"])) for name, output in gives["outputs"].items()
    ]
    if gives["carries"] is not None:
        rows.append(("the pipe", "", f"carries {clean(gives['carries'])} on"))
    return rows


def _store(account: Account) -> list[tuple[str, ...]]:
    if not account["store"]:
        return []
    rows = [
        (clean(row["path"]), row["type"], _names(row["written_by"]), _names(row["read_by"])) for row in account["store"]
    ]
    return [("path", "type", "written by", "read by"), *rows]


def _names(names: list[str]) -> str:
    return ", ".join(map(clean, names))
