"""pflow merge: Unite the ledgers of a map's shards.

Each LEDGER is a file that pflow map --ledger=LEDGER wrote; it is only read. If several of them have an item, the try
that succeeded first is kept. What models took is added up, once for each ledger, however often it is merged. stderr
says how many items are done, failed, or in none of the ledgers, such as those of a missing shard. pflow map
--ledger=FILE then prints the results, and runs the items that are not done.

The exit code is 0 if all items are done, else 1; 78 if the ledgers are not of one map, and then FILE is left unchanged.

\b
for I in 1 2; do
pflow map 'shell "wc -w"' examples/notes.txt --shard=$I/2 --ledger=$I.db >/dev/null
done
pflow merge 1.db 2.db -o all.db
"""

from pflow.commands._command import OUTPUT, Command, own
from pflow.errors import FAILED, OK
from pflow.help.spec import FILE
from pflow.interface.interface import PATHS, UNDECLARED, argument
from pflow.map.ledger import DONE, merge
from pflow.terminal.messages import say


@Command(
    __doc__,
    own(OUTPUT, "write to FILE, which is new or a ledger of the map", default=UNDECLARED),
    argument("LEDGER…", FILE, name="ledgers", type=PATHS, required=True),
)
def command(ledgers: list[str], output: str) -> int:
    counts = merge(ledgers, output)
    say("pflow merge", ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "no items")
    return FAILED if {*counts} - {DONE} else OK
