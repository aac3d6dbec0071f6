"""The store of a flow: the defaults that it begins with, and what the flow gives and hands on at its end."""

from __future__ import annotations

from pflow import Any, Iterator, Mapping
from pflow.binding.sources import assign, find, has
from pflow.errors import MISSING, PflowError
from pflow.flow.pipe.carry import carried_out
from pflow.flow.subflow import own_writes
from pflow.flow.wired import WiredFlow
from pflow.interface.interface import Interface, fresh
from pflow.values.paths import Path


def set_defaults(flow: WiredFlow, store: Any) -> None:
    """Put the default of each missing input into a store."""
    for given in flow.inputs.values():
        if given.has_default and not has(store, given.path):
            assign(store, given.path, fresh(given.default))


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


def results_of(flow: WiredFlow, interface: Interface, store: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a flow gives as a step: its declared outputs, else all that its steps wrote."""
    if flow.flow.outputs:
        return outputs_of(flow, store)
    inputs = {each.path[0] for each in flow.inputs.values()}
    is_open, writes = interface.open, interface.writes  # an open one may write any key
    return {key: value for key, value in store.items() if key in writes or (is_open and key not in inputs)}


def handed_on(
    flow: WiredFlow, interface: Interface, store: Mapping[str, Any], carried: Path | None, given: Mapping[str, Any]
) -> dict[str, Any]:  # fmt: skip
    """Return the value at the place that a flow carries, under the key for it, if that is none of its own writes.

    A flow whose steps carry nothing hands on the value that was `given` to its input from the pipe.
    """
    write = interface.pipe_write
    if write is None or write.name in own_writes(flow):
        return {}
    if carried is None:
        found = [given[name] for name, each in flow.inputs.items() if each.pipe and name in given]
    elif flow.flow.outputs:
        found = [value for name, value in outputs_of(flow, store).items() if name == flow.output_carrying(carried)]
    else:
        found = [find(store, carried)] if has(store, carried) else []
    return {write.name: found[0]} if found else {}


def places_behind(flow: WiredFlow, name: str) -> Iterator[Path]:
    """Yield the places of a flow's store that one of its writes as a step may come from."""
    if name in flow.flow.outputs:
        yield from flow.outputs[name].paths
    elif name in own_writes(flow):
        yield (name,)
    else:
        yield from (place for place in carried_out(flow) if place)
