"""pflow trace: what each step of a run read, wrote and took."""

from __future__ import annotations

import time

import click

from pflow.commands._click import color_option
from pflow.errors import BAD_DATA, USAGE, PflowError
from pflow.plumbing._tool import take_store
from pflow.process.streams import is_readable, write_pieces
from pflow.record.runs import find_run
from pflow.record.trace import Trace, trace_of_document, trace_of_run, trace_text
from pflow.record.trace_formats import FORMATS
from pflow.terminal.columns import colour_of
from pflow.terminal.messages import say
from pflow.words.printable import clean_json


@click.command
@click.argument("run", required=False)
@click.option("--store", is_flag=True, help="Add the final store: keys, types and sizes; a piped one's values too.")
@click.option("--json", "form", flag_value="json", help="Print one JSON document: trace, snapshot and events.")
@click.option("--chrome", "form", flag_value="chrome", help="Print a timeline for Perfetto or chrome://tracing.")
@click.option("--otlp", "form", flag_value="otlp", help="Print OpenTelemetry spans, as lines of OTLP's JSON.")
@color_option
def command(run: str | None, store: bool, form: str | None, when: str) -> int:
    """Print the trace of a run: each step, what it read from where, what it wrote, how long it took.

    RUN is a run's id or how it begins, or `last`, which is `@1`, or `@2`, the one before. Without it, the trace is that
    of the store on stdin, or where there is none, of the last run. One that still goes on is shown as far as it is.

    The exit code is 0; for a store that a failed stage printed, it is that stage's.

    \b
    pflow run examples/words.pflow.json --pattern='examples/*.txt' -q
    pflow trace last
    cat examples/notes.txt | pflow-shell --command='wc -w' | pflow trace
    pflow trace last --chrome >timeline.json
    """
    if store and form in ("chrome", "otlp"):
        raise PflowError(f"cannot put the store into --{form}", hint="--json has room for it", exit=USAGE)
    if run is None and is_readable():
        trace, code = _from_stdin(store)
    else:
        trace, code = _from_run(run or "last"), 0
    if form is None:
        write_pieces(1, [trace_text(trace, now=time.time(), with_store=store, colour=colour_of(1, when))])
    else:
        written = FORMATS[form](trace, now=time.time(), with_store=store)
        write_pieces(1, [clean_json(str(written, "utf-8")).encode()])
    return code


def _from_stdin(store: bool) -> tuple[Trace, int]:
    intake = take_store()
    if intake.kind == "raw":
        raise PflowError("cannot trace stdin: it is no store", hint="-j makes a last stage print one", exit=BAD_DATA)
    trace = trace_of_document(intake.document, with_store=store)
    return trace, int(trace["exit"])


def _from_run(word: str) -> Trace:
    run = find_run(word)
    events, warnings = run.events()
    for warning in warnings:
        say("pflow trace", f"warning: {warning}")
    return trace_of_run(run, events)
