"""HTML pages: the page of a run with its trace embedded, reading that trace back, and the page of a list of runs."""

from __future__ import annotations

import math
import time
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pflow.errors import BAD_DATA, EXIT_CODES, Attempt, PflowError
from pflow.map.report import map_dots, map_text
from pflow.page.drawings import Axis, Row, draw, rows_of, shape_of, shown_value
from pflow.record.log import FLOW, is_sound
from pflow.record.runs import DONE, FAILED, KILLED, RUNNING, RecordedRun
from pflow.record.trace import CUT, Trace, WrittenValues, status_text, store_with, trace_text, with_visits
from pflow.record.trace_formats import public_members
from pflow.terminal.columns import duration
from pflow.text.printable import CONTROLS, from_one
from pflow.values.json_input import has_too_many_values
from pflow.values.jsontext import decode, encode
from pflow.values.paths import size_text
from pflow.values.usage import Usage, amount, usage_words

if TYPE_CHECKING:
    import jinja2

_MOST_FAILURES = 50
"""The most kinds of failures of items that are listed, for all batches together."""
_LONGEST_ITEM = 60
_MOST_STORE = 40_000
"""The most characters that the values of the final store take on a page."""

_LEAST_MS = 0.1

_BEGIN, _END = b'<script type="application/gzip" id="trace">', b"</script>"
"""The tags around the trace. A browser does not run a script of this type."""
_GZIP = 31  # wbits with which zlib writes gzip, the type that _BEGIN declares
_MOST = 1 << 28
"""The most bytes that are read of a page, and of the trace in it, since the page may come from anyone."""


@cache
def _environment() -> jinja2.Environment:
    import jinja2  # not at the top: reading the trace in a page does not need it, and its import is slow

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pflow.page"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {"duration": duration, "moment": _moment, "coordinate": _coordinate, "from_one": from_one}
    return environment


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(seconds))


def _coordinate(value: float) -> str:
    """Return a position or a size in a drawing, without needless digits: a page has many."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


_ESCAPES = {code: f"\\u{code:04x}" for code in (*CONTROLS, ord("\r"))}
"""JSON's escapes of the characters that control a terminal or reverse the direction of text."""


def _render(template: str, **members: Any) -> bytes:
    text = _environment().get_template(template).render(**members).translate(_ESCAPES)
    return text.encode("utf-8", "backslashreplace")


def page_members(run: RecordedRun) -> Trace:
    """Return the members that a page needs in addition to the trace: the `ir` of the flow, the `dots` of a map."""
    return {"ir": shape_of(run.read_json(FLOW)), "dots": map_dots(run) if run.ledger else []}


def run_page(trace: Trace, *, now: float) -> bytes:
    """Return the page of a trace. The trace of a run must have the members that `page_members` returns."""
    report, dots, shape = trace.get("map"), trace.get("dots", []), trace.get("ir") or shape_of(None)
    values = trace.get("values")
    trace = store_with(trace)
    axis = Axis(trace, now, [dot[1] for dot in dots])
    rows = rows_of(trace, axis, now, values or {})
    return _render(
        "run.html",
        trace=trace,
        name=(trace["flow"] or {}).get("name") or "pipe",
        status=status_text(trace, now),
        used=usage_words(trace["usage"]),
        nothing="no model has answered",
        states=_states(trace),
        dry=any("dry" in row.visit for row in rows),
        meanings=EXIT_CODES,
        stopped=_stopped(trace),
        failures=_failures(trace, values or {}),
        axis=axis,
        rows=rows,
        graph=_graph(shape, rows) if rows or report else None,
        dots=_dots(dots, axis),
        report=report,
        by_step=_used_by(trace, "step"),
        by_model=[(each["model"], Usage(each)) for each in report["models"]] if report else _used_by(trace, "model"),
        store=_store(trace["store"]),
        has_values=values is not None,
        snapshot=_snapshot(trace["snapshot"] or {}),
        embedded=embed(trace),
    )


