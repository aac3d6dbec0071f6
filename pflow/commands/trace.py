"""pflow trace: Show what each step of a run read, wrote and took.

RUN is a run's id or the beginning of one; `last` or `@1` is the newest run, `@2` the one before. Without RUN it traces
the store on stdin, or without stdin the last run. A run that is not over is shown as far as it got. A RUN with a dot or
a slash in it is the file of a page that --html has written. With a second RUN the difference is shown: which steps
differ in time, cost, reads and writes.

For a map it shows how many items succeeded, failed or are left, what each model took, at most ten failures by exit code
and message, each with an item of it, and the slowest items. pflow why RUN ITEM and the ledger tell of each item.

--html makes a page: one file without scripts that needs no network. It has the flow as a graph, a timeline, and what
each step read, wrote and cost, with the values if the run's journal was kept (--keep-store). The page holds the trace.
On a terminal it is written to RUN.html, and its name is printed; into a pipe the page itself is written.

--otlp follows version 0.1.0 of OpenTelemetry's GenAI conventions, with no prompt and no answer. The run, its steps, the
items of a map and each call of a model are spans, and only calls have tokens and cost, so that nothing counts twice.
With --send they go to the receiver that OTEL_EXPORTER_OTLP_ENDPOINT names. OpenTelemetry's own exporter sends them and
reads all its variables; --otlp=protobuf writes what it would send. Both need the extra [otlp] (78 without it).

The exit code is 0, or that of the failed stage that printed the store.

\b
pflow run examples/words.pflow.json --pattern='examples/*.txt' -q
pflow trace last
cat examples/notes.txt | pflow-shell --command='wc -w' | pflow trace
pflow trace last --chrome >timeline.json
pflow trace last --html=run.html && pflow trace run.html
pflow trace last --otlp >spans.jsonl
"""

import os
import time

from pflow.commands._command import COLOR, HTML, OUTPUT, Command
from pflow.commands._output import json_line, write_page, write_result
from pflow.errors import BAD_DATA, USAGE, PflowError
from pflow.help import spec as kinds
from pflow.interface.interface import Flag, argument
from pflow.map.report import map_items, map_report, map_text
from pflow.process.streams import is_readable
from pflow.record.comparison import compare_traces, difference_text
from pflow.record.runs import find_run
from pflow.record.trace import Trace, store_with, trace_of_document, trace_of_run, trace_text, values_of
from pflow.record.trace_formats import FORMATS, as_protobuf, send_spans, span_requests
from pflow.store_commands._store_command import take_store
from pflow.terminal.columns import colour_of
from pflow.terminal.messages import say
from pflow.text.printable import clean_json

_FORMS = ("chrome", "otlp")


@Command(
    __doc__,
    Flag("store", "add the final store: keys, types, sizes, and the values that are known", excludes=("html", *_FORMS)),
    HTML,
    Flag("open", "open the page of --html"),
    Flag("json", "print one JSON document: trace, snapshot and events", excludes=_FORMS),
    Flag("chrome", "print a timeline for Perfetto or chrome://tracing", excludes=("otlp",)),
    Flag("otlp", "print OpenTelemetry spans, as lines of OTLP's JSON, or as protobuf", word="json|protobuf"),
    Flag("send", "send the spans of --otlp to OTEL_EXPORTER_OTLP_ENDPOINT", excludes=("output",)),
    OUTPUT,
    COLOR,
    argument("[RUN]", kinds.RUN, name="run"),
    argument("[RUN]", kinds.RUN, name="other"),
)
def command(
    run: str | None, other: str | None, store: bool, html: str | bool, open: bool, json: bool, chrome: bool,
    otlp: str | bool, send: bool, output: str | None, color: str,
) -> int:  # fmt: skip
    form = "json" if json else "chrome" if chrome else None if otlp is False else "otlp"
    alone = "store" if store else "html" if html is not False else form if form != "json" else None
    is_binary = otlp == "protobuf" and not (send or output)
    page = next(filter(_is_page, (run or "", other or "")), "")
    faults = [
        (open and html is False, "--open without --html", "pflow trace RUN --html --open"),
        (send and otlp is False, "--send without --otlp", "pflow trace RUN --otlp --send"),
        (
            html is not False and page,
            f"--html with '{page}': it is not a run",
            f"--html={page} if it is the page to write",
        ),
        (other and alone, f"--{alone} with two runs", "--json goes with two runs"),
        (is_binary and os.isatty(1), "--otlp=protobuf on a terminal", "pflow trace RUN --otlp=protobuf >FILE"),
    ]
    for is_there, what, hint in faults:
        if is_there:
            raise PflowError(f"cannot take {what}", hint=hint, exit=USAGE)
    when = "never" if output else color
    if other is not None:
        return _compare(run or "", other, form, output, when)
    if run is None and is_readable():
        trace, code = _from_stdin(with_store=store or html is not False)
    else:
        trace, code = _find(run or "last", is_for_page=html is not False, with_store=store), 0
    if html is not False:
        from pflow.page.page import run_page

        write_page(run_page(trace, now=time.time()), html, output, f"{trace['run'] or 'trace'}.html", opens=open)
        return code
    _print(trace, form, store=store, otlp=otlp, send=send, output=output, when=when)
    return code


