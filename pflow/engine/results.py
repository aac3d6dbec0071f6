"""The store of a flow: the defaults that it begins with, and what the flow gives and hands on at its end."""

from __future__ import annotations

from pflow import Any, Mapping
from pflow.binding.sources import assign, find, has
from pflow.errors import MISSING, PflowError
from pflow.flow.pipe.carry import carried_out
from pflow.flow.subflow import CARRIED
from pflow.flow.wired_flow import WiredFlow
from pflow.interface.interface import Interface, Item, fresh
from pflow.values.paths import Path


def set_defaults(flow: WiredFlow, store: Any) -> None:
    """Put the default of each missing input into a store."""
    for given in flow.inputs.values():
        if given.has_default and not has(store, given.path):
            assign(store, given.path, fresh(given.fitted(given.default, "its default")))


def outputs_of(flow: WiredFlow, store: Any) -> dict[str, Any]:
    """Return the declared outputs that a run has reached."""
    found = {}
    for name, source in flow.outputs.items():
        try:
            found[name] = source.find(store)
        except PflowError as error:
            if error.exit != MISSING:
                raise
    return found


def results_of(
    flow: WiredFlow, interface: Interface, store: Mapping[str, Any], carried: Path | None, given: Mapping[str, Any]
) -> dict[str, Any]:  # fmt: skip
    """Return what a flow gives as a step: its declared outputs, else all that its steps wrote, and what it carries.

    That may have a key besides. A flow whose steps carry nothing hands on what was `given` to its input from the pipe.
    """
    outputs, write = flow.flow.outputs, interface.pipe_write
    inputs = {"stdin", *(each.path[0] for each in flow.inputs.values())}
    is_open, writes = interface.open, interface.writes  # an open one may write any key
    given_out = outputs_of(flow, store) if outputs else store
    found = {key: value for key, value in given_out.items() if key in writes or (is_open and key not in inputs)}
    if write is None or CARRIED not in write.marks:
        return found
    if carried is None:
        values = [given[name] for name, each in interface.reads.items() if "pipe" in each.marks and name in given]
    else:
        place, there = flow.place_outside(carried), found if outputs else store
        values = [find(there, place)] if place and has(there, place) else []
    return {**found, write.name: values[0]} if values else found


def places_behind(flow: WiredFlow, write: Item) -> list[Path]:
    """Return the places of a flow's store that one of its writes as a step may come from."""
    if CARRIED in write.marks:
        return [place for place in carried_out(flow) if place]
    return [*flow.outputs[write.name].paths] if write.name in flow.outputs else [(write.name,)]