def runs_page(runs: Iterable[RecordedRun], *, now: float) -> bytes:
    """Return the page of a list of runs."""
    return _render("runs.html", runs=list(runs), now=now, Usage=Usage)


def _states(trace: Trace) -> dict[str, int]:
    """Return the number of visits in each state, only innermost ones; for a map, the number of items."""
    if "map" in trace:
        return {status: count for status, count in trace["map"]["statuses"].items() if count}
    visits = trace["execution_trace"]
    outer = {visit.get("outer") for visit in visits}
    states = [visit["state"] for visit in visits if visit["number"] not in outer]
    return {state: states.count(state) for state in (DONE, FAILED, CUT, RUNNING) if state in states}


def _stopped(trace: Trace) -> dict[str, Any] | None:
    """Return the step where a run failed or was killed: step, node, exit, message, hint, and number of the visit."""
    error, unfinished = trace["error"], [visit for visit in trace["execution_trace"] if visit["state"] != DONE]
    if error:
        at = [visit for visit in unfinished if visit["step"] == error.get("step")]
        said = {name: str(error.get(name, "")) for name in ("step", "node", "message", "hint")}
    elif trace["status"] == KILLED:
        at = [visit for visit in unfinished if visit["state"] == CUT]
        said = {name: at[-1][name] if at else "" for name in ("step", "node")}
        said |= {"message": "the run was killed, and nobody wrote down why", "hint": ""}
    else:
        return None
    return {**said, "exit": amount(error.get("exit")), "number": at[-1]["number"] if at else None}


def _failures(trace: Trace, values: WrittenValues) -> dict[str, Any]:
    """Return the number of failed items of batches, and the items in groups of one visit, exit code and message.

    Without a journal, only the index of an item is known.
    """
    steps = {visit["number"]: visit for visit in trace["execution_trace"]}
    groups: dict[tuple[Any, ...], list[str]] = {}
    for number, events in trace["batch_items"].items():
        visit = steps[number]
        errors = values.get(number, {}).get(f"{visit['step']}.errors")
        kept = {each.get("index"): each.get("item") for each in errors or () if isinstance(each, dict)}
        for event in sorted((each for each in events if "exit" in each and "index" in each), key=itemgetter("index")):
            index = event["index"]
            item = f"{from_one(index)}: {shown_value(kept[index], _LONGEST_ITEM)}" if index in kept else from_one(index)
            groups.setdefault((number, visit["step"], event["exit"], str(event.get("message", ""))), []).append(item)
    return {"count": sum(map(len, groups.values())), "groups": list(groups.items())[:_MOST_FAILURES]}


def _used_by(trace: Trace, by: str) -> list[tuple[str, Usage]]:
    """Return the usage of models, added up by the member `by` of the events, the most expensive first."""
    found: dict[str, Usage] = {}
    for event in trace["events"] if trace["flow"] else trace["execution_trace"]:
        if calls := Usage(event).calls:
            name = event.get(by) or ("several models" if calls > 1 else "unknown")
            found.setdefault(str(name), Usage()).add_event(event)
    used = [(name, usage) for name, usage in found.items() if usage.calls]
    return sorted(used, key=lambda each: (-(each[1].cost or 0), -sum(each[1].tokens.values())))


def _graph(shape: dict[str, Any], rows: list[Row]) -> dict[str, Any]:
    """Return the drawing of the flow, and the visits of each step. A pipe is drawn as a chain of its stages."""
    if not shape["nodes"]:
        stages = {row.visit["step"]: row.visit["node"] for row in rows if "outer" not in row.visit}
        shape = shape_of({"nodes": [{"id": id, "type": type} for id, type in stages.items()]})
    visits: dict[str, list[Row]] = {}
    for row in rows:
        visits.setdefault(row.visit["step"], []).append(row)
    return {"drawing": draw(shape), "types": {node["id"]: node["type"] for node in shape["nodes"]}, "visits": visits}


