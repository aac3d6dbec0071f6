"""Batches in pipe syntax: their flags, read and written, and the read that an item fills."""

from __future__ import annotations

from copy import copy

from pflow import TYPE_CHECKING, Any, Mapping
from pflow.errors import USAGE, Attempt, PflowError
from pflow.flow.flow import Batch, Step
from pflow.flow.pipe.scan import quote
from pflow.flow.wired import WiredFlow, WiredStep, item_reader
from pflow.flow.written import OVER, parts_of_step, path_text
from pflow.interface.common import BATCH
from pflow.interface.interface import Interface, flag_word
from pflow.stage.flags import value_of
from pflow.values.jsontext import text_of
from pflow.values.templates import parse_place

if TYPE_CHECKING:
    from pflow.stage.words import Texts


def take_batch(texts: Texts) -> Batch | None:
    """Make the batch of a step's flags, and remove them from `texts`. Raises PflowError (2) for a wrong one."""
    said = {name: value_of(flag, texts.pop(name)) for name, flag in BATCH.items() if name in texts}
    over = said.pop("each", False)
    if isinstance(over, str):
        with Attempt(f"cannot take --each={over}", of=ValueError, hint="--each=PATH names a list", exit=USAGE):
            parse_place(over)
    if over is False:
        for name in said:
            hint = "--each runs the step once for each item"
            raise PflowError(f"cannot take {BATCH[name].flag} without --each", hint=hint, exit=USAGE)
        return None
    item, jobs = said.get("as", "item"), said.get("jobs")
    if not item:
        raise PflowError("cannot take --as='': an item needs a name", hint="--as=file", exit=USAGE)
    on_error = "keep" if said.get("keep_going") else "stop"
    return Batch("" if over is True else over, item, jobs, on_error, keep_item=bool(said.get("with_item")))


def batch_words(batch: Batch) -> list[str]:
    """Write the flags of a batch, quoted."""
    name = batch.item if batch.item != "item" else None
    keeps_going, with_item = batch.on_error == "keep" or None, batch.keep_item or None
    said = {"each": batch.over or True, "as": name, "jobs": batch.jobs, "keep_going": keeps_going}
    return option_words({**said, "with_item": with_item})


def option_words(values: Mapping[str, Any]) -> list[str]:
    """Write the flags that give these values, quoted; None has no flag."""
    said = {name: value for name, value in values.items() if value is not None}
    return [flag_word(name, each if isinstance(each, bool) else quote(as_typed(each))) for name, each in said.items()]


def as_typed(value: Any) -> str:
    """Write a value as JSON the way a person would: 60 for 60.0."""
    text = text_of(value)
    return text.removesuffix(".0") if isinstance(value, float) else text


def filled_by_item(step: Step, interface: Interface, inside: WiredFlow | None = None) -> str | None:
    """Return the read that an item of a step's batch fills by itself: the `[pipe]` read, else the first `[word]` read.

    None if the read is given, if another read has the item's name, or if it is optional and the step, or the first one
    `inside` it, names the item.
    """
    batch, read = step.batch, item_reader(interface)
    by_name = batch is not None and batch.item in interface.reads and step.flow is None
    if batch is None or read is None or step.is_unfed or by_name or step.fills(read.name):
        return None
    return read.name if read.required or not _names_item(step, batch, interface, inside) else None


def with_item(wired: WiredStep) -> Step:
    """Return the step with the item of its batch mapped to the read that it fills."""
    step, batch = wired.step, wired.step.batch
    key = filled_by_item(step, wired.interface, wired.inline)
    if batch is None or key is None:
        return step
    step = copy(step)
    step.input_mappings = {**step.input_mappings, key: path_text((batch.item,))}
    return step


def check_item(step: Step, interface: Interface) -> None:
    """Raise PflowError (2) for a batch whose step does not use the item."""
    batch = step.batch
    if batch is None or interface.open or filled_by_item(step, interface) or _names_item(step, batch, interface):
        return
    if batch.item in interface.reads and not step.fills(batch.item):
        return
    read = item_reader(interface) or next(iter(interface.reads.values()), None)
    hint = f"name it: {read.flag}='${batch.item}'" if read else "leave --each out"
    raise PflowError("cannot take --each: nothing in this step takes an item", hint=hint, exit=USAGE)


def _names_item(step: Step, batch: Batch, interface: Interface, inside: WiredFlow | None = None) -> bool:
    parts, names = parts_of_step(step, interface), {batch.item, *batch.parts}
    named = set(interface.reads) if step.flow is not None else set()
    if inside is not None:
        takers = {name: {id for id, _ in given.readers} for name, given in inside.inputs.items()}
        named = {name for name, ids in takers.items() if inside.graph.first in ids}
    return not names.isdisjoint(named) or any(
        path[0] in names for part in parts if part.role != OVER for path in part.paths
    )
