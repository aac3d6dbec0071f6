"""pflow runs: the runs that there are, how each ended, and what to type next."""

from __future__ import annotations

import datetime
import re
import shlex
import time
from typing import Any

import click

from pflow.commands._click import color_option, print_json
from pflow.process.streams import write_pieces
from pflow.record.runs import DONE, FAILED, KILLED, RUNNING, Run, list_runs
from pflow.terminal.columns import Colour, colour_of, duration
from pflow.terminal.messages import say
from pflow.words.printable import clean
from pflow.words.usage import Usage

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def moment(text: str) -> float:
    """A moment, in seconds: how long ago it is (2d, 3h, 90m), or its date, with a time where one is wanted."""
    if ago := re.fullmatch(r"(\d{1,9})([smhdw])", text, re.ASCII):
        return time.time() - int(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise click.UsageError(f"'{text}' is no moment: 2d, 3h, 90m or a date, 2026-11-22") from None


@click.command
@click.option("-n", "limit", type=click.IntRange(min=0), metavar="N", help="Only the newest N.")
@click.option("--failed", is_flag=True, help="Only those that failed or were killed.")
@click.option("--flow", "name", metavar="FLOW", help="Only those of the flow of this name.")
@click.option("--since", type=moment, metavar="WHEN", help="Only those that began since: 2d, 3h, 90m ago, or a date.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@color_option
def command(
    limit: int | None, failed: bool, name: str | None, since: float | None, as_json: bool, when: str
) -> int:  # fmt: skip
    """Print the runs of the driver, newest first: id, when, how long, how it ended, how far it came, the flow's name.

    A run that failed is shown with its exit code; one without an end is running or was killed. Of a killed one `>75 ms`
    is the time up to its last event (`ms` of --json): how long it went on after that is not known. `2/3` are the steps
    that were done, and all that the flow has: a loop runs some again, an edge passes others by. `failed items: 3` are
    those that a batch went on without. A run that asked models is shown with what they cost, and with `usage` in
    --json: calls, tokens, cost, and as `unpriced` the calls whose cost is not known. What can be typed next stands at
    the end of the line, and in `next` of --json: pflow resume to go on with the run, pflow why for a step of it that
    was not in the cache.

    \b
    pflow run examples/words.pflow.json --pattern='examples/*.txt' -q
    pflow runs -n 5
    pflow runs --failed --since=2d
    pflow runs --json | jq -r '.[] | select(.status == "failed") | .run'
    """

    def is_wanted(run: Run) -> bool:
        return (name is None or run.name == name) and (not failed or run.status in (FAILED, KILLED))

    runs = list_runs(limit, since=since or 0.0, is_wanted=is_wanted)
    if as_json:
        print_json([_members(run) for run in runs])
        return 0
    if not runs and limit != 0:
        is_filtered = failed or name is not None or since is not None
        say("pflow runs", "there are no such runs" if is_filtered else "there are no runs yet")
    colour = colour_of(1, when)
    write_pieces(1, [_line(run, colour).encode() for run in runs])
    return 0


def _next(run: Run) -> list[str]:
    """The commands that go on with a run, or tell of it what no other does."""
    why = [f"pflow why {run.id} {shlex.quote(run.missed)}"] if run.missed else []
    return [f"pflow resume {run.id}", *why] if run.is_resumable else why


def _members(run: Run) -> dict[str, Any]:
    about: dict[str, Any] = {"run": run.id, "name": run.name, "status": run.status, "exit": run.exit}
    about |= {"steps": run.steps, "steps_done": run.steps_done, "failed_items": run.failed_items, "usage": run.usage}
    return {**about, "began": run.begun, "ms": run.ms, "next": _next(run), "directory": run.directory}


def _line(run: Run, colour: Colour) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.begun))
    took = (">" * (run.status == KILLED)) + duration((time.time() - run.begun) * 1000 if run.ms is None else run.ms)
    status = f"{run.status} {run.exit}" if run.exit else run.status
    paint = {DONE: colour.good, RUNNING: colour.warning}.get(run.status, colour.fault)
    gap = " " * (10 - len(status))
    usage = Usage()
    usage.add(run.usage)
    facts = [
        f"{colour.name(run.id)}  {when}  {took:>9}  {paint(status)}{gap}  {f'{run.steps_done}/{run.steps}':>5}",
        clean(run.name),
        usage.price() if usage.calls else "",
        colour.warning(f"failed items: {run.failed_items}") if run.failed_items else "",
        *map(clean, _next(run)[:1]),
    ]
    return "  ".join(filter(None, facts)) + "\n"
