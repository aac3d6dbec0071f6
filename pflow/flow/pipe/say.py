"""Saying a step in words: its type and id, and a flag for each thing that compiling would not make by itself."""

from __future__ import annotations

import os

from pflow.common import COMMON
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.pipe.alike import INPUT, OUTPUT
from pflow.flow.pipe.flags import is_liftable, is_textual, path_text, whole_reference
from pflow.flow.pipe.quote import quote
from pflow.flow.pipe.steps import interface_of_type
from pflow.jsontext import text_of
from pflow.paths import is_step_name, parse_path
from pflow.templates import TEMPLATE, is_reference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow, Step
    from pflow.flow.pipe.alike import Difference
    from pflow.interface import Interface, Item

SILENT, FLAG, MAP_IN = "silent", "flag", "map-in"
"""How an input mapping is said: not at all, by a flag with a template, by --map-in."""


class Sayings:
    """How each mapping of a flow is said; less first, more where that does not read back as it was."""

    def __init__(self, flow: Flow) -> None:
        self.interfaces = {step.id: interface_of_type(step.type, flow.catalog)[0] for step in flow.steps}
        self.steps = {step.id: step for step in flow.steps}
        self.forms = {(step.id, key): self._first_form(step, key) for step in flow.steps for key in step.input_mappings}
        self.apart: set[str] = set()
        """Steps with --id."""
        self.mapped_out: set[tuple[str, str]] = set()
        """Writes with --map-out."""

    def _first_form(self, step: Step, key: str) -> str:
        source, item = self._source(step, key), self.interfaces[step.id].reads.get(key)
        if isinstance(source, str) and source.startswith(TEMPLATE):
            return FLAG
        if item is None or "explicit" in item.marks:
            return self._next_form(step, key, SILENT)
        last = [parse_path(path)[-1] for path in ([source] if isinstance(source, str) else source)]
        is_made = "pipe" in item.marks or set(last) == {key}
        return SILENT if is_made else self._next_form(step, key, SILENT)

    def _next_form(self, step: Step, key: str, form: str) -> str:
        source, item = self._source(step, key), self.interfaces[step.id].reads.get(key)
        text = self._as_template(source)
        is_flag = item is not None and text is not None and is_liftable(item, text) and "secret" not in item.marks
        if form == SILENT and is_flag and item and (isinstance(source, list) or not item.is_stored):
            return FLAG
        return form if isinstance(source, str) and source.startswith(TEMPLATE) else MAP_IN

    def _source(self, step: Step, key: str) -> str | list[str]:
        """A mapping's source; of a template of one reference, which a flag would also store, the path in it."""
        source, item = step.input_mappings[key], self.interfaces[step.id].reads.get(key)
        if item is None or not item.is_stored or not isinstance(source, str) or not source.startswith(TEMPLATE):
            return source
        path = whole_reference(source.removeprefix(TEMPLATE))
        return source if path is None or not is_textual(item) else path_text(path)

    def _as_template(self, source: str | list[str]) -> str | None:
        """A source as a template: what follows `template:`, one reference to the path, or to the name of several."""
        if isinstance(source, str) and source.startswith(TEMPLATE):
            return source.removeprefix(TEMPLATE)
        paths = [parse_path(path) for path in (source if isinstance(source, list) else [source])]
        if len(paths) > 1:
            paths = list({path[1:] if path[0] in self.steps and len(path) > 1 else path for path in paths})
        text = path_text(paths[0]) if len(paths) == 1 else ""
        if not text or (isinstance(source, str) and source != text):
            return None
        return f"${text}" if text.isidentifier() else f"${{{text}}}"

    def say_more(self, differences: list[Difference]) -> bool:
        """Say more where something was missing, writes first, for where they go decides the rest. False at the end."""
        missing = [(each.step, each.key) for each in differences if each.is_missing and each.kind == OUTPUT]
        if any(each.kind == OUTPUT and not each.is_missing for each in differences):
            missing = [(step.id, key) for step in self.steps.values() for key in step.output_mappings]
        grew = [self._say_output(id, key) for id, key in missing]
        if not any(grew):
            missing = [(each.step, each.key) for each in differences if each.is_missing and each.kind == INPUT]
            grew = [self._say_input(id, key) for id, key in missing]
        return any(grew)

    def _say_input(self, id: str, key: str) -> bool:
        before = self.forms[id, key]
        self.forms[id, key] = self._next_form(self.steps[id], key, before)
        return self.forms[id, key] != before

    def _say_output(self, id: str, key: str) -> bool:
        """Say where a write goes: with --id, if that puts it there and every other write is mapped too."""
        mapped, writes = self.steps[id].output_mappings, self.interfaces[id].writes
        if mapped[key] == f"{id}.{key}" and writes.keys() <= mapped.keys() and is_step_name(id):
            grew = id not in self.apart
            self.apart.add(id)
            return grew
        grew = (id, key) not in self.mapped_out
        self.mapped_out.add((id, key))
        return grew

    def words(self, step: Step) -> list[str]:
        """The flags of a step, quoted. Raises PflowError (65) for a value that no flag has."""
        interface, said = self.interfaces[step.id], []
        for key, value in {**step.inputs, **step.params}.items():
            said += _flag(key, interface.reads.get(key) or interface.params.get(key), value, step.id)
        for key in sorted(step.input_mappings, key=lambda key: _place_in(interface, key)):
            said += self._mapping_words(step, key, interface)
        said += [f"--map-out={quote(f'{key}={step.output_mappings[key]}')}" for key in self._out_keys(step)]
        said += [f"--id={step.id}"] if step.id in self.apart else []
        fields = (("retries", step.retries), ("wait", step.wait), ("timeout", step.timeout))
        return said + [f"--{name}={_json(value)}" for name, value in fields if value is not None]

    def _mapping_words(self, step: Step, key: str, interface: Interface) -> list[str]:
        source, form = self._source(step, key), self.forms[step.id, key]
        if form == SILENT:
            return []
        if form == FLAG:
            _check_template(key, interface.reads.get(key), source, step.id)
            return _flag(key, interface.reads.get(key), self._as_template(source), step.id)
        paths = source if isinstance(source, list) else [source]
        return [f"--map-in={quote(f'{key}={path}')}" for path in paths]

    def _out_keys(self, step: Step) -> list[str]:
        return [key for key in step.output_mappings if (step.id, key) in self.mapped_out]


