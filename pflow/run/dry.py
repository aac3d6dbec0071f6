"""A dry run of a flow: what each step would read, write and touch."""

from __future__ import annotations

from pflow.binding.resolve import is_stored
from pflow.binding.sources import Constant
from pflow.paths import write_path
from pflow.stage.trace import add_step, step_id
from pflow.terminal.messages import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.paths import Path
    from pflow.run.inputs import RunInputs
    from pflow.stage.document import Document

_TELLING = ("path", "directory", "command")
"""Reads whose values say what a step would touch."""


def pretend(flow: WiredFlow, inputs: RunInputs, document: Document, name: str) -> Document:
    """Say each step on stderr; the document for the stages after it, marked with the places that would be written."""
    for id in flow.graph.order():
        say("pflow run", _would(flow, flow.steps[id], inputs, document))
    document = document.copy()
    if flow.carried is not None:
        document.header["last"] = write_path(flow.carried)
    places = list(flow.flow.outputs) or [write_path(place) for place in _places(flow, inputs)]
    document.header["dry"] = list(dict.fromkeys([*document.header.get("dry", []), *places]))
    add_step(document, {"id": step_id(document, name, None), "node": f"flow:{name}", "dry": True})
    return document


def _places(flow: WiredFlow, inputs: RunInputs) -> Iterator[Path]:
    """Where the flow would put something: what it is given, and the data and the writes of each step."""
    for name in inputs.values:
        known = flow.inputs.get(name)
        yield known.path if known else (name,)
    for wired in flow.steps.values():
        for key in [*wired.step.inputs, *inputs.data.get(wired.id, ())]:
            if is_stored(wired.interface, key, wired.step.params):
                yield wired.data_place(key)
        for key in [*wired.interface.writes, *wired.targets]:
            yield wired.place_of(key)


def _would(flow: WiredFlow, wired: WiredStep, inputs: RunInputs, document: Document) -> str:
    values = dict(_values(flow, wired, inputs))
    parts = [f"would run {wired.id} ({wired.step.type})"]
    reads = [f"{key} from {origin}" for key, origin in _origins(wired, values, document)]
    if reads:
        parts.append("reads " + ", ".join(reads))
    writes = [write_path(wired.place_of(key)) for key in wired.interface.writes]
    if writes:
        parts.append("writes " + ", ".join(writes))
    if wired.interface.effects:
        parts.append(", ".join(wired.interface.effects))
    parts += [f"{key}: {values[key]}" for key in _TELLING if key in values]
    return "; ".join(parts)


def _values(flow: WiredFlow, wired: WiredStep, inputs: RunInputs) -> Iterator[tuple[str, Any]]:
    """What the flow and the flags give a step, as far as it is known before the steps run."""
    for key, source in wired.sources.items():
        if isinstance(source, Constant):
            yield key, source.value
    for name, each in flow.inputs.items():
        for step, key in each.readers:
            if step == wired.id and name in inputs.values:
                yield key, inputs.values[name]
    yield from inputs.data.get(wired.id, {}).items()


def _origins(wired: WiredStep, values: dict[str, Any], document: Document) -> Iterator[tuple[str, str]]:
    """Where each read comes from; nothing of those that are left at their default."""
    for key, item in wired.interface.reads.items():
        source = wired.sources.get(key)
        if source is not None and source.paths:
            yield key, source.origin
        elif key in values:
            yield key, item.flag
        elif item.required or (key in document and "explicit" not in item.marks):
            yield key, key
