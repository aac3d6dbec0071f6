"""The listeners that get the events of a run: its log, the progress on a terminal, -v, and PFLOW_TRACE."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any
from pflow.driver.arguments import PROGRAM, RunFlags
from pflow.driver.initial_state import InitialState
from pflow.engine.context import StepFailed
from pflow.errors import BUG, CLOSED_PIPE, FAILED, OK, PflowError
from pflow.process.signals import ClosedPipe, Interrupted
from pflow.record.log import EVENTS, KEYS, RunLog
from pflow.record.snapshot import Snapshot, own_params
from pflow.stage.document import new_run_id
from pflow.stage.trace import enter_span, write_line
from pflow.terminal.messages import clear_line, say
from pflow.text.printable import encodable
from pflow.values.jsontext import decode
from pflow.values.usage import Usage

if TYPE_CHECKING:
    from pflow.driver.earlier_run import Reopened
    from pflow.driver.progress import LogProgress

_KEY = b'{"v":1,"event":"key"'
"""The first bytes of an event that only `pflow why` reads; such events go to a file of their own."""


class Listeners:
    """The log of a run and whatever else listens; `write` takes the events, each a line."""

    def __init__(self, initial: InitialState, flags: RunFlags, reopened: Reopened | None = None) -> None:
        """A run that is `reopened` has its log already. Raises PflowError (73, 78) if the journal cannot be kept."""
        self.run_id = run_id = reopened.run.id if reopened else new_run_id()
        self.flags = flags
        self.wired = initial.wired
        self.snapshot = initial.snapshot
        self.batches: dict[tuple[str, Any], dict[str, Any]] = {}
        """The counts of items of each visit of a batch, in its last try; `untaken` are failures that no step reads."""
        self.last: dict[str, dict[str, Any]] = {}
        """The last start or end of each step."""
        self.usage = Usage()
        self.warnings: dict[str, None] = {}
        document = initial.intake.document
        parent = document.header.get("traceparent") or os.environ.get("TRACEPARENT")
        enter_span(document)
        spans = {"traceparent": document.header.get("traceparent"), "parent": parent}
        about = {name: span for name, span in spans.items() if span}
        self.log = self._resume_log(reopened) if reopened else open_log(initial, run_id, flags, about, {})
        self.progress: LogProgress | None = None
        self.is_drawn = os.isatty(2) and os.environ.get("TERM", "") not in ("", "dumb")
        self.is_traced = os.environ.get("PFLOW_TRACE", "0") not in ("", "0")

    def _resume_log(self, reopened: Reopened) -> RunLog:
        """Reopen the log of a run, and count its events so far."""
        before = Snapshot.of(reopened.run)  # only this one separates flags from the flow's own values
        if before is not None:  # if it is lost, the journal is enough
            before.flow_hash, before.place = self.snapshot.flow_hash, self.snapshot.place  # the bounds are in `place`
            self.snapshot = before
        for chosen in reopened.models:
            self.snapshot.override(*chosen)
        for event in reopened.events:
            self._count(event)
        reopened.commit()
        reopened.log.write_snapshot(self.snapshot.as_json())
        return reopened.log

    def write(self, line: bytes) -> None:
        is_key = line.startswith(_KEY)
        if self.log is not None:
            self.log.write_line(line, KEYS if is_key else EVENTS)
        if is_key:
            return
        if self.is_traced:
            write_line(PROGRAM, line)
        event = decode(line)
        self._count(event)
        if event["event"] in ("start", "end"):
            self.last[event["step"]] = event
        if not self.flags.quiet:
            self._show(event)
        if self.flags.verbose and event["event"] == "end":
            say_places(event)
        if model := event.get("model") or event.get("cache", {}).get("model"):
            self._note_model(event["step"], model)

    def _count(self, event: dict[str, Any]) -> None:
        self.usage.add_event(event)
        if "warning" in event:
            self.warnings[f"{event['step']}: {event['warning']}"] = None
        if "exit" not in event and "items" in event:
            items = event["items"]
            self.batches[event["step"], items.get("at") or event.get("visit", 1)] = items

    @property
    def failures(self) -> int:
        return sum(items.get("untaken", 0) for items in self.batches.values())

    def _show(self, event: dict[str, Any]) -> None:
        if self.progress is None and (self.is_drawn or event["event"] == "batch"):
            from pflow.driver.progress import LogProgress, Progress

            self.progress = Progress() if self.is_drawn else LogProgress()
        if self.progress is not None:
            self.progress.show(event)

    def _note_model(self, path: str, model: str) -> None:
        """Note the model that was chosen for a step, as an override: otherwise a replay might choose another one."""
        id, *inner = path.split("/")
        step, name = self.wired.steps.get(id), ".".join([*inner, "model"])
        if step is None or name in {**step.params, **self.snapshot.config_overrides.get(id, {})}:
            return
        if name not in dict(own_params(step)):
            return
        self.snapshot.override(id, name, model)
        if self.log is not None:
            self.log.write_snapshot(self.snapshot.as_json())
            if self.log.journal is not None:
                self.log.journal.write({"model": [id, name, model]})

    def say_failures(self) -> None:
        """Report the failed items that no step reads."""
        if self.failures:
            again = self.log is not None and self.log.journal is not None
            hint = f"; pflow resume {self.run_id} --failed runs what failed" if again else ""
            count = f"{self.failures} items" if self.failures > 1 else "an item"
            say(PROGRAM, f"finished with failures: {count} failed{hint}")

    def finish(self, error: BaseException | None, store: dict[str, Any]) -> None:
        """End the run with its final `store`; `error` is the error that ended it early, if any."""
        clear_line()
        if self.flags.verbose and self.usage.calls:
            say(PROGRAM, f"used {', '.join(self.usage.words())}")
        if self.log is None:
            return
        name = self.wired.flow.name or "flow"
        where = self._cut_step(error) if isinstance(error, Interrupted) else None
        code, about = end_of(error, *where or (name, name)) if error else (FAILED if self.failures else OK, None)
        failed_items = sum(items["failed"] for items in self.batches.values())
        if self.log.finish(code, about, store, failed_items, self.usage.total(), is_kept=self.flags.keep_store):
            from pflow.record.runs import prune

            prune(os.path.dirname(self.log.directory))

    def _cut_step(self, error: Interrupted) -> tuple[str, str] | None:
        """Return the innermost step that was interrupted, and its node; None if there are several, as in branches."""
        cut = {
            step: event["node"]
            for step, event in self.last.items()
            if event["event"] == "start" or event.get("message") == error.message
        }
        inner = [step for step in cut if not any(each.startswith(f"{step}/") for each in cut)]
        return (inner[0], cut[inner[0]]) if len(inner) == 1 else None


def open_log(
    initial: InitialState, run_id: str, flags: RunFlags, about: dict[str, Any], more: dict[str, Any]
) -> RunLog | None:  # fmt: skip
    """Begin the log of a run and its journal: `about` is for the first event, `more` for the journal's first record.

    Raises PflowError (73, 78) if the journal cannot be kept.
    """
    wired, snapshot = initial.wired, initial.snapshot
    about |= {"name": wired.flow.name or "flow", "flow_hash": snapshot.flow_hash, "steps": len(wired.steps)}
    log = RunLog.open(run_id, initial.flow_text(), about, is_needed=not flags.no_journal)
    if log is not None:
        log.write_snapshot(snapshot.as_json())
        if not flags.no_journal:
            log.open_journal(initial.secrets, {**initial.record(flags), **more})
    return log


def end_of(error: BaseException, name: str, node: str) -> tuple[int, dict[str, Any] | None]:
    """Return the exit code of a run that an error ended, and the members about the error for its last event."""
    if isinstance(error, Interrupted):
        error = error.as_error()
    if not isinstance(error, PflowError):
        return CLOSED_PIPE if isinstance(error, ClosedPipe) else BUG, None
    step, node = (error.step, error.node) if isinstance(error, StepFailed) else (name, node)
    about = {"step": step, "node": node, "exit": error.exit, "message": encodable(error.message)}
    return error.exit, about | ({"hint": encodable(error.hint)} if error.hint else {})


def say_places(event: dict[str, Any]) -> None:
    """Print, for -v, the sources of a step's values, the places of its writes, and if they were cached."""
    if event.get("cache", {}).get("verdict") == "hit":
        say(PROGRAM, f"{event['step']} is taken from the cache")
    for key, places in event.get("reads", {}).items():
        say(PROGRAM, f"{event['step']} reads {key} from {', '.join(places) or 'the flow itself'}")
    for key, places in event.get("writes", {}).items():
        say(PROGRAM, f"{event['step']} writes {key} to {', '.join(places)}")
