"""Noting in the derived snapshot what a run was given from outside: by flags, the environment, the pipe."""

from __future__ import annotations

import os

from pflow.binding.stage_sources import from_environment
from pflow.paths import parse_path
from pflow.run.flags import DATA, INPUT, OPEN, PARAM
from pflow.stage.intake import RAW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.run.flags import Target
    from pflow.run.given import Given
    from pflow.run.snapshot import Snapshot
    from pflow.stage.document import Document


def note_flag(snapshot: Snapshot, plan: WiredFlow, target: Target, value: Any) -> None:
    if target.step and target.kind in (PARAM, OPEN):
        snapshot.override(target.step, target.key, value)
    if target.step and target.kind in (DATA, OPEN):
        snapshot.inject((target.step, target.key), value)
    if target.kind == INPUT or not target.step:
        known = plan.inputs.get(target.key)
        snapshot.inject(known.path if known else (target.key,), value)


def note_environment(snapshot: Snapshot, plan: WiredFlow, given: Given) -> None:
    """Params that a variable of the environment gives are what a later run could not know of."""
    for wired in plan.steps.values():
        set_elsewhere = {**wired.params, **given.params.get(wired.id, {})}
        for key, item in wired.interface.params.items():
            if item.env and os.environ.get(item.env) and key not in set_elsewhere:
                snapshot.override(wired.id, key, from_environment(item), secret="secret" in item.marks)


def note_piped(snapshot: Snapshot, plan: WiredFlow, document: Document, store: dict[str, Any], *, kind: str) -> None:
    """Raw input; of a store, the keys that the flow may look at (`store`), and what the first step took of it."""
    if kind == RAW:
        snapshot.inject_piped(("stdin",), document.get("stdin"))
        return
    secret = {key for wired in plan.steps.values() for key in _secret_keys(wired)}
    secret |= {str(given.path[0]) for given in plan.inputs.values() if given.secret}
    for key, value in store.items():
        if key in secret:
            snapshot.inject((key,), value, secret=True)
        else:
            snapshot.inject_piped((key,), value)
    last = document.header.get("last")
    if last is not None and plan.first_read is not None:
        step, key = plan.first_read
        source = plan.steps[step].sources.get(key)
        if source is not None and source.paths == (parse_path(last),):
            snapshot.inject_piped((step, key), document.look_up(parse_path(last)))


def _secret_keys(wired: WiredStep) -> set[str]:
    """The keys of the store that a step reads a secret from."""
    keys: set[str] = set()
    for key, item in wired.interface.reads.items():
        if "secret" in item.marks:
            source = wired.sources.get(key)
            keys |= {str(path[0]) for path in source.paths} if source else {key}
    for key, item in wired.interface.params.items():
        if "secret" in item.marks and key in wired.params:
            keys |= {str(path[0]) for path in wired.params[key].paths}
    return keys
