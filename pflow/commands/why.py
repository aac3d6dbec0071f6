"""pflow why: Explain why a cached step ran, or how an item of a map ended.

It says what changed in the step's key since an earlier run. RUN is a run's id or the beginning of one; `last` or `@1`
is the newest run, `@2` the one before. STEP is a step's name, `outer/inner` for a step of an inner flow, or `check@2`
for one visit. The earlier run is the newest one of the same flow that has the step.

Each run keeps the parts of its keys (pflow-node(7)): names, digests and sizes. A value is shown if the flow or the
run's snapshot has it, as with flags. Nothing is run, and no model is asked.

For a map, the word after RUN is an item: its id, the beginning of that, or its number (#17 or 17, from 1). pflow tells
how it ended, after how many tries, and what it took.

The exit code is 1 if the run has no such step, or caching was off for it.

\b
cat examples/notes.txt | pflow run 'shell "wc -w" --cache' -q
cat examples/notes.txt | pflow run 'shell "wc -l" --cache' -q
pflow why last shell
"""

from pflow.commands._command import Command
from pflow.errors import USAGE, PflowError
from pflow.help import spec as kinds
from pflow.interface.interface import TEXT, Flag, argument
from pflow.map.report import item_lines
from pflow.process.streams import write_pieces
from pflow.record.comparison import reasons
from pflow.record.runs import find_run
from pflow.text.printable import clean


@Command(
    __doc__,
    Flag("against", "compare with RUN, instead of the newest earlier run that has the step", type=TEXT, metavar="RUN"),
    argument("RUN", kinds.RUN, required=True),
    argument("STEP|ITEM", kinds.STEP, name="step", required=True),
)
def command(run: str, step: str, against: str | None) -> None:
    found = find_run(run)
    if found.ledger and against:
        raise PflowError("cannot take --against for an item of a map", hint="pflow why RUN ITEM", exit=USAGE)
    lines = item_lines(found, step) if found.ledger else reasons(found, step, find_run(against) if against else None)
    write_pieces(1, [f"{clean(line)}\n".encode() for line in lines])
