"""pflow trace: Show what each step of a run read, wrote and took.

RUN is a run's id or the beginning of one; `last` or `@1` is the newest run, `@2` the one before. Without RUN it traces
the store on stdin, or without stdin the last run. A run that is not over is shown as far as it got.

Of a map it shows how many items ended how, what each model took, the failures by exit code and message, ten at most,
each with the item to ask pflow why for, and the slowest items. pflow why RUN ITEM, and the ledger, have each item.

--otlp follows version 0.1.0 of OpenTelemetry's GenAI conventions, with no prompt and no answer: each call of a model is
a span inside its step's, and where a step or an item made several, the step's own span has their sums.

The exit code is 0, or that of the failed stage that printed the store.

\b
pflow run examples/words.pflow.json --pattern='examples/*.txt' -q
pflow trace last
cat examples/notes.txt | pflow-shell --command='wc -w' | pflow trace
pflow trace last --chrome >timeline.json
"""

import time

import click

from pflow.commands._click import color_option
from pflow.errors import BAD_DATA, USAGE, PflowError
from pflow.many.report import map_report, map_text
from pflow.plumbing._tool import take_store
from pflow.process.streams import is_readable, write_pieces
from pflow.record.runs import find_run
from pflow.record.trace import Trace, trace_of_document, trace_of_run, trace_text
from pflow.record.trace_formats import FORMATS
from pflow.terminal.columns import colour_of
from pflow.terminal.messages import say
from pflow.words.printable import clean_json


@click.command(help=__doc__)
@click.argument("run", required=False)
@click.option("--store", is_flag=True, help="Add the final store: keys, types, sizes; values too if it is piped.")
@click.option("--json", "form", flag_value="json", help="Print one JSON document: trace, snapshot and events.")
@click.option("--chrome", "form", flag_value="chrome", help="Print a timeline for Perfetto or chrome://tracing.")
@click.option("--otlp", "form", flag_value="otlp", help="Print OpenTelemetry spans, as lines of OTLP's JSON.")
@color_option
def command(run: str | None, store: bool, form: str | None, when: str) -> int:
    if store and form in ("chrome", "otlp"):
        raise PflowError(f"cannot take --store with --{form}", hint="--store goes with --json", exit=USAGE)
    if run is None and is_readable():
        trace, code = _from_stdin(store)
    else:
        trace, code = _from_run(run or "last"), 0
    if "map" in trace:
        if store or form in FORMATS.keys() - {"json"}:
            flag = "store" if store else form
            what = f"cannot take --{flag} for a map: a step of it has no times or values of its own"
            raise PflowError(what, hint="pflow trace RUN --json, or pflow why RUN ITEM", exit=USAGE)
        write_pieces(1, [map_text(trace["run"], trace["map"]).encode()] if form is None else [])
    if form is None:
        write_pieces(1, [trace_text(trace, now=time.time(), with_store=store, colour=colour_of(1, when))])
    else:
        written = FORMATS[form](trace, now=time.time(), with_store=store)
        write_pieces(1, [clean_json(str(written, "utf-8")).encode()])
    return code


def _from_stdin(store: bool) -> tuple[Trace, int]:
    intake = take_store({})
    if intake.kind == "raw":
        raise PflowError(
            "cannot trace stdin: it is not a store", hint="-j makes the last stage print one", exit=BAD_DATA
        )
    trace = trace_of_document(intake.document, with_store=store)
    return trace, int(trace["exit"])


def _from_run(word: str) -> Trace:
    run = find_run(word)
    events, warnings = run.events()
    for warning in warnings:
        say("pflow trace", f"warning: {warning}")
    return trace_of_run(run, events) | ({"map": map_report(run)} if run.ledger else {})