def _print(
    trace: Trace, form: str | None, *, store: bool, otlp: str | bool, send: bool, output: str | None, when: str
) -> None:  # fmt: skip
    """Print the trace in a form, send its spans, or write it to the file `output`."""
    if "map" in trace and otlp is not False:
        trace["map_items"] = map_items(find_run(trace["run"]))
    elif "map" in trace and (store or form == "chrome"):
        what = f"cannot take --{'store' if store else form} for a map: a step of it has no times or values of its own"
        raise PflowError(what, hint="pflow trace RUN --json, or pflow why RUN ITEM", exit=USAGE)
    if send:
        say("pflow trace", send_spans(span_requests(trace)))
    elif otlp == "protobuf":
        write_result(output, b"".join(as_protobuf(span_requests(trace))))
    elif form is None:
        report = map_text(trace["run"], trace["map"]).encode() if "map" in trace else b""
        write_result(output, report + trace_text(trace, now=time.time(), with_store=store, colour=colour_of(1, when)))
    else:
        written = FORMATS[form](trace, now=time.time(), with_store=store)
        write_result(output, clean_json(str(written, "utf-8")).encode())


def _is_page(word: str) -> bool:
    """Return True for a page's file, which has a dot or a slash in it; a run's id has neither."""
    return "." in word or "/" in word


def _compare(run: str, other: str, form: str | None, output: str | None, when: str) -> int:
    """Print the difference of two runs."""
    found = compare_traces(_find(run), _find(other))
    text = difference_text(found, colour_of(1, when)).encode()
    write_result(output, json_line(found) if form == "json" else text)
    return 0


def _from_stdin(*, with_store: bool) -> tuple[Trace, int]:
    intake = take_store("auto")
    if intake.kind == "raw":
        raise PflowError(
            "cannot trace stdin: it is not a store",
            hint="-j makes the last stage print one; the file of a page is named",
            exit=BAD_DATA,
        )
    trace = trace_of_document(intake.document, with_store=with_store)
    return trace, int(trace["exit"])


def _find(word: str, *, is_for_page: bool = False, with_store: bool = False) -> Trace:
    """Return the trace of a run or of a page's file; add the members that a page needs, or the values of the store."""
    if _is_page(word):
        from pflow.page.page import read_page

        return read_page(word)
    run = find_run(word)
    events, warnings = run.events()
    for warning in warnings:
        say("pflow trace", f"warning: {warning}")
    trace = trace_of_run(run, events) | ({"map": map_report(run)} if run.ledger else {})
    if is_for_page or with_store:
        trace = store_with({**trace, "values": values_of(run, trace)})
    if is_for_page:
        from pflow.page.page import page_members

        trace |= page_members(run)
    return trace
