"""pflow map: Run a flow once for each item of a stream.

FLOW is a saved flow, a file, pipe syntax or one node, in quotes. ITEMS are files or, in quotes, patterns of file names;
without them the items come through the pipe. The members of an object fill the flow's inputs of their names; anything
else goes where an item of a batch goes, and is $item, with $item_name, $item_stem and $item_dir, in the flow's
templates. A result is a line: the item's members, and what the flow carries or declares as outputs.

A map that was interrupted is named when it is typed again: a terminal asks if it goes on, a script begins a new one
unless it says --resume.

\b
pflow map 'read-file => shell "wc -w"' 'examples/notes/*' --jobs=2
seq 3 | pflow map 'template "number $item"' -r
"""

from typing import Any

import click

from pflow.commands._click import seconds
from pflow.driver.arguments import RunFlags
from pflow.driver.execution import pretend
from pflow.errors import OK, USAGE, PflowError
from pflow.files.reading import limit_input
from pflow.many.items import FORMS
from pflow.many.map import PROGRAM, Map
from pflow.many.options import Options
from pflow.process.signals import end_in_order
from pflow.process.streams import write_pieces
from pflow.stage.document import Document
from pflow.terminal.messages import say_error
from pflow.values.secrets import Secrets

_RUN_FLAGS = (
    *("timeout", "encoding", "cache", "refresh", "max_cost", "max_calls", "max_tokens_total", "max_visits"),
    *("quiet", "debug", "dry_run", "max_input"),
)


_COUNT = click.IntRange(min=1)
_RATE = click.FloatRange(min=0, min_open=True)


@click.command(help=__doc__, context_settings={"ignore_unknown_options": True})
@click.argument("flow", metavar="FLOW")
@click.argument("items", nargs=-1, type=click.UNPROCESSED, metavar="[ITEMS…]")
@click.option(
    "--from", "form", type=click.Choice(FORMS), help="How to read the items, or files: ITEMS are names of files."
)
@click.option("--allow-empty", is_flag=True, help="Take an empty pipe as no items; without it that is 66.")
@click.option("--encoding", metavar="CODEC[:HANDLER]", help="Decode items, and the files of steps, as this, not UTF-8.")
@click.option("--max-input", metavar="BYTES", help="Set the maximum size of the files of steps, and of unpacked items.")
@click.option("-j", "--jobs", type=click.IntRange(1, 10_000), metavar="N", help="Work on at most N items at once.")
@click.option(
    "--id", "id_field", default="", metavar="FIELD", help="Name each item by this member, not by its content."
)
@click.option("--ledger", default="", metavar="FILE", help="Keep the results in this SQLite file, and go on with it.")
@click.option(
    "--format",
    type=click.Choice(["jsonl", "csv", "record"]),
    default="jsonl",
    help="How to print the results; jsonl by default.",
)
@click.option("-r", "--raw", is_flag=True, help="Print only what the flow carries.")
@click.option("--escape-formulas", is_flag=True, help="In CSV put ' before what a spreadsheet may take for a formula.")
@click.option("-0", "nul", is_flag=True, help="End each result with NUL.")
@click.option("--order", type=click.Choice(["item", "done"]), default="item", help="Print the results in this order.")
@click.option("--errors", default="", metavar="FILE", help="Write the failed items to this file, as items again.")
@click.option("--halt", default="", metavar="soon|now[,fail=N|N%]", help="Stop after a failure, or after so many.")
@click.option("--limit", type=_COUNT, metavar="N", help="Take only the first N items.")
@click.option("--sample", type=_COUNT, metavar="N", help="Take only N items, at random.")
@click.option("--shard", default="", metavar="I/N", help="Take only the I-th of N shares of the items, from 1.")
@click.option("--rpm", type=_RATE, metavar="N", help="Make at most N calls of a model a minute.")
@click.option("--tpm", type=_RATE, metavar="N", help="Use at most N tokens of a model a minute.")
@click.option("--max-cost", metavar="USD", help="Stop (79) before a call that may spend more than this in all.")
@click.option("--max-calls", metavar="N", help="Stop (79) after this many calls of models.")
@click.option("--max-tokens-total", metavar="N", help="Stop (79) before a call that may use more tokens in all.")
@click.option(
    "--max-visits",
    metavar="N",
    help="Fail an item if a loop leads to a step more than N times (100, 20 if it asks a model).",
)
@click.option("--timeout", type=seconds, metavar="SECONDS", help="Give up an item after this time, with 124.")
@click.option("--max-memory", type=_COUNT, metavar="MB", help="Replace a worker that grows over this.")
@click.option("--cache", is_flag=True, help="Reuse results kept for the same values; equal items are asked once.")
@click.option("--refresh", is_flag=True, help="Run the cached steps again, and keep their results.")
@click.option("--redo", is_flag=True, help="Run items again that have begun a step that does not repeat.")
@click.option("--resume", is_flag=True, help="Go on with the same map if it was not finished, else begin one.")
@click.option("--failed", is_flag=True, help="Try the failed items of the ledger again, however often they were tried.")
@click.option(
    "--accept-changes", is_flag=True, help="Go on with a ledger even if its flow, nodes or flags were others."
)
@click.option("--estimate", is_flag=True, help="Count the tokens, say cost and time, and ask no model.")
@click.option(
    "--progress",
    type=click.Choice(["json", "none"]),
    help="Report the progress as JSON lines, at the start, each minute and at the end; or not at all.",
)
@click.option(
    "--executor", type=click.Choice(["local", "dask"]), default="local", help="Where the items are worked on."
)
@click.option("--scheduler", default="", metavar="ADDRESS", help="The scheduler of the dask cluster.")
@click.option("-q", "--quiet", is_flag=True, help="Print no results, which stay in the ledger, and no progress.")
@click.option("--dry-run", is_flag=True, help="Show what would be read and done, without doing it.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before a map that costs more than $1, or was interrupted.")
@click.option("--debug", is_flag=True, help="Show the traceback of a failure.")
def command(
    flow: str, items: tuple[str, ...], jobs: int | None, estimate: bool, resume: bool, yes: bool, accept_changes: bool,
    **chosen: Any,
) -> int:  # fmt: skip
    given = {name: value for name in _RUN_FLAGS if (value := chosen.pop(name)) not in (None, False)}
    flow_flags = [word for word in items if word.startswith("--")]
    if letters := [word for word in items if word[:1] == "-" != word and word not in flow_flags]:
        hint = (
            f"a flag of a step stands in the flow's quotes: 'llm Brief {letters[0]} …'; one of the flow is --NAME=VALUE"
        )
        raise PflowError(f"cannot take {letters[0]}", hint=hint, exit=USAGE)
    given_options = {name: value for name, value in chosen.items() if value is not None}
    options = Options(words=[word for word in items if word not in flow_flags], **given_options)
    secrets = Secrets()

    def fail(error: PflowError) -> int:
        say_error(PROGRAM, secrets.hide(error), debug="debug" in given)
        return error.exit

    def work() -> int:
        flags = RunFlags({name: [value if value is True else str(value)] for name, value in given.items()})
        vars(flags)["jobs"] = jobs
        limit_input(flags.max_input)
        each = Map.begin(flow, flow_flags, flags, options, secrets)
        each.asks_nothing, each.resumes, each.accepts_changes = yes, resume, accept_changes
        if flags.dry_run:
            pretend(each.inputs, Document())
        elif estimate:
            write_pieces(1, [f"{each.foresee().account()}\n".encode()])
        else:
            return each.run()
        return OK

    return end_in_order(work, fail)
