"""Who uses what: each place of the store that a step, or an output, takes, with the writes that may be there."""

from __future__ import annotations

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.wired import Reference, WiredFlow, WiredStep, Write
    from pflow.values.paths import Path


def uses(flow: WiredFlow) -> Iterator[tuple[Path, str, str, list[Write]]]:
    """Each place that is taken, by which step (END for an output) as which key, and the writes that it may be."""
    for reference in flow.references:
        if not reference.trouble and not reference.is_item:
            for place in reference.places:
                yield place, reference.step, reference.key, writes_behind(flow, reference)
    for step in flow.steps.values():
        for key in step.interface.reads.keys() - step.step.inputs.keys() - step.step.input_mappings.keys():
            for place, write in writes_by_name(flow, step, key):
                yield place, step.id, key, [write]


def writes_behind(flow: WiredFlow, reference: Reference) -> list[Write]:
    """The writes that a reference may meet: those it names, and others to its place that may be there."""
    found = [write for place in reference.places for _, write in flow.writes_at(reference.step, place)]
    known = {(write.step, write.key): write for write in [*reference.writes, *found]}
    return list(known.values()) if reference.writes else []


def writes_by_name(flow: WiredFlow, step: WiredStep, key: str) -> list[tuple[Path, Write]]:
    """The writes that a read may take by its name, each with its place."""
    item = step.interface.reads.get(key)
    return flow.writes_at(step.id, (key,)) if item is not None and "explicit" not in item.marks else []
