"""Where each value of a flow comes from, and who reads each write: what the wiring settled, in data for people."""

from __future__ import annotations

from pflow.binding.sources import Constant, TemplateSource
from pflow.flow.reaching import Reaching
from pflow.flow.written import INPUT, MAPPING, OUTPUT, OVER, PARAM
from pflow.paths import meet, write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.binding.sources import Source
    from pflow.flow.wired import FlowInput, Reference, WiredFlow, WiredStep, Write
    from pflow.interface import Item
    from pflow.paths import Path

    Origin = dict[str, Any]
    """Where a value comes from: `from` says what it is, the other members are as that needs."""


class Use:
    """One use of a place of the store: which step (None at the end) takes it for which key, who may have written it."""

    __slots__ = ("key", "place", "step", "writes")

    def __init__(self, step: str | None, key: str, place: Path, writes: tuple[Write, ...]) -> None:
        self.step = step
        self.key = key
        self.place = place
        self.writes = writes


class Origins:
    """The origins of a plan's values, and every use of the store that it knows of."""

    def __init__(self, plan: WiredFlow) -> None:
        self.plan = plan
        self.reaching = Reaching(plan)
        self.references: dict[tuple[str, str, str], list[Reference]] = {}
        for reference in plan.references:
            self.references.setdefault((reference.step, reference.role, reference.key), []).append(reference)
        self.inputs = {reader: given for given in plan.inputs.values() for reader in given.readers}
        self._uses: dict[object, list[Use]] = {}
        for use in [*self._written_uses(), *self._uses_by_name()]:
            self._uses.setdefault(use.place[0], []).append(use)

    def of_read(self, wired: WiredStep, key: str) -> list[Origin]:
        """Where a read's value comes from: the first of these that has one."""
        step = wired.step
        item = wired.interface.reads.get(key)
        is_secret = item is not None and "secret" in item.marks
        if key in step.inputs or key in step.input_mappings:
            role = INPUT if key in step.inputs else MAPPING
            return [self._of_source(wired.sources.get(key), wired.id, role, key, is_secret=is_secret)]
        if step.batch is not None and key == step.batch.item:
            return [{"from": "item", "path": key, "over": step.batch.over}]
        return [*self._by_name(wired, key), *self._standing_in(wired, key, item)] or [{"from": "nothing"}]

    def of_param(self, wired: WiredStep, key: str) -> Origin:
        item = wired.interface.params.get(key) or wired.interface.reads.get(key)
        is_secret = item is not None and "secret" in item.marks
        return self._of_source(wired.params.get(key), wired.id, PARAM, key, is_secret=is_secret)

    def of_batch(self, wired: WiredStep) -> Origin:
        return self._of_source(wired.over, wired.id, OVER, "")

    def of_output(self, name: str) -> Origin:
        return self._of_source(self.plan.outputs.get(name), "", OUTPUT, name)

    def _of_source(self, source: Source | None, step: str, role: str, key: str, *, is_secret: bool = False) -> Origin:
        if is_secret and isinstance(source, Constant | TemplateSource):
            return {"from": "secret"}
        if isinstance(source, Constant):
            return {"from": "constant", "value": source.value}
        origins = [self._of_reference(each) for each in self.references.get((step, role, key), [])]
        if isinstance(source, TemplateSource):
            return {"from": "template", "text": source.written, "of": origins}
        origins = _merged(origins)
        if not origins:
            return {"from": "nothing"}
        return origins[0] if len(origins) == 1 else {"from": "latest", "of": origins}

    def _of_reference(self, reference: Reference) -> Origin:
        path = write_path(reference.path)
        if reference.trouble:
            return {"from": "nothing", "path": path, "why": reference.trouble, "remedy": reference.remedy}
        if reference.is_item:
            batch = self.plan.steps[reference.step].step.batch
            return {"from": "item", "path": path, "over": batch.over if batch else ""}
        if reference.input == "stdin":
            return {"from": "pipe", "path": path}
        if reference.input is not None:
            return self._of_input(self.plan.inputs.get(reference.input), path)
        writers = list(dict.fromkeys(write.step for write in self._writes_behind(reference)))
        return {"from": "store", "paths": [write_path(place) for place in reference.places], "written_by": writers}

    def _of_input(self, given: FlowInput | None, path: str) -> Origin:
        origin: Origin = {"from": "input", "path": path}
        if given is None:
            return origin
        origin["input"], origin["flag"] = given.name, given.flag
        if given.pipe:
            origin["pipe"] = True
        return origin

    def _by_name(self, wired: WiredStep, key: str) -> Iterator[Origin]:
        """What a read that nothing is written for takes: the pipe, the store's key of its name, an input."""
        given = self.inputs.get((wired.id, key))
        if self.plan.first_read == (wired.id, key) and given is None:
            yield {"from": "pipe"}
        found = self._found_by_name(wired, key)
        if found:
            writers = list(dict.fromkeys(write.step for _, write in found))
            paths = list(dict.fromkeys(write_path(place) for place, _ in found))
            yield {"from": "store", "paths": paths, "written_by": writers}
        if given is not None and not self._is_of_param(given, wired, key):
            yield self._of_input(given, given.name)

    def _is_of_param(self, given: FlowInput, wired: WiredStep, key: str) -> bool:
        """Whether the param of that name takes an input, and not the read by its own."""
        named = [each.input for each in self.references.get((wired.id, PARAM, key), [])]
        return given.name in named and given.path != (key,)

    def _standing_in(self, wired: WiredStep, key: str, item: Item | None) -> Iterator[Origin]:
        """What stands in for a read that the store does not have: a param of its name, its default."""
        if key in wired.step.params:
            yield self._of_param_for_read(wired, key)
        elif item is not None and not item.required:
            yield {"from": "default", "value": item.default}

    def _of_param_for_read(self, wired: WiredStep, key: str) -> Origin:
        """A param that stands in for a read, with what a reference or a template in it is made `of`."""
        origin = self.of_param(wired, key) if key in wired.params else {"from": "constant"}
        if origin["from"] == "secret":
            return origin
        if origin["from"] == "constant":
            return {"from": "param", "value": origin.get("value", wired.step.params[key])}
        return {"from": "param", "value": wired.step.params[key], "of": [origin]}

    def _found_by_name(self, wired: WiredStep, key: str) -> list[tuple[Path, Write]]:
        item = wired.interface.reads.get(key)
        if item is None or "explicit" in item.marks:
            return []
        return self.reaching.find(self.reaching.at[wired.id], (key,))

    def _written_uses(self) -> Iterator[Use]:
        for reference in self.plan.references:
            if not reference.trouble and not reference.is_item:
                for place in reference.places:
                    yield Use(reference.step or None, reference.key, place, self._writes_behind(reference))

    def _writes_behind(self, reference: Reference) -> tuple[Write, ...]:
        """The writes that a reference may meet: those it names, and others to its place that may stand there."""
        names = self.reaching.at[reference.step] if reference.step else self.reaching.end
        found = [write for place in reference.places for _, write in self.reaching.find(names, place)]
        known = {(write.step, write.key): write for write in [*reference.writes, *found]}
        return tuple(known.values()) if reference.writes else ()

    def _uses_by_name(self) -> Iterator[Use]:
        for wired in self.plan.steps.values():
            for key in wired.interface.reads:
                if key in wired.step.inputs or key in wired.step.input_mappings:
                    continue
                for place, write in self._found_by_name(wired, key):
                    yield Use(wired.id, key, place, (write,))
                given = self.inputs.get((wired.id, key))
                if given is not None:
                    yield Use(wired.id, key, given.path, ())

    def readers_of(self, place: Path, writers: set[str]) -> list[Use]:
        """The uses of what these steps write at a place, or of a part of it, or of what holds it."""
        there = self._uses.get(place[0], [])
        return [use for use in there if meet(use.place, place) and _is_written_by(use, writers)]


def _merged(origins: list[Origin]) -> list[Origin]:
    """One origin for each place: its writers together."""
    merged: dict[tuple[str, ...], Origin] = {}
    others = []
    for origin in origins:
        if origin["from"] != "store":
            others.append(origin)
            continue
        there = merged.setdefault(tuple(origin["paths"]), {**origin, "written_by": []})
        there["written_by"] = list(dict.fromkeys([*there["written_by"], *origin["written_by"]]))
    return [*merged.values(), *others]


def _is_written_by(use: Use, writers: set[str]) -> bool:
    return not use.writes or bool(writers.intersection(write.step for write in use.writes))
