"""A trace as text, for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pflow.jsontext import encode
from pflow.run.runs import DONE, FAILED, RUNNING
from pflow.run.trace.trace import CUT, Trace, Visit
from pflow.terminal.columns import PLAIN, Colour, clean, duration

_LONGEST = 1000
_UNITS = {"str": "characters", "bytes": "bytes", "list": "items", "dict": "members"}


def write(trace: Trace, *, now: float, with_store: bool, colour: Colour = PLAIN) -> bytes:
    """A block for each visit of a step, what failed, the status of a run, and the store if wanted."""
    blocks = [_visit(visit, trace, now, colour) for visit in trace.visits]
    error = trace.error
    if error:
        words = clean(f"{error.get('step')} (exit {error.get('exit')}): {error.get('message')}")
        blocks.append(f"{colour.fault('failed:')} {words}\n")
    if trace.status:
        paint = {DONE: colour.good, RUNNING: colour.warning}.get(trace.status, colour.fault)
        blocks.append(f"{clean(f'run {trace.run} ({trace.name})')}: {paint(_status(trace, now))}\n")
    blocks = blocks or ["no step has run\n"]
    return "\n".join([*blocks, *([_store(trace.store)] if with_store else [])]).encode()


def _visit(visit: Visit, trace: Trace, now: float, colour: Colour) -> str:
    facts = clean(", ".join(filter(None, _facts(visit, now))))
    lines = [colour.heading(clean(f"[{visit.number}] {visit.step} ({visit.node})")) + ("  " + facts if facts else "")]
    reads = [f"{key} from {origin}" if origin else f"{key} given" for key, origin in visit.origins.items()]
    if reads:
        lines.append(f"    {colour.dim('← reads:')} {clean(', '.join(reads))}")
    if visit.writes:
        places = ", ".join([" and ".join(places) for places in visit.writes.values()])
        lines.append(f"    {colour.dim('→ writes:')} {clean(places)}")
    message = visit.more.get("message")
    if message and message != trace.error.get("message"):
        lines.append(f"    {colour.fault('✗')} {clean(str(message))}")
    return "".join("    " * visit.depth + line + "\n" for line in lines)


def _facts(visit: Visit, now: float) -> list[str]:
    """How long a visit took, which one it is, what it used and how it ended, as far as that is known."""
    if visit.state == RUNNING:
        took = f"running for {duration(max(0.0, now - visit.begun) * 1000)}"
    elif visit.state == CUT:
        took = "did not end"
    else:
        took = "" if visit.ms is None else duration(visit.ms)
    number = f"visit {visit.visit}" if visit.visit > 1 else ""
    lane = f"in branch {visit.lane}" if visit.lane else ""
    return [took, number, lane, *(text(visit.more[name]) for name, text in _MORE.items() if name in visit.more)]


def _items(items: dict[str, int]) -> str:
    done, failed = items.get("done", 0), items.get("failed", 0)
    if failed:
        return f"{done} of {done + failed} items"
    return "1 item" if done == 1 else f"{done} items"


_MORE: dict[str, Callable[[Any], str]] = {
    "tries": lambda tries: f"{tries} tries",
    "items": _items,
    "tokens": lambda tokens: " + ".join(f"{count} tokens {side}" for side, count in tokens.items()),
    "model": str,
    "cost": lambda cost: "$" + f"{float(cost):.6f}".rstrip("0").rstrip("."),
    "dry": lambda dry: "dry" if dry else "",
    "action": lambda action: f"action {action}",
    "exit": lambda exit: f"exit {exit}",
}
"""What a visit may have beside its time, in the order in which it is printed."""


def _status(trace: Trace, now: float) -> str:
    if trace.status == RUNNING:
        return f"running for {duration(max(0.0, now - trace.begun) * 1000)}"
    how = {DONE: "done", FAILED: f"failed with {trace.exit}"}.get(trace.status, "killed")
    return how if trace.ms is None else f"{how} after {duration(trace.ms)}"


def _store(store: dict[str, Any] | None) -> str:
    """A line for each key, `response: str, 12 characters: "It is fine."`; `store` is as a trace has it."""
    if store is None:
        return "the store is known when the run has ended\n"
    lines = [f"    {key}: {_shape(shape)}" for key, shape in store.items()]
    return "".join(clean(line) + "\n" for line in ["the store" if lines else "the store is empty", *lines])


def _shape(shape: dict[str, Any]) -> str:
    text, size = str(shape["type"]), shape.get("size")
    if size is not None:
        unit = _UNITS[text]
        text += f", {size:,} {unit.removesuffix('s') if size == 1 else unit}"
    if "value" not in shape:
        return text
    value = str(encode(shape["value"]), "utf-8")
    return f"{text}: {value if len(value) <= _LONGEST else value[: _LONGEST - 1] + '…'}"
