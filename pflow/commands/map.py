"""pflow map: Run a flow once for each item of a stream.

FLOW is a saved flow, a file, pipe syntax or one node, in quotes. ITEMS are files or, in quotes, patterns of file names;
without them the items come through the pipe. The members of an object fill the flow's inputs of the same names. Any
other item fills the read that an item of a batch would fill, and is $item in the flow's templates, with $item_name,
$item_stem and $item_dir. A result is a line: the item's members, and what the flow carries or declares as outputs.

If you type the command of an interrupted map again, a terminal asks whether to continue it; a script begins a new map
unless it has --resume.

\b
pflow map 'read-file => shell "wc -w"' 'examples/notes/*' --jobs=2
seq 3 | pflow map 'template "number $item"' -r
"""

from typing import Any

from pflow.catalog.confinement import set_free
from pflow.commands._command import Command, own
from pflow.driver.arguments import RunFlags
from pflow.driver.execution import pretend
from pflow.errors import OK, USAGE, PflowError
from pflow.files.reading import limit_input
from pflow.help.spec import FILE, FLOW
from pflow.interface.common import COMMON, RUN_FLAGS
from pflow.interface.interface import COUNT, NUMBER, PATH, PATHS, TEXT, Flag, argument, choice
from pflow.map.execution import MapExecution, in_order
from pflow.map.items import FORMS
from pflow.map.map import PROGRAM, Map, MapOptions
from pflow.map.rows import MapOutput
from pflow.stage.document import Document
from pflow.values.secrets import Secrets

_CALLS = "stop (79) after this many calls of models"
_COST = "stop (79) before a call that may spend more than this in all"
_TOKENS = "stop (79) before a call that may use more tokens in all"
_VISITS = "fail an item if a loop leads to a step more than N times (100, 20 if it asks a model)"


@Command(
    __doc__,
    Flag("from", "how to read the items, or files: ITEMS are names of files", type=choice(*FORMS), default=""),
    own(COMMON["no_stdin"], "do not read stdin: the items are those of ITEMS"),
    own(COMMON["allow_empty"], "take an empty pipe as no items; without it that is 66"),
    own(COMMON["encoding"], "decode items, and the files of steps, as this, not UTF-8"),
    own(COMMON["max_input"], "set the maximum size of the files of steps, and of unpacked items"),
    own(RUN_FLAGS["jobs"], "work on at most N items at once", letter="j", most=10_000),
    Flag("id", "name each item by this member, not by its content", type=TEXT, default="", metavar="FIELD"),
    Flag("ledger", "keep the results in this SQLite file, and go on with it", type=PATH, default="", metavar="FILE"),
    Flag(
        "format", "how to print the results; jsonl by default", type=choice("jsonl", "csv", "record"), default="jsonl"
    ),
    own(COMMON["raw"], "print only what the flow carries"),
    Flag("escape_formulas", "in CSV put ' before what a spreadsheet may take for a formula"),
    Flag("null", "end each result with NUL", letter="0"),
    Flag("order", "print the results in this order", type=choice("item", "done"), default="item"),
    Flag("errors", "write the failed items to this file, as items again", type=PATH, default="", metavar="FILE"),
    Flag("halt", "stop after a failure, or after so many", type=TEXT, default="", metavar="soon|now[,fail=N|N%]"),
    Flag("limit", "take only the first N items", type=COUNT, metavar="N", least=1),
    Flag("sample", "take only N items, at random", type=COUNT, metavar="N", least=1),
    Flag("shard", "take only the I-th of N shares of the items, from 1", type=TEXT, default="", metavar="I/N"),
    Flag("rpm", "make at most N calls of a model a minute", type=NUMBER, metavar="N", least=0.001),
    Flag("tpm", "use at most N tokens of a model a minute", type=NUMBER, metavar="N", least=0.001),
    own(RUN_FLAGS["max_cost"], _COST),
    own(RUN_FLAGS["max_calls"], _CALLS),
    own(RUN_FLAGS["max_tokens_total"], _TOKENS),
    own(RUN_FLAGS["max_visits"], _VISITS),
    own(COMMON["timeout"], "give up an item after this time, with 124"),
    Flag("max_memory", "replace a worker that grows over this", type=COUNT, metavar="MB", least=1),
    own(COMMON["cache"], "reuse results kept for the same values; equal items are asked once", word="", metavar=""),
    own(RUN_FLAGS["refresh"], "run the cached steps again, and keep their results", word="", metavar=""),
    Flag("redo", "run items again that have begun a step that does not repeat"),
    own(RUN_FLAGS["resume"], "go on with the same map if it was not finished, else begin one"),
    Flag("failed", "try the failed items of the ledger again, however often they were tried"),
    Flag("accept_changes", "go on with a ledger even if its flow, nodes or flags were others"),
    Flag("estimate", "count the tokens, say cost and time, and ask no model"),
    Flag(
        "progress",
        "report the progress as JSON lines, at the start, each minute and at the end; or not at all",
        type=choice("json", "none"),
        default="",
    ),
    Flag("executor", "where the items are worked on", type=choice("local", "dask"), default="local"),
    Flag("scheduler", "the scheduler of the dask cluster", type=TEXT, default="", metavar="ADDRESS"),
    own(COMMON["quiet"], "print no results, which stay in the ledger, and no progress"),
    own(COMMON["dry_run"]),
    Flag("yes", "do not ask before a map that costs more than $1, or was interrupted", letter="y"),
    own(COMMON["unconfined"]),
    own(COMMON["debug"]),
    argument("FLOW", FLOW, required=True),
    argument("[ITEMS…]", FILE, name="items", type=PATHS),
    others="flow_flags",
    of_run=True,
)
def command(
    flow: str, items: list[str], flow_flags: list[str], flags: RunFlags, estimate: bool, yes: bool,
    accept_changes: bool, from_: str, null: bool, id: str, **chosen: Any,
) -> int:  # fmt: skip
    if flags.no_stdin and (not items or "-" in items):
        raise PflowError("cannot take -n: the items come from stdin", hint="pflow map FLOW FILE -n", exit=USAGE)
    options = MapOptions(
        words=items,
        form=from_,
        nul=null,
        id_field=id,
        raw=bool(flags.raw),
        allow_empty=bool(flags.allow_empty),
        **chosen,
    )

    def work(secrets: Secrets, output: MapOutput) -> int:
        limit_input(flags.max_input)
        set_free(flags.unconfined)
        about = {"asks_nothing": yes, "resumes": bool(flags.resume), "accepts_changes": accept_changes}
        each = Map.begin(flow, flow_flags, flags, options, secrets, **about)
        if flags.dry_run:
            # An empty pipe, or the error of an earlier stage, ends a dry run too.
            each.chosen.first()
            pretend(each.inputs, Document())
        elif estimate:
            output.write([f"{each.foresee().account()}\n".encode()])
        else:
            return MapExecution(each, output).run()
        each.items.check_end()
        return OK

    return in_order(PROGRAM, work, flags)
