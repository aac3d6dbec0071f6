"""The account of a step as lines for a terminal."""

from __future__ import annotations

from pflow.explain.sayings import said, say
from pflow.terminal.colour import PLAIN
from pflow.terminal.columns import cells, clean, pad, shorten, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.terminal.colour import Colour

    Account = dict[str, Any]

_LEFT = 30
"""The widest that the column of names may get."""


def step_lines(step: Account, width: int, colour: Colour = PLAIN) -> list[str]:
    rows = list(_rows(step))
    left = min(max((cells(name) for _, name, _ in rows), default=0), _LEFT)
    lines = list(map(colour.heading, wrap(_heading(step), width)))
    for sign, name, text in rows:
        first, *rest = wrap(text, max(width - left - 8, 20))
        painted = colour.warning(sign) if sign == "!" else colour.dim(sign)
        lines.append(f"    {painted} {pad(shorten(name, left), left)}  {first}".rstrip())
        lines += [" " * (left + 8) + line for line in rest]
    return lines


def _heading(step: Account) -> str:
    node = clean(step["type"]) + (f" {step['version']}" if step["version"] else "")
    summary = f": {clean(step['summary'])}" if step["summary"] else ""
    return f"[{step['number']}] {clean(step['id'])} ({node}){summary}"


def _rows(step: Account) -> Iterator[tuple[str, str, str]]:
    """The lines of a step: a sign, a name, what is to be said of it."""
    if step["fault"]:
        yield "!", "not known", clean(step["fault"])
    elif step["open"]:
        yield "!", "open", "its interface says nothing: it may read and write any key"
    if not step["reached"]:
        yield "!", "never runs", "no edge leads to it"
    if "batch" in step:
        yield "×", "once for each", _batch(step["batch"])
    for read in step["reads"]:
        yield "←", f"{clean(read['key'])}: {_short(read['type'])}", said(read["from"])
    for write in step["writes"]:
        readers = "".join(f", {clean(reader)}" for reader in write["read_by"]).replace(",", ", to", 1)
        yield "→", f"{clean(write['key'])}: {_short(write['type'])}", clean(write["to"]) + readers
    for key, origin in step["params"].items():
        yield "·", clean(key), say(origin)
    if step["has_model"] and "model" not in step["params"]:
        yield "·", "model", "the default one"
    if "steps" in step:
        count = "1 step" if step["steps"] == 1 else f"{step['steps']} steps"
        yield "·", "a flow", f"of {count}, with a store of its own"
    if step["effects"]:
        yield "·", "touches", ", ".join(step["effects"])
    yield from _manner(step)
    for edge in step["next"]:
        yield "·", "then" if edge["action"] == "default" else f"on {clean(edge['action'])}", _edge(edge, step)


def _short(type: str) -> str:
    """A type without the shape of its objects."""
    head, brace, tail = type.partition("{")
    return head + tail.rpartition("}")[2] if brace else type


def _batch(batch: Account) -> str:
    parts = [f"in {say(batch['over'])}, as {clean(batch['as'])}"]
    if batch["jobs"]:
        parts.append(f"{batch['jobs']} at a time")
    if batch["on_error"] == "keep":
        parts.append("those that fail are kept as null")
    return "; ".join(parts)


def _manner(step: Account) -> Iterator[tuple[str, str, str]]:
    if "asks_version" in step:
        yield "·", "version", f"{clean(step['asks_version'])} at least, and the same major"
    if "retries" in step:
        wait = f", {step['wait']:g} s apart" if step.get("wait") else ""
        yield "·", "retries", f"{step['retries']}{wait}"
    if "timeout" in step:
        yield "·", "timeout", f"{step['timeout']:g} s"
    if "max_visits" in step:
        yield "·", "visits", f"{step['max_visits']} at most"


def _edge(edge: Account, step: Account) -> str:
    targets = ", ".join(map(clean, edge["to"]))
    if not targets:
        return "the flow ends"
    if len(edge["to"]) > 1:
        meet = f"they meet at {clean(edge['meet'])}" if edge["meet"] else "each to its end"
        return f"{targets} at the same time; {meet}"
    if edge["to"] == [step["id"]]:
        return "again"
    return f"back to {targets}" if edge["back"] else targets
