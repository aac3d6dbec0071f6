"""Literals for a flow's inputs: each place that reads a declared input gets the input's value instead."""

from __future__ import annotations

import copy

from pflow.errors import BAD_DATA, PflowError
from pflow.flow.pipe.carry import is_certain
from pflow.flow.rewrite import escaped, reference
from pflow.flow.wiring import wire
from pflow.flow.written import INPUT, MAPPING, OUTPUT, OVER, PARAM
from pflow.jsontext import encode
from pflow.paths import look_up, parse_path, write_path
from pflow.plan.paste.stands import Literal, fitted, replaced
from pflow.templates import TEMPLATE, references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from pflow.flow.flow import Flow, Step
    from pflow.flow.wired import Reference, WiredStep, Write
    from pflow.interface import Interface, Item
    from pflow.paths import Path
    from pflow.plan.paste.stands import Stands

_PIPED = ("stdin",)


def values_of(flow: Flow, values: dict[str, Any]) -> dict[str, Any]:
    """The value of each declared input that has one: the one that is given, else its default."""
    defaults = {name: given.default for name, given in flow.inputs.items() if given.has_default}
    return defaults | {name: value for name, value in values.items() if name in flow.inputs}


def input_meant(flow: Flow, values: dict[str, Any], reference: Reference) -> str | None:
    """The declared input that a reference means.

    A data flag of the same name is stored only where nothing is, so that an input with a value stays what it is.
    """
    name = str(reference.path[0])
    if name not in flow.inputs or is_of_step(flow, reference.path) or reference.is_item:
        return None
    are_data = all(write.is_data for write in reference.writes)
    return name if reference.input == name or (reference.writes and are_data and name in values) else None


def is_of_step(flow: Flow, path: Path) -> bool:
    """Whether a path begins with a step's id, and so means that step's write."""
    return len(path) > 1 and any(step.id == path[0] for step in flow.steps)


