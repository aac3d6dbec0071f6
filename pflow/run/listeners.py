"""What listens to a run's events: its log, a person at a terminal, -v, and PFLOW_TRACE."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.jsontext import decode
from pflow.run.engine.context import Recorder, StepFailed
from pflow.stage.trace import enter_span
from pflow.terminal.columns import duration, encodable
from pflow.terminal.messages import say, write_stderr

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.errors import PflowError
    from pflow.flow.wired import WiredFlow
    from pflow.run.arguments import RunFlags
    from pflow.run.log import RunLog
    from pflow.run.snapshot import Snapshot
    from pflow.stage.document import Document

PROGRAM = "pflow run"


class Listeners:
    """Begins the log of a run and whatever else listens. `recorder` makes the events."""

    def __init__(self, wired: WiredFlow, run_id: str, name: str, document: Document, snapshot: Snapshot) -> None:
        self.wired = wired
        self.run_id = run_id
        self.name = name
        self.document = document
        self.snapshot = snapshot
        self.log: RunLog | None = None
        self.digest = ""
        self.progress: Progress | None = None
        self.sinks: list[Callable[[bytes], None]] = []
        self.recorder: Recorder | None = None
        self.has_chosen_model = False

    def begin(self, flags: RunFlags, end_line: Callable[[], None]) -> None:
        """`end_line` is called before something is said to a person."""
        self._open_log()
        if wants_progress(quiet=flags.quiet):
            self.progress = Progress(end_line)
            self.sinks.append(self.progress.write)
        if flags.verbose:
            self.sinks.append(say_places)
        if os.environ.get("PFLOW_TRACE", "0") not in ("", "0"):
            from pflow.stage.trace import write_lines

            self.sinks.append(lambda lines: write_lines(PROGRAM, lines))
        # Also where nobody listens: a step that is watched is held to its interface, and no run is to be laxer.
        self.recorder = Recorder(self.sinks[0] if len(self.sinks) == 1 else self._write)

    def _write(self, lines: bytes) -> None:
        for each in self.sinks:
            each(lines)

    def _open_log(self) -> None:
        from pflow.run.log import RunLog, runs_directory

        parent = self.document.header.get("traceparent") or os.environ.get("TRACEPARENT")
        enter_span(self.document)
        if runs_directory() is None:
            return
        from pflow.flow.unload import flow_hash

        self.digest = flow_hash(self.wired)
        about = {"name": self.name, "flow_hash": self.digest, "steps": len(self.wired.steps)}
        spans = {"traceparent": self.document.header.get("traceparent"), "parent": parent}
        about |= {name: span for name, span in spans.items() if span}
        self.log = RunLog.open(self.run_id, self._flow_text, about)
        if self.log is not None:
            self.log.write_snapshot(self.snapshot.as_json(self.digest))
            self.sinks += [self.log.line, self._note_model]

    def _flow_text(self) -> bytes:
        from pflow.flow.unload import flow_to_ir
        from pflow.jsontext import encode

        return encode(flow_to_ir(self.wired.flow)) + b"\n"

    def _note_model(self, lines: bytes) -> None:
        """The model that was chosen for a step is an override: another day it could be another."""
        if b'"model":"' not in lines:
            return
        for event in map(_event, lines.splitlines()):
            step = self.wired.steps.get(event["step"]) if event["event"] == "end" and "model" in event else None
            if step and "model" not in {**step.params, **self.snapshot.config_overrides.get(step.id, {})}:
                self.snapshot.override(step.id, "model", event["model"])
                self.has_chosen_model = True

    def clear(self) -> None:
        """Make room on the terminal for something else."""
        if self.progress is not None:
            self.progress.clear()

    def finish(self, code: int, error: PflowError | None, store: dict[str, Any]) -> None:
        """The end of the run: `store` is its final one."""
        self.clear()
        if self.log is None:
            return
        if self.has_chosen_model:
            self.log.write_snapshot(self.snapshot.as_json(self.digest))
        about = None
        if error is not None:
            step, node = (error.step, error.node) if isinstance(error, StepFailed) else (self.name, self.name)
            about = {"step": step, "node": node, "exit": code, "message": encodable(error.message)}
        if self.log.finish(code, about, store):
            from pflow.run.runs import prune

            prune(os.path.dirname(self.log.directory))


class Progress:
    """Tells a person at a terminal which step runs, and how long each took. `end_line` is called before each line."""

    def __init__(self, end_line: Callable[[], None]) -> None:
        from pflow.terminal.columns import colour_of

        self.end_line = end_line
        self.count = 0
        self.open: dict[str, int] = {}
        self.is_mid_line = False
        self.colour = colour_of(2)

    def write(self, lines: bytes) -> None:
        for event in map(_event, lines.splitlines()):
            if event["event"] == "start":
                self._start(event)
            elif event["event"] == "end":
                self._end(event)

    def _start(self, event: dict[str, Any]) -> None:
        self.count += 1
        self.open[_key(event)] = self.count
        self._clear()
        write_stderr(f"{self._number(self.count)} {_name(event)} …")
        self.is_mid_line = True

    def _end(self, event: dict[str, Any]) -> None:
        number = self.open.pop(_key(event), 0)
        self._clear()
        failed = "  " + self.colour.fault(f"failed ({event['exit']})") if "exit" in event else ""
        write_stderr(f"{self._number(number)} {_name(event)}  {duration(event['ms'])}{failed}\n")

    def _number(self, number: int) -> str:
        return self.colour.dim(f"[{number}]")

    def clear(self) -> None:
        """Take away the line about the step that runs: something else is shown."""
        if self.is_mid_line:
            self._clear()

    def _clear(self) -> None:
        self.end_line()
        if self.is_mid_line:
            write_stderr("\r\x1b[K")
            self.is_mid_line = False


def say_places(lines: bytes) -> None:
    """For -v: where each value of a step came from, and where its writes went."""
    for event in map(_event, lines.splitlines()):
        if event["event"] == "end":
            for key, places in event["reads"].items():
                say(PROGRAM, f"{event['step']} reads {key} from {', '.join(places) or 'the flow itself'}")
            for key, places in event["writes"].items():
                say(PROGRAM, f"{event['step']} writes {key} to {', '.join(places)}")


def wants_progress(*, quiet: bool) -> bool:
    return os.isatty(2) and not quiet and os.environ.get("TERM", "") not in ("", "dumb")


def _key(event: dict[str, Any]) -> str:
    return f"{event.get('lane', '')} {event['step']}"


def _name(event: dict[str, Any]) -> str:
    visit = f" #{event['visit']}" if event.get("visit", 1) > 1 else ""
    step = str(event["step"])
    return (step if step.rpartition("/")[2] == event["node"] else f"{step} ({event['node']})") + visit


def _event(line: bytes) -> Any:
    return decode(line)
