"""The trace inside a page: put there as one block of data, and read back."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from pflow.errors import BAD_DATA, PflowError, exit_code, reason_of
from pflow.record.runs import is_sound
from pflow.record.trace import Trace, items_of_batches
from pflow.record.trace_formats import document
from pflow.values.jsontext import encode

_BEGIN, _END = b'<script type="application/gzip" id="trace">', b"</script>"
"""Of a type that no browser runs."""
_GZIP = 31
_MOST = 1 << 30
"""Bytes of the largest trace in a page: a page may come from anybody."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Tried(_Model):
    ms: float
    exit: int


class _Visit(_Model):
    """A visit of a step (pflow.record.trace.Visit)."""

    number: int
    step: str
    node: str
    version: str
    visit: int
    state: str
    began: float
    ms: float | None
    reads: dict[str, list[str]]
    writes: dict[str, list[str]]
    read_keys: list[str]
    write_keys: list[str]
    outer: int = 0
    lane: str = ""
    exit: int = 0
    tried: list[_Tried] = []


class _Graph(_Model):
    steps: list[tuple[str, str]]
    edges: list[tuple[str, str, str]]


class _Failure(_Model):
    status: str
    exit: int | None
    message: str | None
    count: int
    number: int


class _Slow(_Model):
    number: int
    ms: float | None


class _Map(_Model):
    """What a map's ledger says (pflow.many.report)."""

    ledger: str
    items: dict[str, int | None]
    statuses: dict[str, int]
    models: list[dict[str, Any]]
    failures: list[_Failure]
    slowest: list[_Slow]


class _Flow(_Model):
    name: str
    hash: str


class _Shape(_Model):
    type: str
    size: int = 0


class _Trace(_Model):
    """A trace (pflow.record.trace.Trace) as a page holds it; `graph`, `map` and `dots` are for the page."""

    run: str
    flow: _Flow | None
    status: str
    exit: int | None
    began: float
    last: float
    ms: float | None
    resumed: int
    traceparent: str
    parent: str
    error: dict[str, Any] = {}
    usage: dict[str, Any]
    snapshot: dict[str, Any] | None
    next: list[str]
    execution_trace: list[_Visit]
    store: dict[str, _Shape] | None
    events: list[dict[str, Any]]
    graph: _Graph | None = None
    map: _Map | None = None
    dots: list[tuple[int, float, float | None, str]] = []

    @field_validator("execution_trace")
    @classmethod
    def _is_in_order(cls, visits: list[_Visit]) -> list[_Visit]:
        if any(visit.number != n or not 0 <= visit.outer < n for n, visit in enumerate(visits, 1)):
            raise ValueError("the visits are not in order")
        return visits


def embed(trace: Trace) -> str:
    """Return a trace as text that stands between _BEGIN and _END."""
    data = zlib.compress(encode(document(trace, with_store=True)), level=9, wbits=_GZIP)
    return b64encode(data).decode()


def read_page(file: str) -> Trace:
    """Return the trace in a page. Raises PflowError: 66 or 77 if it is unreadable, 65 if it holds none."""
    try:
        with open(file, "rb") as opened:
            page = opened.read()
    except OSError as error:
        raise PflowError(f"cannot read '{file}': {reason_of(error)}", exit=exit_code(error)) from None
    begin = page.find(_BEGIN) + len(_BEGIN)
    end = page.find(_END, begin)
    if begin < len(_BEGIN) or end < 0:
        what = f"cannot read the trace in '{file}': it is not a whole page of pflow"
        raise PflowError(what, hint="pflow trace RUN --html=FILE writes one", exit=BAD_DATA)
    try:
        data = zlib.decompressobj(_GZIP).decompress(b64decode(page[begin:end], validate=True), _MOST)
        trace: Trace = _Trace.model_validate_json(data).model_dump(exclude_unset=True)
    except (ValueError, zlib.error) as error:
        raise PflowError(f"cannot read the trace in '{file}': it is damaged", exit=BAD_DATA) from error
    events = [event for event in trace["events"] if isinstance(event.get("event"), str) and is_sound(event)]
    return {"error": {}, **trace, "batch_items": items_of_batches(events)}
