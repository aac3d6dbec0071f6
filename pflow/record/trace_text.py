"""A trace as text: a block for each visit of a step, and how the run ended."""

from __future__ import annotations

from typing import Any

from pflow.errors import shorten
from pflow.record.run import DONE, FAILED, KILLED, RUNNING
from pflow.record.trace import CUT, Trace, Visit
from pflow.terminal.columns import PLAIN, Colour, duration
from pflow.text.printable import clean, from_one
from pflow.usage.usage import usage_words
from pflow.values.jsontext import encode
from pflow.values.paths import size_text

_LONGEST = 1000


def trace_text(trace: Trace, *, now: float, with_store: bool, colour: Colour = PLAIN) -> bytes:
    """Return a block for each visit of a step, the failure, the status of a run, and the store if wanted."""
    visits, error = trace["execution_trace"], trace["error"]
    depths = {0: -1}
    blocks = []
    for visit in visits:
        depths[visit["number"]] = depth = depths[visit.get("outer", 0)] + 1
        lines = _lines(visit, now, colour)
        if "message" in visit and visit["message"] != error.get("message"):
            lines.append(f"    {colour.fault('✗')} {clean(str(visit['message']))}")
        blocks.append("".join("    " * depth + line + "\n" for line in lines))
    if error:
        words = clean(f"{error.get('step')} (exit {error.get('exit')}): {error.get('message')}")
        blocks.append(f"{colour.fault('failed:')} {words}\n")
    if trace["flow"]:
        paint = {DONE: colour.good, RUNNING: colour.warning}.get(trace["status"], colour.fault)
        words = clean(f"run {trace['run']} ({trace['flow']['name']})")
        used = clean("".join(f", {each}" for each in usage_words(trace["usage"])))
        blocks.append(f"{words}: {paint(status_text(trace, now))}{_resumed(trace)}{used}\n")
    elif len(visits) > 1 and trace["usage"]:
        blocks.append(clean(f"in all: {', '.join(usage_words(trace['usage']))}") + "\n")
    if with_store:
        blocks.append(_store(trace["store"]))
    return "\n".join(blocks if visits or trace["flow"] else ["no step has run\n", *blocks]).encode()


def _lines(visit: Visit, now: float, colour: Colour) -> list[str]:
    heading = colour.heading(clean(f"[{visit['number']}] {visit['step']} ({visit['node']})"))
    lines = [f"{heading}  {clean(', '.join(facts_of(visit, now)))}".rstrip()]
    reads = [
        f"{key} from {' and '.join(places)}" if places else f"{key} given" for key, places in visit["reads"].items()
    ]
    if reads:
        lines.append(f"    {colour.dim('← reads:')} {clean(', '.join(reads))}")
    if visit["write_keys"]:
        lines.append(f"    {colour.dim('→ writes:')} {clean(', '.join(visit['write_keys']))}")
    return lines


def facts_of(visit: Visit, now: float) -> list[str]:
    """Return what is to be said of a visit beside its places: time, action, exit code, usage, tries, items, cache."""
    facts = [_took(visit, now)]
    facts += [f"visit {visit['visit']}"] if visit["visit"] > 1 else []
    facts += [f"branch {visit['lane']}"] if "lane" in visit else []
    facts += [f"item {from_one(visit['item'])}"] if "item" in visit else []
    facts += [_fact(name, visit[name]) for name in ("action", "exit") if name in visit]
    facts += usage_words(visit)
    facts += [f"tries {len(visit['tried']) + 1}"] if "tried" in visit and "tries" not in visit else []
    facts += [_fact(name, visit[name]) for name in ("tries", "items", "dry", "skipped") if name in visit]
    facts += [f"warning: {visit['warning']}"] if "warning" in visit else []
    return [*filter(None, facts), *_of_cache(visit.get("cache"))]


def _of_cache(said: Any) -> list[str]:
    """Return `cached`, or the reason why a step was not cached."""
    if not isinstance(said, dict):
        return []
    return ["cached"] if said.get("verdict") == "hit" else [f"not cached: {said['why']}"] if said.get("why") else []


def _took(visit: Visit, now: float) -> str:
    if visit["state"] == RUNNING:
        return f"running for {duration(max(0.0, now - visit['began']) * 1000)}"
    if visit["state"] == CUT:
        return "did not end"
    return "" if visit["ms"] is None else duration(visit["ms"])


def _fact(name: str, value: Any) -> str:
    """Return `exit 66`, `items done 9 failed 1`, `dry`."""
    if isinstance(value, dict):
        value = " ".join(f"{key} {count}" for key, count in value.items())
    return name if value is True else f"{name} {value}"


def status_text(trace: Trace, now: float) -> str:
    """Return how a run ended, and after how long."""
    if trace["status"] == RUNNING:
        return f"running for {duration(max(0.0, now - trace['began']) * 1000)}"
    if trace["status"] == KILLED:  # nobody wrote down when
        return f"killed, its last event after {duration(trace['ms'])}"
    how = f"failed with {trace['exit']}" if trace["status"] == FAILED else trace["status"]
    return how if trace["ms"] is None else f"{how} after {duration(trace['ms'])}"


def _resumed(trace: Trace) -> str:
    count = trace["resumed"]
    return f", resumed {count} times" if count > 1 else ", resumed" if count else ""


def _store(store: dict[str, Any] | None) -> str:
    """Return a line for each key, `response: str, 12 characters: "It is fine."`; `store` is as a trace has it."""
    if store is None:
        return "the store is known when the run has ended\n"
    lines = [f"    {key}: {_shape(shape)}" for key, shape in store.items()]
    return "".join(clean(line) + "\n" for line in ["the store" if lines else "the store is empty", *lines])


def _shape(shape: dict[str, Any]) -> str:
    text = str(shape["type"])
    if "size" in shape:
        text += f", {size_text(text, shape['size'])}"
    if "value" not in shape:
        return text
    return f"{text}: {shorten(str(encode(shape['value']), 'utf-8'), _LONGEST)}"
