"""The origin of each value of a wired flow, and the readers of each write, as data."""

from collections.abc import Iterator, Sequence
from typing import Any

from pflow.binding import resolve
from pflow.binding.sources import HOST, Constant, Source, TemplateSource, chosen_by_lead
from pflow.flow.flow import FlowInput
from pflow.flow.reaching import uses, writes_behind, writes_by_name
from pflow.flow.wired import Reference, WiredFlow, WiredStep
from pflow.flow.writes import END, Write
from pflow.flow.written import INPUT, MAPPING, OUTPUT, OVER, PARAM
from pflow.interface.interface import Item
from pflow.values.paths import Path, meet, write_path
from pflow.values.types import Type

Origin = dict[str, Any]
"""The origin of a value: `from` names its kind, the other members depend on that."""

Use = tuple[int, Path, str]
"""A use of the store by its number: the place, and its reader (a step, or an output)."""


class Origins:
    """The origins of a flow's values, and every use of its store."""

    def __init__(self, flow: WiredFlow) -> None:
        self.flow = flow
        self.inputs = {reader: input for input in flow.inputs.values() for reader in input.readers}
        self._uses: dict[tuple[object, str], list[Use]] = {}
        """The uses of each key of the store as written by each step; those of inputs, or of no write, under ""."""
        found = [(place, id or f"output {key}", [write.step for write in by]) for place, id, key, by in uses(flow)]
        found += [(each.path, reader, []) for each in flow.inputs.values() for reader, _ in each.readers]
        found += [(("stdin",), flow.first_read[0], [])] if flow.first_read else []
        for number, (place, reader, by) in enumerate(found):
            for writer in by or [""]:
                self._uses.setdefault((place[0], writer), []).append((number, place, reader))

    def of_read(self, step: WiredStep, key: str) -> list[Origin]:
        """Return the origins of a read: the first that has a value gives it."""
        written = step.step
        item = step.interface.reads.get(key)
        mappings = {key} if self.flow.references_to(step.id, key, MAPPING) else written.input_mappings
        has = {resolve.FLAG: written.inputs, resolve.MAPPING: mappings, resolve.PARAM: written.params}
        rule = resolve.rule_of(item or Item("read", key, Type("any")), has)
        mapped = []
        if rule in (resolve.FLAG, resolve.MAPPING):
            role = INPUT if rule == resolve.FLAG else MAPPING
            mapped = [self._of_source(step.sources.get(key), step.id, role, key, item)]
            if role == INPUT or key not in (written.soft or ()):
                return mapped
        if written.batch is not None and key == written.batch.item:
            return [{"from": "item", "path": key, "over": written.batch.over}]
        found = [*self._by_name(step, key), *mapped]
        if rule == resolve.PARAM and not step.interface.is_apart(key):
            found.append(self._of_stand_in(step, key))
        elif item is not None and rule in (resolve.PARAM, resolve.DEFAULT):
            found.append(self._of_default(step, item))
        return found or [{"from": "nothing"}]

    def of_param(self, step: WiredStep, key: str) -> Origin:
        item = step.interface.params.get(key) or step.interface.reads.get(key)
        return self._of_source(step.params.get(key), step.id, PARAM, key, item)

    def of_batch(self, step: WiredStep) -> Origin:
        return self._of_source(step.over, step.id, OVER, "")

    def of_output(self, name: str) -> Origin:
        return self._of_source(self.flow.outputs.get(name), END, OUTPUT, name)

    def _of_source(self, source: Source | None, step: str, role: str, key: str, item: Item | None = None) -> Origin:
        if item is not None and item.is_secret and isinstance(source, Constant | TemplateSource):
            return {"from": "secret"}
        if isinstance(source, Constant):
            return {"from": "constant", "value": source.value}
        origin = self._of_references(source, step, role, key)
        if chosen_by_lead(item) == HOST and isinstance(source, TemplateSource):
            leads = source.leads()
            return {**origin, "chooses_host": not set(leads) & {*source.from_steps}} if leads else origin
        what = self.flow.led_by_data(step, key)
        return {**origin, f"chooses_{what}": True} if what else origin

    def _of_references(self, source: Source | None, step: str, role: str, key: str) -> Origin:
        origins = [self._of_reference(each) for each in self.flow.references_to(step, key, role)]
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
            batch = self.flow.steps[reference.step].step.batch
            return {"from": "item", "path": path, "over": batch.over if batch else ""}
        if reference.input == "stdin":
            return {"from": "pipe", "path": path}
        store = _of_store(reference.places, writes_behind(self.flow, reference))
        if reference.input is None:
            return store
        given = self._of_input(self.flow.inputs.get(reference.input), path, (reference.step, reference.key))
        return {"from": "latest", "of": [given, store]} if reference.writes else given

    def _by_name(self, step: WiredStep, key: str) -> Iterator[Origin]:
        """Yield the origins of a read that the flow does not mention: the pipe, the store's key, an input."""
        input = self.inputs.get((step.id, key))
        if self.flow.first_read == (step.id, key) and input is None:
            yield {"from": "pipe"}
        if found := writes_by_name(self.flow, step, key):
            yield _of_store([place for place, _ in found], [write for _, write in found])
        if input is not None and not self._is_of_param(input, step, key):
            yield self._of_input(input, input.name, (step.id, key))

    def _of_input(self, input: FlowInput | None, path: str, reader: tuple[str, str]) -> Origin:
        """Return the origin of what an input gives a reader: undeclared, it takes the pipe for the first read alone."""
        origin: Origin = {"from": "input", "path": path}
        if input is None:
            return origin
        origin["input"], origin["flag"] = input.name, input.flag
        return {**origin, "pipe": True} if input.pipe or reader == self.flow.first_read else origin

    def _is_of_param(self, input: FlowInput, step: WiredStep, key: str) -> bool:
        """Return True if the param of that name takes an input, not the read by its own name."""
        named = [each.input for each in self.flow.references_to(step.id, key, PARAM)]
        return input.name in named and input.path != (key,)

    def _of_default(self, step: WiredStep, item: Item) -> Origin:
        """Return the origin of a default, which may end with the value of a param."""
        before, name = step.interface.split_default(item)
        if not name:
            return {"from": "default", "value": item.default}
        origin = self.of_param(step, name) if name in step.params else {"from": "constant", "value": None}
        choices = step.interface.params[name].type.choices
        words = [origin["value"] or choices[0]] if origin["from"] == "constant" else choices
        found: list[Origin] = [{"from": "default", "value": before + word} for word in words]
        return found[0] if len(found) == 1 else {"from": "latest", "of": found}

    def _of_stand_in(self, step: WiredStep, key: str) -> Origin:
        """Return the origin of a param that stands in for a read missing in the store."""
        written = step.step.params[key]
        origin = self.of_param(step, key) if key in step.params else {"from": "constant"}
        if origin["from"] == "secret":
            return origin
        if origin["from"] == "constant":
            return {"from": "param", "value": origin.get("value", written)}
        return {"from": "param", "value": written, "of": [origin]}

    def readers_of(self, place: Path, writers: set[str]) -> list[str]:
        """Return the steps and outputs that read the place, a part of it or its parent, as written by these steps."""
        there = [use for writer in ("", *writers) for use in self._uses.get((place[0], writer), [])]
        return list(dict.fromkeys(reader for _, used, reader in sorted(there) if meet(used, place)))


def _of_store(places: Sequence[Path], writes: Sequence[Write]) -> Origin:
    paths = list(dict.fromkeys(map(write_path, places)))
    return {"from": "store", "paths": paths, "written_by": list(dict.fromkeys(write.step for write in writes))}


def _merged(origins: list[Origin]) -> list[Origin]:
    merged: dict[tuple[str, ...], Origin] = {}
    others = []
    for origin in origins:
        if origin["from"] != "store":
            others.append(origin)
            continue
        there = merged.setdefault(tuple(origin["paths"]), {**origin, "written_by": []})
        there["written_by"] = list(dict.fromkeys([*there["written_by"], *origin["written_by"]]))
    return [*merged.values(), *others]
