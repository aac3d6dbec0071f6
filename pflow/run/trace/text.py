"""A trace as text, for people."""

from __future__ import annotations

from pflow.run.runs import DONE, FAILED, RUNNING, is_int
from pflow.run.trace import trace
from pflow.run.trace.store import plain, store_text
from pflow.terminal.colour import PLAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.run.trace.trace import Trace, Visit
    from pflow.terminal.colour import Colour


def write(found: Trace, *, now: float, with_store: bool, colour: Colour = PLAIN) -> bytes:
    """A block for each visit of a step, what failed, how the run stands where it is one, and the store if wanted."""
    text = trace_text(found, now, colour)
    return (f"{text}\n{store_text(found.store)}" if with_store else text).encode()


def trace_text(found: Trace, now: float, colour: Colour = PLAIN) -> str:
    blocks = [_visit(visit, found, now, colour) for visit in found.visits]
    error = found.error
    if error:
        words = plain(f"{error.get('step')} (exit {error.get('exit')}): {error.get('message')}")
        blocks.append([f"{colour.fault('failed:')} {words}"])
    if found.status:
        paint = {DONE: colour.good, RUNNING: colour.warning}.get(found.status, colour.fault)
        blocks.append([f"{plain(f'run {found.run} ({found.name})')}: {paint(_standing(found, now))}"])
    return "\n".join(["".join(line + "\n" for line in block) for block in blocks]) or "no step has run\n"


def seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms:.0f} ms"


def _visit(visit: Visit, found: Trace, now: float, colour: Colour) -> list[str]:
    told = plain(", ".join(_told(visit, now)))
    lines = [colour.heading(plain(f"[{visit.number}] {visit.step} ({visit.node})")) + ("  " + told if told else "")]
    reads = [f"{key} from {origin}" if origin else f"{key} given" for key, origin in visit.origins.items()]
    if reads:
        lines.append(f"    {colour.dim('← reads:')} {plain(', '.join(reads))}")
    if visit.writes:
        places = ", ".join([" and ".join(places) for places in visit.writes.values()])
        lines.append(f"    {colour.dim('→ writes:')} {plain(places)}")
    message = visit.more.get("message")
    if message and message != found.error.get("message"):
        lines.append(f"    {colour.fault('✗')} {plain(str(message))}")
    return ["    " * visit.depth + line for line in lines]


def _told(visit: Visit, now: float) -> list[str]:
    """How long a visit took, which one it is, what it used and how it ended, as far as that is known."""
    told = [_took(visit, now)]
    told.append(f"visit {visit.visit}" if visit.visit > 1 else "")
    told.append(f"in branch {visit.lane}" if visit.lane else "")
    told += [say(visit.more[name]) for name, say in _SAYINGS.items() if name in visit.more]
    return [each for each in told if each]


def _took(visit: Visit, now: float) -> str:
    if visit.state == trace.RUNNING:
        return f"running for {seconds(max(0.0, now - visit.begun) * 1000)}"
    if visit.state == trace.CUT:
        return "did not end"
    return "" if visit.ms is None else seconds(visit.ms)


def _items(items: Any) -> str:
    done, failed = (items.get("done"), items.get("failed")) if isinstance(items, dict) else (None, None)
    if not is_int(done):
        return ""
    if is_int(failed) and failed:
        return f"{done} of {done + failed} items"
    return "1 item" if done == 1 else f"{done} items"


def _tokens(tokens: Any) -> str:
    return " + ".join([f"{count} tokens {side}" for side, count in tokens.items()]) if isinstance(tokens, dict) else ""


def _cost(cost: Any) -> str:
    is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
    return "$" + f"{cost:.6f}".rstrip("0").rstrip(".") if is_number else ""


_SAYINGS: dict[str, Callable[[Any], str]] = {
    "tries": lambda tries: f"{tries} tries",
    "items": _items,
    "tokens": _tokens,
    "model": str,
    "cost": _cost,
    "dry": lambda dry: "dry" if dry else "",
    "action": lambda action: f"action {action}",
    "exit": lambda exit: f"exit {exit}",
}
"""What a visit may have beside its time, in the order in which it is told."""


def _standing(found: Trace, now: float) -> str:
    if found.status == RUNNING:
        return f"running for {seconds(max(0.0, now - found.begun) * 1000)}"
    after = "" if found.ms is None else f" after {seconds(found.ms)}"
    how = {DONE: "done", FAILED: f"failed with {found.exit}"}.get(found.status, "killed")
    return how + after