def _place_in(interface: Interface, key: str) -> int:
    reads = list(interface.reads)
    return reads.index(key) if key in reads else len(reads)


def _check_template(key: str, item: Item | None, source: str | list[str], id: str) -> None:
    """Raise PflowError (65) for a template in a mapping that a flag does not say."""
    if item is None or isinstance(source, list):
        return
    if "verbatim" in item.marks:
        raise _unsayable(id, key, "its flag takes no template")
    if item.is_stored:
        raise _unsayable(id, key, "a flag with a template is stored too, which a mapping is not")


def _flag(key: str, item: Item | None, value: Any, id: str) -> list[str]:
    """The words that give a read or a param its value."""
    name = key.replace("_", "-")
    if name.replace("-", "_") in COMMON:
        raise _unsayable(id, key, "every step has a flag of that name")
    type = item.type.name if item else "str"
    if type == "bool" and isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [f"--{name}={quote(text)}" for text in _texts(key, type, value, id)]


def _texts(key: str, type: str, value: Any, id: str) -> list[str]:
    if isinstance(value, bytes):
        return [os.fsdecode(value)]
    if isinstance(value, str):
        return [value]
    if type == "list" and isinstance(value, list) and _is_plain_list(value):
        return list(value)
    if type in ("list", "dict", "int", "float") and value is not None:
        return [_json(value)]
    raise _unsayable(id, key, f"a flag of type {type} gives texts only")


def _json(value: Any) -> str:
    """A value as JSON, as one would write it: 60 for 60.0."""
    text = text_of(value)
    return text.removesuffix(".0") if isinstance(value, float) else text


def _is_plain_list(value: list[Any]) -> bool:
    """Whether a list can be said as one flag an item: texts that are no JSON, and not one that is a reference."""
    if not value or not all(isinstance(item, str) and not item.lstrip().startswith("[") for item in value):
        return False
    return len(value) > 1 or not is_reference(value[0])


def _unsayable(id: str, key: str, why: str) -> PflowError:
    return PflowError(f"no flag gives '{id}' its '{key}': {why}", exit=BAD_DATA)