class Literals:
    """Replaces the declared inputs in a copy of a flow. `kept` are those that only a path can say."""

    def __init__(self, flow: Flow, values: dict[str, Any]) -> None:
        self.flow = copy.deepcopy(flow)
        self.plan = wire(self.flow)
        self.reaching = self.plan
        self.values = values_of(flow, values)
        self.kept: set[str] = set()
        self.at: dict[tuple[str, str, str], Stands] = {}
        for each in self.plan.references:
            self._note(each)

    def replaced(self) -> Flow:
        self._refuse_overwritten()
        for wired in self.plan.steps.values():
            self._replace_flags(wired)
            self._replace_mappings(wired)
            self._replace_by_name(wired)
            self.kept |= {str(path[0]) for path in self.at.get((wired.id, OVER, ""), ())}
        for name, source in self.flow.outputs.items():
            self.flow.outputs[name] = self._output(name, source)
        kept = {name: given for name, given in self.flow.inputs.items() if name in self.kept or self._is_open(name)}
        self.flow.inputs = kept if self.kept else {}
        return self.flow

    def _is_open(self, name: str) -> bool:
        return name not in self.values

    def _note(self, reference: Reference) -> None:
        """Keep what stands for a reference to a declared input, by the step, the role and the key that it is for."""
        name = input_meant(self.flow, self.values, reference)
        if name is None or self._is_secret(reference):
            return
        stand = self._stand(name, reference.path)
        if stand is not None:
            self.at.setdefault((reference.step, reference.role, reference.key), {})[reference.path] = stand

    def _is_secret(self, reference: Reference) -> bool:
        wired = self.plan.steps.get(reference.step)
        item = _item(wired.interface, reference.key) if wired else None
        return item is not None and "secret" in item.marks

    def _stand(self, name: str, path: Path) -> Literal | Path | None:
        if name not in self.values:
            return (*_PIPED, *path[1:]) if self.flow.inputs[name].pipe else None
        try:
            value = look_up(self.values[name], path, 1)
            if not isinstance(value, bytes):
                encode(value)
            any(references(escaped(value)))
        except (PflowError, ValueError):  # it is not there, or nothing that JSON can say
            return None
        return Literal(value)

    def _refuse_overwritten(self) -> None:
        """Raise PflowError (65) where a name may mean an input, or what a step has written over it."""
        for each in self.plan.references:
            if each.step and not is_of_step(self.flow, each.path) and each.path[0] in self.flow.inputs:
                self._refuse_if_doubtful(str(each.path[0]), each.step, each.writes)
        for id, wired in self.plan.steps.items():
            for key, item in wired.interface.reads.items():
                if key in self.flow.inputs and not ("explicit" in item.marks or _is_given(wired.step, key)):
                    found = self.reaching.writes_at(id, (key,))
                    self._refuse_if_doubtful(key, id, [write for _, write in found])

    def _refuse_if_doubtful(self, name: str, reader: str, writes: Iterable[Write]) -> None:
        writers = {write.step for write in writes if not write.is_data}
        if writers and not is_certain(self.plan, writers, reader):
            what = f"'{reader}' reads it before and after {' or '.join(sorted(writers))} writes it"
            raise PflowError(f"cannot replace the input '{name}' by its value: {what}", exit=BAD_DATA)

    def _replace_flags(self, wired: WiredStep) -> None:
        for role, values in ((INPUT, wired.step.inputs), (PARAM, wired.step.params)):
            for key in list(values):
                stands = self.at.get((wired.id, role, key))
                if stands:
                    written = values[key]
                    self._set(values, _item(wired.interface, key), key, replaced(written, stands), written)

    def _replace_mappings(self, wired: WiredStep) -> None:
        step = wired.step
        for key, source in list(step.input_mappings.items()):
            stands = self.at.get((wired.id, MAPPING, key))
            if not stands:
                continue
            new = self._mapping(wired, key, source, stands)
            if new is None:
                del step.input_mappings[key]
            elif isinstance(new, Literal):
                del step.input_mappings[key]
                if key not in step.inputs:  # which win
                    written = source if isinstance(source, str) and source.startswith(TEMPLATE) else None
                    self._set(step.inputs, wired.interface.reads.get(key), key, new.value, written)
            else:
                step.input_mappings[key] = new

    def _mapping(self, wired: WiredStep, key: str, source: Any, stands: Stands) -> Any:
        """The new source of a mapping, the Literal in its place, or None where the pipe fills the read unasked."""
        if isinstance(source, list) and len(source) > 1:
            self.kept |= {str(path[0]) for path in stands}
            return source
        if isinstance(source, str) and source.startswith(TEMPLATE):
            text = replaced(source.removeprefix(TEMPLATE), stands)
            return TEMPLATE + text if isinstance(text, str) and any(references(text)) else Literal(text)
        stand = next(iter(stands.values()))
        if isinstance(stand, Literal):
            return Literal(escaped(stand.value))
        return None if stand == _PIPED and self._is_first_pipe_read(wired, key) else write_path(stand)

    def _is_first_pipe_read(self, wired: WiredStep, key: str) -> bool:
        read = wired.interface.pipe_read
        return wired.id == self.plan.graph.first and read is not None and read.name == key

    def _replace_by_name(self, wired: WiredStep) -> None:
        """Give a read its input's value that takes the input by the name that both have."""
        step = wired.step
        for name in self.flow.inputs:
            item = wired.interface.reads.get(name)
            if item is None or "secret" in item.marks or _is_given(step, name):
                continue
            found = self.reaching.writes_at(wired.id, (name,))
            if any(not write.is_data for _, write in found) or (found and name not in self.values):
                continue
            stand = None if "explicit" in item.marks else self._stand(name, (name,))
            if isinstance(stand, Literal):
                self._set(step.inputs, item, name, escaped(stand.value))
            elif stand is not None and not self._is_first_pipe_read(wired, name):
                step.input_mappings[name] = write_path(stand)

    def _set(self, values: dict[str, Any], item: Item | None, key: str, value: Any, written: Any = None) -> None:
        """Put a template, or what was made of one, where it belongs; null where that is the default means unset.

        `written` is the template as it was, None for a value that a path or a name gave.
        """
        if value is None and item is not None and item.default is None:
            values.pop(key, None)
        else:
            values[key] = value if any(references(value)) else fitted(item, value, written)

    def _output(self, name: str, source: str) -> str:
        stands = self.at.get(("", OUTPUT, name))
        if not stands:
            return source
        if source.startswith(TEMPLATE):
            text = replaced(source.removeprefix(TEMPLATE), stands)
        else:
            stand = stands[parse_path(source)]
            text = escaped(stand.value) if isinstance(stand, Literal) else reference(stand)
        if isinstance(text, str):
            return TEMPLATE + text
        self.kept |= {str(path[0]) for path in stands}
        return source


def _item(interface: Interface, key: str) -> Item | None:
    return interface.reads.get(key) or interface.params.get(key)


def _is_given(step: Step, key: str) -> bool:
    is_item = step.batch is not None and step.batch.item == key
    return key in step.inputs or key in step.input_mappings or is_item
