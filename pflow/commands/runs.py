"""pflow runs: the runs that there are, and how each ended."""

from __future__ import annotations

import time
from typing import Any

import click

from pflow.commands._click import color_option, print_json
from pflow.printable import clean
from pflow.process.streams import write_pieces
from pflow.run.runs import DONE, KILLED, RUNNING, Run, list_runs
from pflow.terminal.columns import Colour, colour_of, duration
from pflow.terminal.messages import say
from pflow.usage import Usage


@click.command
@click.option("-n", "limit", type=click.IntRange(min=0), metavar="N", help="Only the newest N.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@color_option
def command(limit: int | None, as_json: bool, when: str) -> int:
    """Print the runs of the driver, newest first: id, when, how long, how it ended, the flow's name.

    A run that failed is shown with its exit code; one without an end is running or was killed. Of a killed one `>75 ms`
    is the time up to its last event (`ms` of --json): how long it went on after that is not known. `failed items: 3`
    are those that a batch went on without. A run that asked models is shown with what they cost, and with `usage`
    in --json: calls, tokens, cost, and as `unpriced` the calls whose cost is not known.

    \b
    pflow run examples/words.pflow.json --pattern='examples/*.txt' -q
    pflow runs -n 5
    pflow runs --json | jq -r '.[] | select(.status == "failed") | .run'
    """
    runs = list_runs(limit)
    if as_json:
        print_json([_members(run) for run in runs])
        return 0
    if not runs and limit != 0:
        say("pflow runs", "there are no runs yet")
    colour = colour_of(1, when)
    write_pieces(1, [_line(run, colour).encode() for run in runs])
    return 0


def _members(run: Run) -> dict[str, Any]:
    about = {"run": run.id, "name": run.name, "status": run.status, "exit": run.exit, "failed_items": run.failed_items}
    return {**about, "usage": run.usage, "began": run.begun, "ms": run.ms, "directory": run.directory}


def _line(run: Run, colour: Colour) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.begun))
    took = (">" * (run.status == KILLED)) + duration((time.time() - run.begun) * 1000 if run.ms is None else run.ms)
    status = f"{run.status} {run.exit}" if run.exit else run.status
    paint = {DONE: colour.good, RUNNING: colour.warning}.get(run.status, colour.fault)
    gap = " " * (10 - len(status))
    lost = f"  {colour.warning(f'failed items: {run.failed_items}')}" if run.failed_items else ""
    usage = Usage()
    usage.add(run.usage)
    price = f"  {usage.price()}" if usage.calls else ""
    line = f"{colour.name(run.id)}  {when}  {took:>9}  {paint(status)}{gap}  {clean(run.name)}{price}{lost}"
    return line.rstrip() + "\n"
