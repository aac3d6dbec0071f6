"""The provenance of a flow's values and the effects of its steps, as data: for explain, and for the gate."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pflow.binding import resolve
from pflow.binding.sources import HOST, Constant, Source, TemplateSource, chosen_by_lead
from pflow.flow.expressions import INPUT, MAPPING, OUTPUT, OVER, PARAM
from pflow.flow.flow import FlowInput
from pflow.flow.graph import END, Write
from pflow.flow.references import uses, writes_behind, writes_by_name
from pflow.flow.wired_flow import Reference, WiredFlow, WiredStep
from pflow.interface.interface import ANYTHING, COMMANDS, LIMITS, Field
from pflow.values.paths import Path, are_nested, write_path
from pflow.values.types import Type, names_schema_file

Origin = dict[str, Any]
"""The origin of a value: `from` is its kind, on which the other members depend."""

Use = tuple[int, Path, str]
"""A use of the store: its number, by which uses are sorted, the place, and the reader, a step or an output."""


class Provenance:
    """Where the values of a flow come from, and who reads each place of its store."""

    def __init__(self, flow: WiredFlow) -> None:
        self.flow = flow
        self.inputs = {reader: input for input in flow.inputs.values() for reader in input.readers}
        self._uses: dict[tuple[object, str], list[Use]] = {}
        """The uses of each key at the top of the store, by (key, writer); without a writer, by (key, "")."""
        found = [(place, id or f"output {key}", [write.step for write in by]) for place, id, key, by in uses(flow)]
        found += [(each.path, reader, []) for each in flow.inputs.values() for reader, _ in each.readers]
        found += [(("stdin",), flow.first_read[0], [])] if flow.first_read else []
        for number, (place, reader, by) in enumerate(found):
            for writer in by or [""]:
                self._uses.setdefault((place[0], writer), []).append((number, place, reader))

    def of_read(self, step: WiredStep, key: str) -> list[Origin]:
        """Return the origins of a read, in the order in which a run tries them."""
        written = step.step
        field = step.interface.reads.get(key)
        mappings = {key} if self.flow.references_to(step.id, key, MAPPING) else written.input_mappings
        has = {resolve.FLAG: written.inputs, resolve.MAPPING: mappings, resolve.PARAM: written.params}
        rule = resolve.rule_of(field or Field("read", key, Type("any")), has)
        mapped = []
        if rule in (resolve.FLAG, resolve.MAPPING):
            role = INPUT if rule == resolve.FLAG else MAPPING
            mapped = [self._of_source(step.sources.get(key), step.id, role, key, field)]
            if role == INPUT or key not in (written.soft or ()):
                return mapped
        if written.batch is not None and key == written.batch.item:
            return [{"from": "item", "path": key, "over": written.batch.over}]
        found = [*self._by_name(step, key), *mapped]
        if rule == resolve.PARAM and not step.interface.fills_no_read(key):
            found.append(self._of_stand_in(step, key))
        elif field is not None and rule in (resolve.PARAM, resolve.DEFAULT):
            found.append(self._of_default(step, field))
        return found or [{"from": "nothing"}]

    def of_param(self, step: WiredStep, key: str) -> Origin:
        field = step.interface.params.get(key) or step.interface.reads.get(key)
        return self._of_source(step.params.get(key), step.id, PARAM, key, field)

    def of_batch(self, step: WiredStep) -> Origin:
        return self._of_source(step.over, step.id, OVER, "")

    def of_output(self, name: str) -> Origin:
        return self._of_source(self.flow.outputs.get(name), END, OUTPUT, name)

    def _of_source(self, source: Source | None, step: str, role: str, key: str, field: Field | None = None) -> Origin:
        # An account is printed: no text of a secret may be in it.
        if field is not None and field.is_secret and isinstance(source, Constant | TemplateSource):
            return {"from": "secret"}
        if isinstance(source, Constant):
            return {"from": "constant", "value": source.value}
        origin = self._of_references(source, step, role, key)
        if chosen_by_lead(field) == HOST and isinstance(source, TemplateSource):
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
        """Yield the origins of a read that takes the store's key of its name: the pipe, a write, an input."""
        input = self.inputs.get((step.id, key))
        if self.flow.first_read == (step.id, key) and input is None:
            yield {"from": "pipe"}
        if found := writes_by_name(self.flow, step, key):
            yield _of_store([place for place, _ in found], [write for _, write in found])
        if input is not None and not self._is_of_param(input, step, key):
            yield self._of_input(input, input.name, (step.id, key))

    def _of_input(self, input: FlowInput | None, path: str, reader: tuple[str, str]) -> Origin:
        """Return an input as an origin. If it is undeclared, the pipe gives it only to the first read."""
        origin: Origin = {"from": "input", "path": path}
        if input is None:
            return origin
        origin["input"], origin["flag"] = input.name, input.flag
        return {**origin, "pipe": True} if input.pipe or reader == self.flow.first_read else origin

    def _is_of_param(self, input: FlowInput, step: WiredStep, key: str) -> bool:
        """Return True if a param takes an input of another name: then the read named like the param does not."""
        named = [each.input for each in self.flow.references_to(step.id, key, PARAM)]
        return input.name in named and input.path != (key,)

    def _of_default(self, step: WiredStep, field: Field) -> Origin:
        """Return a default as an origin. It may end with the value of a param, as in `picture.$format`."""
        before, name = step.interface.split_default(field)
        if not name:
            return {"from": "default", "value": field.default}
        origin = self.of_param(step, name) if name in step.params else {"from": "constant", "value": None}
        choices = step.interface.params[name].type.choices
        words = [origin["value"] or choices[0]] if origin["from"] == "constant" else choices
        found: list[Origin] = [{"from": "default", "value": before + word} for word in words]
        return found[0] if len(found) == 1 else {"from": "latest", "of": found}

    def _of_stand_in(self, step: WiredStep, key: str) -> Origin:
        """Return the origin of a param that gives a read its value if the store has none."""
        written = step.step.params[key]
        origin = self.of_param(step, key) if key in step.params else {"from": "constant"}
        if origin["from"] == "secret":
            return origin
        if origin["from"] == "constant":
            return {"from": "param", "value": origin.get("value", written)}
        return {"from": "param", "value": written, "of": [origin]}

    def readers_of(self, place: Path, writers: set[str]) -> list[str]:
        """Return who reads a place, a part of it or an object around it, if one of these steps wrote it."""
        there = [use for writer in ("", *writers) for use in self._uses.get((place[0], writer), [])]
        return list(dict.fromkeys(reader for _, used, reader in sorted(there) if are_nested(used, place)))


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


