"""Who hears of a run's events: its log, a person at a terminal, -v, and PFLOW_TRACE."""

from __future__ import annotations

import os

from pflow.jsontext import decode
from pflow.run.failure import StepFailed
from pflow.run.record import Recorder
from pflow.stage.step import enter_span
from pflow.terminal.columns import encodable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.errors import PflowError
    from pflow.flow.wired import WiredFlow
    from pflow.run.log import RunLog
    from pflow.run.progress import Progress
    from pflow.run.snapshot import Snapshot
    from pflow.run.words import RunFlags
    from pflow.stage.document import Document

PROGRAM = "pflow run"


class Listeners:
    """Begins the log of a run and whatever else listens. `recorder` makes the events."""

    def __init__(self, plan: WiredFlow, run_id: str, name: str, flags: RunFlags, document: Document) -> None:
        self.plan = plan
        self.run_id = run_id
        self.name = name
        self.document = document
        self.log: RunLog | None = None
        self.progress: Progress | None = None
        self.takers: list[Callable[[bytes], None]] = []
        self.flags = flags
        self.recorder: Recorder | None = None
        self.has_chosen = False

    def begin(self, snapshot: Snapshot, end_line: Callable[[], None]) -> None:
        """`end_line` is called before something is said to a person."""
        parent = self.document.header.get("traceparent") or os.environ.get("TRACEPARENT")
        enter_span(self.document)
        self._open_log(snapshot, parent)
        self._add_person(end_line)
        if os.environ.get("PFLOW_TRACE", "0") not in ("", "0"):
            from pflow.stage.events import write_lines

            self.takers.append(lambda lines: write_lines(PROGRAM, lines))
        # Also where nobody listens: a step that is watched is held to its interface, and no run is to be laxer.
        self.recorder = Recorder(self.takers[0] if len(self.takers) == 1 else self._take)

    def _take(self, lines: bytes) -> None:
        for each in self.takers:
            each(lines)

    def _open_log(self, snapshot: Snapshot, parent: str | None) -> None:
        from pflow.run.log import RunLog, runs_directory

        if runs_directory() is None:
            return
        from pflow.flow.hash import flow_hash

        digest = flow_hash(self.plan)
        span = self.document.header.get("traceparent")
        steps = len(self.plan.steps)
        self.log = RunLog.open(self.run_id, self.name, self._flow_text, digest, steps, traceparent=span, parent=parent)
        if self.log is None:
            return
        self.digest = digest
        self.snapshot = snapshot
        self.log.write_snapshot(snapshot.as_json(digest))
        self.takers += [self.log.line, self._note_model]

    def _note_model(self, lines: bytes) -> None:
        """The model that was chosen for a step is an override: another day it could be another."""
        if b'"model":"' not in lines:
            return
        for line in lines.splitlines():
            event: Any = decode(line)
            if event["event"] == "end" and "model" in event:
                outer, _, inner = event["step"].partition("/")
                wired = self.plan.steps.get(outer)
                if not inner and wired is not None and "model" not in {**wired.params, **self._overridden(outer)}:
                    self.snapshot.override(outer, "model", event["model"])
                    self.has_chosen = True

    def _overridden(self, step: str) -> dict[str, Any]:
        return self.snapshot.config_overrides.get(step, {})

    def _flow_text(self) -> bytes:
        from pflow.flow.unload import flow_to_ir
        from pflow.jsontext import encode

        return encode(flow_to_ir(self.plan.flow)) + b"\n"

    def _add_person(self, end_line: Callable[[], None]) -> None:
        from pflow.run.progress import Progress, say_places, wants_progress

        if wants_progress(quiet=self.flags.quiet):
            self.progress = Progress(end_line)
            self.takers.append(self.progress.take)
        if self.flags.verbose:
            self.takers.append(say_places)

    def clear(self) -> None:
        """Before something else is shown on the terminal."""
        if self.progress is not None:
            self.progress.finish()

    def finish(self, code: int, error: PflowError | None, store: dict[str, Any]) -> None:
        """The end of the run: `store` is its final one."""
        if self.recorder is not None:
            self.recorder.flush()
        self.clear()
        if self.log is None:
            return
        from pflow.run.log import describe

        if self.has_chosen:
            self.log.write_snapshot(self.snapshot.as_json(self.digest))
        about = None
        if error is not None:
            step, node = (error.step, error.node) if isinstance(error, StepFailed) else (self.name, self.name)
            about = {"step": step, "node": node, "exit": code, "message": encodable(error.message)}
        self.log.finish(code, error=about, store={key: describe(value) for key, value in store.items()})
