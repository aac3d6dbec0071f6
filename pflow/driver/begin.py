"""What a run began with, as its journal keeps it: the store and the inputs, and where and how it ran."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.driver.inputs import RunInputs
from pflow.driver.resume.drift import facts_of
from pflow.driver.snapshot import Snapshot, kept
from pflow.record.journal.lines import raw
from pflow.stage.document import Document, Intake

if TYPE_CHECKING:
    from typing import Any

    from pflow.driver.arguments import RunFlags
    from pflow.flow.wired import WiredFlow

    Begin = dict[str, Any]
    """store {kind, header, keys (all, in their order), values (of keys with a secret), own}, texts (the JSON of all
    other keys, in the bytes that it came in), inputs {values, params, data}, environment (by variable, of params),
    secrets (digests of the variables that hold some), flags, place {directory, flow_directory, file, script}, flow and
    nodes (resume/drift.py); sealed: the path of each secret, where it has null, and its digest; key: by which that of
    this user's state is known again.
    """


def begin_of(inputs: RunInputs, intake: Intake, flags: RunFlags) -> Begin:
    """It, where the inputs have taken what came through the pipe."""
    document = intake.document
    store = {
        "kind": intake.kind,
        "header": dict(document.header),
        "keys": document.keys(),
        "own": list(document.own),
        "values": {},
    }
    snapshot = Snapshot()
    snapshot.note_place(inputs.wired.flow)
    return {
        "store": kept(store),
        "inputs": kept({name: getattr(inputs, name) for name in _INPUTS}),
        "environment": {name: os.environ.get(name) for name in _variables(inputs.wired)},
        "secrets": dict.fromkeys(_variables(inputs.wired, are_secret=True)),
        "flags": {name: getattr(flags, name) for name in _FLAGS},
        "place": snapshot.place,
        **facts_of(inputs.wired),
        "texts": {key: document.json(key) for key in document},
    }


def is_same(begin: Begin, other: Begin) -> bool:
    """Whether two runs are of one flow with one store and the same flags, in one place."""
    store, others = ({**each["store"], "header": each["store"]["header"].get("last")} for each in (begin, other))
    parts = ("inputs", "flow", "place", "sealed")
    texts, those = ({key: raw(text) for key, text in each["texts"].items()} for each in (begin, other))
    return store == others and texts == those and all(begin.get(part) == other.get(part) for part in parts)


_INPUTS = ("values", "params", "data")
_FLAGS = ("jobs", "isolate", "timeout", "allow_empty", "keep_store", "cache", "refresh")


def _variables(flow: WiredFlow, *, are_secret: bool = False) -> list[str]:
    """The variables that a flow takes params from: those that are secrets, or all others."""
    found: set[str] = set()
    for wired in flow.steps.values():
        if wired.subflow is not None:
            found.update(_variables(wired.subflow, are_secret=are_secret))
        params = wired.interface.params.values()
        found.update(item.env for item in params if item.env and ("secret" in item.marks) is are_secret)
    return sorted(found)


def restore_intake(begin: Begin) -> Intake:
    """What came through stdin, as `take_in` gave it."""
    store = begin["store"]
    document = Document(store["header"])
    for key in store["keys"]:
        if key in begin["texts"]:
            document.set_json(key, raw(begin["texts"][key]))
        else:
            document.set(key, store["values"][key])
    document.own = store["own"]
    return Intake(document, store["kind"])


def restore_inputs(begin: Begin, wired: WiredFlow) -> RunInputs:
    """The inputs, for the flow wired anew."""
    inputs = RunInputs(wired)
    for name in _INPUTS:
        getattr(inputs, name).update(begin["inputs"][name])
    inputs.origins = {name: wired.inputs[name].flag for name in inputs.values if name in wired.inputs}
    return inputs


def restore_environment(begin: Begin) -> None:
    """Give the variables of params the values that they had, and take away those that were not set."""
    for name, value in begin["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
