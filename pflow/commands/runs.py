"""pflow runs: List the runs, how each ended, and what to type next.

A line, newest first, has a run's id, begin, duration, status, steps done, and the flow's name. A failed run is shown
with its exit code. A run without an end is running or was killed. For a killed run, `>75 ms` is the time up to its last
event (`ms` in --json), since the moment of the kill is not known. `2/3` means that 2 of the flow's 3 steps were done; a
loop repeats steps, and an edge can skip some. `failed items: 3` is the number of items that a batch went on without. A
map is shown with its items, `142,310/1,000,000  3 failed`; `items` in --json has total, done, failed and left. A run
that asked models is shown with their cost. --json has their `usage`: calls, tokens, cost, and in `unpriced` the calls
whose cost is not known. `damaged` names the files of a run that cannot be read. The end of the line, and `next` in
--json, say what to type next: pflow resume to continue the run, or pflow why for a step that was not in the cache.
--html makes a page of the list: on a terminal runs.html, into a pipe the page itself.

\b
pflow run examples/words.pflow.json --pattern='examples/*.txt' -q
pflow runs -n 5
pflow runs --failed --since=2d
pflow runs --json | jq -r '.[] | select(.status == "failed") | .run'
"""

import datetime
import re
import time
from typing import Any

from pflow.commands._command import COLOR, HTML, OUTPUT, Command
from pflow.commands._output import json_line, write_page, write_result
from pflow.errors import USAGE, PflowError
from pflow.interface.interface import COUNT, TEXT, Flag
from pflow.record.runs import DONE, FAILED, FINISHED, KILLED, RUNNING, RecordedRun, list_runs
from pflow.terminal.columns import Colour, colour_of, duration
from pflow.terminal.messages import say
from pflow.text.printable import clean
from pflow.values.usage import Usage

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def moment(text: str) -> float:
    """Return the time, in seconds, of an age (2d, 3h, 90m), a date or a date with a time. Raises PflowError (2)."""
    if ago := re.fullmatch(r"(\d{1,9})([smhdw])", text, re.ASCII):
        return time.time() - int(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        what = f"cannot list runs: --since takes a date or an age (2026-01-31, 3d), not '{text}'"
        raise PflowError(what, hint="pflow runs --help", exit=USAGE) from None


@Command(
    __doc__,
    Flag("most", "list only the newest N runs", letter="n", type=COUNT, metavar="N", least=0),
    Flag("failed", "list only runs that failed, also in some items, or were killed"),
    Flag("flow", "list only runs of this flow", type=TEXT, metavar="FLOW"),
    Flag("since", "list only runs that began since a date or an age (2d, 3h)", type=TEXT, metavar="WHEN"),
    Flag("json", "print a JSON list"),
    HTML,
    OUTPUT,
    COLOR,
)
def command(
    most: int | None, failed: bool, flow: str | None, since: str | None, json: bool, html: str | bool,
    output: str | None, color: str,
) -> None:  # fmt: skip

    def is_wanted(run: RecordedRun) -> bool:
        return flow in (None, run.name) and (not failed or run.status in (FAILED, FINISHED, KILLED))

    runs = list_runs(most, since=0.0 if since is None else moment(since), is_wanted=is_wanted)
    if html is not False:
        from pflow.page.page import runs_page

        write_page(runs_page(runs, now=time.time()), html, output, "runs.html")
        return
    if json:
        write_result(output, json_line([_members(run) for run in runs]))
        return
    if not runs and most != 0:
        is_filtered = failed or flow is not None or since is not None
        say("pflow runs", "no run matches" if is_filtered else "there are no runs yet")
    colour = colour_of(1, "never" if output else color)
    write_result(output, b"".join(_line(run, colour).encode() for run in runs))


def _members(run: RecordedRun) -> dict[str, Any]:
    about: dict[str, Any] = {"run": run.id, "name": run.name, "status": run.status, "exit": run.exit}
    about |= {"steps": run.steps, "steps_done": run.steps_done, "failed_items": run.failed_items, "usage": run.usage}
    about |= {"items": run.items} if run.ledger else {}
    about |= {"damaged": run.damaged} if run.damaged else {}
    return {**about, "began": run.begun, "ms": run.ms, "next": run.next_commands(), "directory": run.directory}


def _line(run: RecordedRun, colour: Colour) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.begun))
    took = (">" * (run.status == KILLED)) + duration((time.time() - run.begun) * 1000 if run.ms is None else run.ms)
    status = f"{run.status.partition(' ')[0]} {run.exit}" if run.exit else run.status
    paint = {DONE: colour.good, RUNNING: colour.warning}.get(run.status, colour.fault)
    gap = " " * (10 - len(status))
    usage = Usage(run.usage)
    done, *failed = run.progress()
    facts = [
        f"{colour.name(run.id)}  {when}  {took:>9}  {paint(status)}{gap}  {done:>5}",
        *map(colour.warning, failed),
        clean(run.name),
        usage.price() if usage.calls else "",
        colour.warning(run.status) if run.status == FINISHED else "",
        colour.warning(f"failed items: {run.failed_items}") if run.failed_items and not failed else "",
        colour.fault(f"damaged: {', '.join(run.damaged)}") if run.damaged else "",
        *map(clean, run.next_commands()[:1]),
    ]
    return "  ".join(filter(None, facts)) + "\n"