SCHEMAS = ("schema", "schema_multi")
"""Params that may be the path of a file, though their type does not say so."""

FILES_OF_LLM = ("attachment", "at", *SCHEMAS)
"""Params of the llm node that name files to send. Its effect is the network, which does not show that."""

HISTORY_OF_LLM = ("continue", "conversation")
"""Params of the llm node that send an earlier conversation from llm's log."""

FROM_ENVIRONMENT = ("header", "proxy")
"""Params in which env:NAME sends an environment variable's value."""

SEVERITY = (ANYTHING, "runs commands", "writes files", "network", "reads files")

Outside = dict[str, list[Origin]]
"""The origins of a subflow's inputs, and of its params that the flow around it sets (`step.param`)."""


@dataclass(frozen=True)
class Effect:
    """An effect of a step.

    `name` is one of SEVERITY. `ids` lead to the step: the steps of the flows around it, then its own. `values` has the
    origins of each key that says what the effect acts on: a path, a command, a model.
    """

    name: str
    ids: tuple[str, ...]
    step: WiredStep
    values: dict[str, list[Origin]]

    @property
    def step_path(self) -> str:
        return "/".join(self.ids)

    def as_json(self) -> dict[str, Any]:
        return {"effect": self.name, "step": self.step_path, "what": self.values}


_ACTS_ON: dict[str, Callable[[Field], bool]] = {
    ANYTHING: lambda field: True,
    "runs commands": lambda field: field.name in COMMANDS or (field.name == "repo" and field.type.is_path),
    "writes files": lambda field: field.type.is_path,
    # The other path of a copy is its source, which it only reads.
    "copies files": lambda field: field.name == "destination",
    "network": lambda field: (
        field.name in ("url", "method", "repo", *FROM_ENVIRONMENT, *LIMITS, *FILES_OF_LLM, *HISTORY_OF_LLM)
    ),
    "reads files": lambda field: (
        (field.type.is_path and field.name != "destination") or field.name in ("pattern", "hidden")
    ),
}
"""For each effect, the reads and params that say what it acts on."""


def effects_of_flow(provenance: Provenance) -> list[Effect]:
    """Return the effects of all steps, those of subflows too, the worst first."""
    return sorted(_effects(provenance, (), {}), key=lambda effect: SEVERITY.index(effect.name))


def _effects(provenance: Provenance, above: tuple[str, ...], outside: Outside) -> Iterator[Effect]:
    for step in provenance.flow.steps.values():
        inner = step.subflow
        if inner is not None:
            yield from _effects(Provenance(inner), (*above, step.id), _outside(step, provenance, outside))
            continue
        for name in step.interface.touches:
            values = _values_acted_on(step, name, provenance, outside)
            traced = {key: _traced(each, outside) for key, each in values.items()}
            yield Effect(name, (*above, step.id), step, traced)


def _outside(step: WiredStep, provenance: Provenance, outside: Outside) -> Outside:
    params = [key for key in step.interface.params if step.step.params.get(key) is not None]
    values = {key: provenance.of_read(step, key) for key in step.interface.reads}
    values |= {key: [provenance.of_param(step, key)] for key in params}
    return {key: _traced(each, outside) for key, each in values.items()}


def _traced(origins: list[Origin], outside: Outside) -> list[Origin]:
    """Replace origins that are inputs of a subflow by the origins that these have in the flow around it."""
    traced = []
    for origin in origins:
        name = origin.get("path" if origin["from"] == "pipe" else "input")
        if name in outside and origin["path"] == name:
            traced += outside[name]
        else:
            traced.append({**origin, "of": _traced(origin["of"], outside)} if "of" in origin else origin)
    return traced


def _values_acted_on(step: WiredStep, effect: str, provenance: Provenance, outside: Outside) -> dict[str, list[Origin]]:
    interface = step.interface
    is_copy = effect == "writes files" and "reads files" in interface.effects and "destination" in interface.reads
    acts_on = _ACTS_ON["copies files" if is_copy else effect]
    values = {key: provenance.of_read(step, key) for key, field in interface.reads.items() if acts_on(field)}
    for key, field in interface.params.items():
        above = outside.get(f"{step.id}.{key}")
        if (above or key in step.step.params) and acts_on(field):
            values[key] = above or [provenance.of_param(step, key)]
        # A param that the flow does not set has its default, which the gate has to see too.
        elif acts_on(field) and not field.env and not field.required and field.default:
            values[key] = [{"from": "constant", "value": field.default}]
    return {key: each for key, each in values.items() if not (key in SCHEMAS and _is_inline(each[0]))}


def _is_inline(schema: Origin) -> bool:
    value = schema.get("value")
    return schema["from"] == "constant" and not (isinstance(value, str) and names_schema_file(value))
