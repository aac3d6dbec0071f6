"""Gaps in a flow's wiring: the reads that nothing gives, that a wrong mapping gives, or that a result passes by."""

from __future__ import annotations

from pflow.explain.origins import Origins
from pflow.flow.fits import NO, fits
from pflow.flow.graph import ERROR
from pflow.flow.pipe.carry import STDIN, carried_into
from pflow.flow.rules.mend import doubled_ids
from pflow.flow.rules.view import View, is_known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.interface import Item
    from pflow.paths import Path

WRONG, MISSING, INPUT, IDLE = "wrong", "missing", "input", "idle"
"""Why a read is a gap: what gives it is wrong; nothing gives it; only an input that nobody declared would; or it does
without what the step before it is there to give."""

_ONLY_GIVES = {"network", "reads files"}
"""The effects of steps that are there for nothing but what they write."""


class Gap:
    """A read of a step that wants a mapping: `kind` says why, `written` is the source that it has, if a wrong one.

    `reason` says it for people. The flow passes the rules without a mapping unless `is_needed`.
    """

    __slots__ = ("item", "kind", "reason", "step", "written")

    def __init__(self, step: str, item: Item, kind: str, *, written: Any = None, reason: str = "") -> None:
        self.step = step
        self.item = item
        self.kind = kind
        self.written = written
        self.reason = reason

    @property
    def is_needed(self) -> bool:
        return self.kind in (WRONG, MISSING)

    @property
    def is_explicit(self) -> bool:
        return "explicit" in self.item.marks

    @property
    def place(self) -> Path:
        return mapping_place(self.step, self.item.name)

    def __str__(self) -> str:
        return f"{self.step}.{self.item.name}"


def mapping_place(step: str, key: str) -> Path:
    """Where a mapping stands in a flow's file, as findings say it."""
    return ("mappings", step, "input_mappings", key)


def find_gaps(plan: WiredFlow, errors: Sequence[Finding]) -> tuple[View, list[Gap]]:
    """The gaps of a flow, in the order that its steps run in, and the view that they were found in."""
    view = View(plan, doubled_ids(plan.flow))
    return view, list(_Finding(view, errors).gaps())


class _Finding:
    def __init__(self, view: View, errors: Sequence[Finding]) -> None:
        self.view = view
        self.plan = view.plan
        self.wrong = {each.place: each.message for each in errors if each.rule in ("PF14", "PF15")}
        self.carried = carried_into(view.plan)
        self.origins = Origins(view.plan)
        ways = view.ways
        self.may_write = sum(ways.bits[id] for id in ways.order if _may_write(view.plan.steps[id]))

    def gaps(self) -> Iterator[Gap]:
        for id in self.view.ways.order:
            wired = self.plan.steps[id]
            if is_known(wired) and id not in self.view.doubled:
                for item in wired.interface.reads.values():
                    gap = self._gap(wired, item)
                    if gap is not None:
                        yield gap

    def _gap(self, wired: WiredStep, item: Item) -> Gap | None:
        step, key = wired.step, item.name
        if key in step.input_mappings:
            place = mapping_place(wired.id, key)
            reason = self.wrong.get(place)
            is_wrong = reason is not None and key not in step.inputs
            return (
                Gap(wired.id, item, WRONG, written=step.input_mappings[key], reason=reason or "") if is_wrong else None
            )
        if self._is_given(wired, item):
            return None
        if "explicit" in item.marks:
            is_missing = item.required and bool(self.plan.flow.inputs)
            return Gap(wired.id, item, MISSING, reason="nothing gives it") if is_missing else None
        return self._by_name(wired, item)

    def _is_given(self, wired: WiredStep, item: Item) -> bool:
        step, key = wired.step, item.name
        is_item = step.batch is not None and key == step.batch.item
        return is_item or key in step.inputs or key in step.params or self.plan.first_read == (wired.id, key)

    def _by_name(self, wired: WiredStep, item: Item) -> Gap | None:
        """The gap of a read that takes the store's key of its name, or an input's."""
        key, id = item.name, wired.id
        misfit = self._misfit(wired, item)
        if misfit:
            return Gap(id, item, WRONG, reason=misfit)
        if self.view.is_written_before(key, id) or key in self.plan.flow.inputs:
            return self._idle(wired, item)
        if self.view.is_written_beside(key, id) or self.view.ways.before[id] & self.may_write:
            return None
        if not item.required:
            return self._idle(wired, item)
        if not self.plan.flow.inputs and self._is_shared(key, id):
            return None
        kind = MISSING if self.plan.flow.inputs else INPUT
        return Gap(id, item, kind, reason="nothing gives it")

    def _is_shared(self, key: str, id: str) -> bool:
        """Whether a step before this one takes the same input, which the flow then has."""
        given = self.plan.inputs.get(key)
        readers = {reader for reader, _ in given.readers} if given is not None else set()
        return any(self.view.ways.leads_to(reader, id) for reader in readers - {id} if reader in self.view.ways.place)

    def _misfit(self, wired: WiredStep, item: Item) -> str:
        """What is wrong with what stands under a read's name; empty where nothing is."""
        key = item.name
        if item.type.name in ("any", "str"):
            return ""  # they take everything
        writers = self.view.writers(key, wired.id)
        if not writers and key in self.plan.flow.inputs:
            there = self.plan.inputs[key].type
            return f"the input '{key}' is of another type: {there}" if fits(there, item.type) == NO else ""
        if len(writers) != 1 or writers[0].step.batch is not None or key in writers[0].step.output_mappings:
            return ""
        write = writers[0].interface.writes.get(key)
        if write is None or fits(write.type, item.type) != NO:
            return ""
        return f"'{writers[0].id}' writes it as another type: {write.type}"

    def _idle(self, wired: WiredStep, item: Item) -> Gap | None:
        """The gap of a `[pipe]` read that leaves aside the only thing that the step before it is there for."""
        carried = self.carried[wired.id]
        if "pipe" not in item.marks or not carried.is_sure or len(carried.writers) != 1 or STDIN in carried.writers:
            return None
        writer = self.plan.steps[carried.writers[0]]
        if not self._is_idle(writer):
            return None
        return Gap(wired.id, item, IDLE, reason=f"nothing takes what '{writer.id}' writes")

    def _is_idle(self, writer: WiredStep) -> bool:
        """Whether a step does nothing but write, and nothing takes what it writes."""
        interface = writer.interface
        decides = len(set(interface.actions) - {ERROR}) > 1
        if decides or interface.open or writer.step.output_mappings or not set(interface.effects) <= _ONLY_GIVES:
            return False
        return not any(self.origins.readers_of(writer.place_of(key), {writer.id}) for key in interface.writes)


def _may_write(wired: WiredStep) -> bool:
    """Whether a step may write keys that nobody knows of."""
    return wired.kind is None or wired.interface.open
