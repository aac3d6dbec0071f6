"""What a flow hands on: the document with its outputs, and what of it is shown."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.flow.places import has
from pflow.paths import parse_path, write_path
from pflow.run.subflow import outputs_of
from pflow.stage.output import DOCUMENT, NOTHING, RAW, TERMINAL
from pflow.stage.stdout import as_it_is
from pflow.stage.step import add_step, step_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.plan import Plan
    from pflow.paths import Path
    from pflow.run.context import Context
    from pflow.stage.document import Document
    from pflow.stage.output import Output

    Store = dict[str, Any]


def outputs(plan: Plan, shared: Store, original: Store, context: Context) -> Store:
    """What a flow adds to the store: its declared outputs by name, without any all that was written.

    `original` is the store that it began with.
    """
    if plan.flow.outputs:
        return outputs_of(plan, shared)
    return {
        key: value
        for key, value in shared.items()
        if key in context.touched or key not in original or original[key] is not value
    }


def hand_on(document: Document, plan: Plan, found: Store, carried: Path | None) -> None:
    """Put the outputs into a document, and say what the pipe carries: the only output, else what the steps do."""
    for key, value in found.items():
        try:
            document.set(key, value)
        except PflowError as error:
            raise error.within(f"cannot store '{key}'") from None
    if plan.flow.outputs:
        if len(plan.flow.outputs) == 1 and found:
            document.header["last"] = next(iter(found))
    elif carried is not None:
        document.header["last"] = write_path(carried)


def add_entry(document: Document, plan: Plan, run: str, name: str, shared: Store, found: Store, ms: int) -> None:
    """The one entry that a whole flow is in the trace of a pipe."""
    reads = {each.name: write_path(each.path) for each in plan.inputs.values() if has(shared, each.path)}
    entry: dict[str, Any] = {"id": step_id(document, name, None), "node": f"flow:{name}", "run": run, "reads": reads}
    add_step(document, {**entry, "writes": {key: key for key in found}, "ms": ms})


def show(output: Output, plan: Plan, document: Document) -> None:
    """Print the document in the form that was chosen, as far as it was not streamed."""
    if output.form in (NOTHING, DOCUMENT):
        output.write_document(document)
        return
    last = document.header.get("last")
    if last is None:
        return
    if output.form == RAW and not output.has_begun:
        output.write([as_it_is(value_at(document, last))])
    if output.form == TERMINAL and _hands_on(plan):
        text = as_it_is(value_at(document, last))
        output.write([b"" if output.has_begun else text, b"" if text.endswith(b"\n") else b"\n"])


def value_at(document: Document, last: str) -> Any:
    from pflow.stage.places import value_to_print

    return value_to_print(document, parse_path(last))


def _hands_on(plan: Plan) -> bool:
    """Whether the flow itself makes what the pipe carries at its end."""
    if plan.flow.outputs:
        return len(plan.flow.outputs) == 1
    ends = [id for id in plan.graph.order() if not plan.graph.after(id)]
    return any(plan.steps[id].interface.pipe_write is not None for id in ends)


def streaming_step(plan: Plan) -> str | None:
    """The step whose `[pipe]` write is what the flow hands on, where that is plain before it runs."""
    ends = [id for id in plan.graph.order() if not plan.graph.after(id)]
    if len(ends) != 1 or plan.steps[ends[0]].step.batch or plan.graph.forks():
        return None
    wired = plan.steps[ends[0]]
    if wired.interface.pipe_write is None:
        return None
    paths = [source.paths for source in plan.outputs.values()]
    return wired.id if not paths or paths == [(wired.place_of(wired.interface.pipe_write.name),)] else None
