"""What a flow hands on: the document with its outputs, and what of it is shown."""

from __future__ import annotations

from pflow.binding.sources import PathSource
from pflow.binding.store import REMOVED, NodeStore
from pflow.errors import PflowError
from pflow.paths import write_path
from pflow.run.engine.subflow import outputs_of
from pflow.stage.trace import add_step, step_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredFlow
    from pflow.paths import Path
    from pflow.stage.document import Document

    Store = dict[str, Any]


def outputs(wired: WiredFlow, shared: NodeStore) -> Store:
    """What a flow changes of the store: its declared outputs by name, without any all that its steps changed."""
    return outputs_of(wired, shared) if wired.flow.outputs else shared.changes(lambda key: True)


def hand_on(document: Document, wired: WiredFlow, found: Store, carried: Path | None) -> None:
    """Put the outputs into a document, and say what the pipe carries: the only output, else what the steps do.

    Of several outputs, it is the one that is what the steps carry.
    """
    for key, value in found.items():
        try:
            if value is REMOVED:
                document.remove((key,))
            else:
                document.set(key, value)
        except PflowError as error:
            raise error.within(f"cannot store '{key}'") from None
    last = _output_of(wired, carried) if wired.flow.outputs else write_path(carried) if carried else None
    if last is not None and (last in found or not wired.flow.outputs):
        document.header["last"] = last


def _output_of(wired: WiredFlow, carried: Path | None) -> str | None:
    """The output that a pipe carries on."""
    if len(wired.flow.outputs) == 1:
        return next(iter(wired.flow.outputs))
    return next((name for name in wired.outputs if carried and _is_output(wired, name, carried)), None)


def _is_output(wired: WiredFlow, name: str, place: Path) -> bool:
    """Whether an output is what stands at a place, and nothing else."""
    source = wired.outputs[name]
    return isinstance(source, PathSource) and source.path == place


def add_entry(document: Document, name: str, run: str, reads: dict[str, str], found: Store, ms: int) -> None:
    """The one entry that a whole flow is in the trace of a pipe."""
    entry: dict[str, Any] = {"id": step_id(document, name, None), "node": f"flow:{name}", "run": run, "reads": reads}
    add_step(
        document, {**entry, "writes": {key: key for key, value in found.items() if value is not REMOVED}, "ms": ms}
    )


def shows(wired: WiredFlow, document: Document) -> bool:
    """Whether the flow itself makes what the pipe carries at its end."""
    if wired.flow.outputs:
        return document.header.get("last") in wired.flow.outputs
    return any(wired.steps[id].interface.pipe_write is not None for id in _ends(wired))


def streaming_step(wired: WiredFlow) -> str | None:
    """The step whose `[pipe]` write is what the flow hands on, where that is plain before it runs."""
    ends = _ends(wired)
    if len(ends) != 1 or wired.steps[ends[0]].step.batch or wired.graph.forks():
        return None
    last = wired.steps[ends[0]]
    if last.interface.pipe_write is None:
        return None
    place = last.place_of(last.interface.pipe_write.name)
    name = _output_of(wired, place)
    return last.id if not wired.flow.outputs or (name is not None and _is_output(wired, name, place)) else None


def _ends(wired: WiredFlow) -> list[str]:
    """The steps that no edge leaves."""
    return [id for id in wired.graph.order() if not wired.graph.after(id)]
