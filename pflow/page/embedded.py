"""The trace inside a page: put there as one block of data, and read back."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode

from pflow.errors import BAD_DATA, Attempt, PflowError
from pflow.map.report import map_text
from pflow.record.events import is_sound
from pflow.record.trace import Trace, with_visits
from pflow.record.trace_formats import document
from pflow.record.trace_text import trace_text
from pflow.values.json_values import has_too_many_values
from pflow.values.jsontext import decode, encode

_BEGIN, _END = b'<script type="application/gzip" id="trace">', b"</script>"
"""Of a type that no browser runs."""
_GZIP = 31
_MOST = 1 << 28
"""The most bytes of a page, and of the trace in it: a page may come from anybody."""


def embed(trace: Trace) -> str:
    """Return a trace as text that stands between _BEGIN and _END."""
    whole = document(trace, with_store=True)
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
        # What cannot be shown was not made by pflow.
        if not isinstance(trace["began"] + trace["last"], int | float):
            raise ValueError("the times are no numbers")
        trace_text(trace, now=trace["last"], with_store=True)
        map_text(trace["run"], trace["map"]) if "map" in trace else ""
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise PflowError(f"cannot read the trace in '{file}': it is damaged", exit=BAD_DATA) from error
    return trace
