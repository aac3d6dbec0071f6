"""pflow why: what changed that made a cached step run, or not."""

from __future__ import annotations

import click

from pflow.process.streams import write_pieces
from pflow.record.runs import find_run
from pflow.record.why import explain
from pflow.words.printable import clean


@click.command
@click.argument("run")
@click.argument("step")
@click.option(
    "--against", metavar="RUN", help="Compare with RUN, and not with the newest earlier one that has the step."
)
def command(run: str, step: str, against: str | None) -> int:
    """Print why a step of a run was taken from the cache, or why not: what of its key changed since an earlier run.

    RUN is a run's id or how it begins, or `last`, which is `@1`, or `@2`, the one before. STEP is a step's name, that
    of one in a flow of the flow `outer/inner`, or one visit of it, `check@2`. The earlier run is the newest of the same
    flow that has the step.

    What a key is made of is kept with each run (pflow-node(7)): names, digests and sizes. A value is shown where it
    stands in the flow or in the run's snapshot, as flags do. Nothing is run or asked for it.

    The exit code is 1 where nothing is known of the step: it was not to be cached.

    \b
    cat examples/notes.txt | pflow run 'shell "wc -w" --cache' -q
    cat examples/notes.txt | pflow run 'shell "wc -l" --cache' -q
    pflow why last shell
    """
    lines = explain(find_run(run), step, find_run(against) if against else None)
    write_pieces(1, [f"{clean(line)}\n".encode() for line in lines])
    return 0
