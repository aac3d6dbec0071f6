"""A run done again: its flow with the values of its snapshot, in the directory where it was."""

from __future__ import annotations

import os

from pflow import Any
from pflow.binding.sources import Constant
from pflow.driver.begin import enter, restore_flow
from pflow.driver.inputs import RunInputs
from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, PflowError
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import flow_hash
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.record.journal import ANEW, UNSEALED, bounds_seal
from pflow.record.runs import Run
from pflow.record.snapshot import Snapshot, environment_params, own_params
from pflow.stage import VERSION
from pflow.stage.document import EMPTY, NOTHING, RAW, STORE, Document, Intake, take_in
from pflow.terminal.messages import say
from pflow.values.paths import Path, parse_path, write_path


class Replay:
    """A run to be done again. Raises PflowError: 65 if its snapshot is damaged, 78 if it is not sealed."""

    def __init__(self, run: Run) -> None:
        self.run = run
        kept = Snapshot.of(run)
        if kept is None:
            what = f"cannot replay the run '{run.id}': its snapshot is missing or damaged"
            raise PflowError(what, hint=f"pflow trace {run.id} shows what is known of it", exit=BAD_DATA)
        self.kept = kept
        if kept.seal != bounds_seal(run.id, kept.place):
            raise PflowError(f"cannot replay the run '{run.id}': {UNSEALED}", hint=ANEW, exit=BAD_CONFIG)

    def flow(self) -> FlowSpec:
        """Go to where the run was, and load its flow. Raises PflowError: 66 if either is gone, 65."""
        enter(self.kept.place["directory"], "replay the run")
        return restore_flow(self.run.directory, self.kept.place)

    def inputs(self, wired: WiredFlow) -> RunInputs:
        """Return the values of flags, answers and variables; unset each variable that was not set then.

        Raises PflowError (78) if nothing gives a secret again.
        """
        if flow_hash(wired) != self.kept.flow_hash:
            say("pflow replay", "warning: the version of a node, or a subflow, has changed since the run")
        inputs = RunInputs(wired)
        inputs.replayed, inputs.confined = self.kept, self.kept.place["confined"]
        for id, params in self.kept.config_overrides.items():
            for name, value in params.items() if id in wired.steps else ():
                self._set_param(inputs, wired.steps[id], name, value)
        for text, value in self.kept.cli_injections.items():
            if text not in self.kept.piped["paths"]:
                _inject(inputs, parse_path(text), value)
        for id, name, item in list(environment_params(wired, inputs.params)):
            if name not in self.kept.config_overrides.get(id, {}):
                os.environ.pop(item.env, None)
        return inputs

    def _set_param(self, inputs: RunInputs, step: WiredStep, name: str, value: Any) -> None:
        item = dict(own_params(step)).get(name)
        if item is None or not item.is_secret:
            is_path = item is not None and item.type.is_path and isinstance(value, bytes)
            inputs.set_param(step, name, os.fsdecode(value) if is_path else value)
        elif not os.environ.get(item.env):
            what = f"cannot replay the run '{self.run.id}': the secret '{name}' of '{step.id}' is missing"
            raise PflowError(what, hint=f"{item.env} in the environment gives it", exit=BAD_CONFIG)

    def intake(self, timeout: float | None = None) -> Intake:
        """Return what came through the pipe; if that was not kept, what comes now (Snapshot.follow compares them).

        Raises PflowError if nothing comes: 78 for a secret, else 66.
        """
        piped = self.kept.piped
        if piped["again"]:
            taken = take_in(source="text" if piped["as"] == RAW else piped["as"], timeout=timeout)
            if taken.kind in (EMPTY, NOTHING):
                is_secret = not all("$digest" in self.kept.cli_injections[path] for path in piped["again"])
                why = "it is a secret" if is_secret else "it is larger than 10 MB"
                what = f"cannot replay the run '{self.run.id}': its piped input was not kept, since {why}"
                hint = f"pipe it again: … | pflow replay {self.run.id}"
                raise PflowError(what, hint=hint, exit=BAD_CONFIG if is_secret else MISSING)
            return taken
        document = Document({"v": VERSION, **({"last": piped["last"]} if piped["last"] else {})})
        for path in map(parse_path, piped["paths"]):
            if len(path) == 1:  # else it is what the first step took of these
                document.set(str(path[0]), self.kept.cli_injections[write_path(path)])
        if piped["as"] == "json":
            document.own = [key for key in document if key != "stdin"]
        raw = document["stdin"] if piped["as"] == RAW else b""
        data = raw if isinstance(raw, bytes) else str(raw).encode()
        return Intake(document, STORE if piped["as"] == "json" else piped["as"], data)


def _inject(inputs: RunInputs, path: Path, value: Any) -> None:
    """Set a value as its flag did."""
    wired = inputs.wired
    for name, known in wired.inputs.items():
        if path == (known.path if known.step is None else (known.step, known.read)):
            inputs.set_input(name, value)
            return
    step = wired.steps.get(str(path[0])) if len(path) == 2 else None
    if _is_in_flow(wired, path, value):
        return
    if step is None:
        inputs.values[write_path(path)] = value
    else:
        inputs.data.setdefault(step.id, {})[str(path[1])] = value


def _is_in_flow(wired: WiredFlow, path: Path, value: Any) -> bool:
    """Return True if a step of the flow has the value: it stores it when it runs, not before."""
    for step in wired.steps.values():
        for key in step.step.inputs:
            source = step.sources.get(key)
            if path in ((step.id, key), step.data_place(key)) and isinstance(source, Constant):
                return bool(source.value == value)
    return False