def _dots(dots: list[list[Any]], axis: Axis) -> dict[str, Any] | None:
    """Return the items of a map as points by status: when they ended from left to right, their duration upwards.

    Items that ended in an earlier map are left out.
    """
    dots = [dot for dot in dots if dot[1] >= axis.parts[0][0]]
    if not dots:
        return None
    logs = [math.log10(max(ms or 0, _LEAST_MS)) for _, _, ms, _ in dots]
    lowest, highest = math.floor(min(logs)), max(math.ceil(max(logs)), math.floor(min(logs)) + 1)
    points: dict[str, list[tuple[float, float, str]]] = {}
    for (number, ended, ms, status), log in zip(dots, logs, strict=True):
        words = f"#{number} {status}, {duration(ms or 0)}"
        height = (log - lowest) / (highest - lowest) * 100
        points.setdefault(status, []).append((axis.at(ended), height, words))
    lines = [((n - lowest) / (highest - lowest) * 100, 10**n) for n in range(lowest, highest + 1)]
    return {"points": points, "lines": lines, "count": len(dots)}


def _store(store: dict[str, dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """Return the keys of the final store: type, size, and the value if it is known."""
    if store is None:
        return None
    longest = _MOST_STORE // max(len(store), 10)
    rows = []
    for key, shape in store.items():
        size = size_text(shape["type"], shape["size"]) if "size" in shape else ""
        value = shown_value(shape["value"], longest) if "value" in shape else None
        rows.append({"key": key, "type": shape["type"], "size": size, "value": value})
    return rows


def _snapshot(snapshot: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the values that a run began with: params of steps, and the values that flags and the pipe stored."""
    overrides = snapshot.get("config_overrides", {}).items()
    found = [(f"{step}.{name}", value) for step, params in overrides for name, value in params.items()]
    found += snapshot.get("cli_injections", {}).items()
    longest = _MOST_STORE // max(len(found), 10)
    return [(path, shown_value(value, longest)) for path, value in found]


def embed(trace: Trace) -> str:
    """Return a trace as the text between _BEGIN and _END."""
    whole = public_members(trace, with_store=True)
    return b64encode(zlib.compress(encode({**whole, "execution_trace": []}), level=9, wbits=_GZIP)).decode()


def read_page(file: str) -> Trace:
    """Return the trace in a page. Raises PflowError: 66 or 77 if it is unreadable, 65 if it holds none."""
    with Attempt(f"cannot read '{file}'"), open(file, "rb") as opened:
        page = opened.read(_MOST)
    begin = page.find(_BEGIN) + len(_BEGIN)
    end = page.find(_END, begin)
    if begin < len(_BEGIN) or end < 0:
        what = f"cannot read the trace in '{file}': it is not a whole page of pflow"
        raise PflowError(what, hint="pflow trace RUN --html=FILE writes one", exit=BAD_DATA)
    try:
        unpacked = zlib.decompressobj(_GZIP)
        data = unpacked.decompress(b64decode(page[begin:end], validate=True), _MOST)
        if not unpacked.eof or has_too_many_values(data):
            raise ValueError("the data are cut, or too large")
        kept = decode(data)
        is_run = bool(kept["flow"])
        events = [
            each for each in kept["events"] if not is_run or (isinstance(each.get("event"), str) and is_sound(each))
        ]
        trace = with_visits({"error": {}, **kept, "events": events})
        # Fail here, where the error names the file, if the trace cannot be shown: then pflow did not write it.
        if not isinstance(trace["began"] + trace["last"], int | float):
            raise ValueError("the times are no numbers")
        trace_text(trace, now=trace["last"], with_store=True)
        map_text(trace["run"], trace["map"]) if "map" in trace else ""
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise PflowError(f"cannot read the trace in '{file}': it is damaged", exit=BAD_DATA) from error
    return trace
