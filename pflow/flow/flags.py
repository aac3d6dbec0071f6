"""The flags of a flow: what each one sets, which are refused and why, and which one help shows for an input."""

from __future__ import annotations

from pflow import Any, Callable, Mapping
from pflow.binding.flag_value import BoundField, FlagValue
from pflow.binding.sources import Constant
from pflow.binding.store import KEY_PARAMS
from pflow.errors import USAGE, PflowError
from pflow.flow.flow import FlowInput
from pflow.flow.ir import BINDINGS, OF_BINDINGS
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.common import OF_RUNS, RUN_FLAGS, is_shared
from pflow.interface.interface import FORMS, READ, REFUSED, Field, spell_flag
from pflow.stage.flags import type_of
from pflow.stage.words import refusal
from pflow.text.naming import listed
from pflow.values.templates import is_reference
from pflow.values.types import Type

Target = tuple[str, str, str]
"""What a flag sets: INPUT, DATA, PARAM or OPEN, the id of the step, and the name."""

INPUT, DATA, PARAM, OPEN = "input", "data", "param", "open"
"""What a flag can set: an input of the flow; a read, in the step's `inputs`; a param; or a key of an open step (of all
open steps, if the flag names no step)."""

OF_DIALECTS = (*OF_BINDINGS, *KEY_PARAMS)


def only_binds(step: WiredStep, key: str) -> bool:
    """Return True for a param of an older form of flow that only repeats the step's mappings, so it sets nothing."""
    return key in OF_DIALECTS and not step.interface.open and key not in step.interface.params


def _read_texts(flag: str, field: Field | None, texts: list[str | bool], *, is_open: bool) -> Any:
    return FlagValue(flag, type_of(field, texts, is_open=is_open), texts, verbatim=True).value


def read_argument(flag: str, field: Field | None, value: Any, *, is_open: bool = False) -> Any:
    """Convert a value that a Python program gives for a flag. Raises PflowError (2)."""
    if field is None or is_open:
        return value
    value = [*value] if isinstance(value, tuple) else value.__fspath__() if hasattr(value, "__fspath__") else value
    return BoundField(field.name, Constant(value, ""), field.but(is_declared=True), exit=USAGE).find({})


class FlowFlags:
    """All flags of a flow, by name with `_` for `-`. Those of a step have a second name, `id.flag`."""

    def __init__(self, wired: WiredFlow) -> None:
        self.wired = wired
        declares_flags = bool(wired.flow.inputs) or wired.flow.dialect == BINDINGS
        self.is_open = not declares_flags and any(step.interface.open for step in wired.steps.values())
        """True if unknown flags pass, to steps that take any key."""
        self.warnings: list[str] = []
        """A warning for each unknown flag that passed although its name is near to a known one."""
        self.targets: dict[str, dict[Target, Field]] = {}
        self.refused: dict[str, tuple[WiredStep, str]] = {}
        """The step and the key that each refused flag would set."""
        self.named = {*wired.flow.inputs, *(reference.input for reference in wired.references)}
        """The inputs whose names a person wrote, in a declaration or a reference."""
        self.fed: set[tuple[str, str]] = set()
        """The reads and params that an input gives unchanged: their flags are flags of the input."""
        for each in [*wired.places.values(), *wired.inputs.values()]:
            self._add_input(each)
        for step in wired.steps.values():
            self._add_step(step)

    def _add_input(self, wanted: FlowInput) -> None:
        field, target = wanted.as_field(), (INPUT, "", wanted.name)
        for name in _names_of(wanted):
            self._add(name, target, field)
        for id, key in wanted.readers:
            step = self.wired.steps[id]
            value = step.step.params.get(key)
            if key in step.interface.params and not (isinstance(value, str) and is_reference(value)):
                continue  # the input is a part of a template, and a flag of the param replaces the whole template
            paths = [each.path for each in self.wired.references_to(id, key) if each.input == wanted.name]
            if paths and (wanted.name,) not in paths:
                continue  # each of these places has a flag of its own
            self.fed.add((id, key))
            read = step.interface.reads.get(key)
            field.marks |= read.marks.intersection(FORMS) if read else set()
            for name in [key, *(read.flags if read else [])]:
                self._add(f"{id}.{name}", target, field)

    def _add_step(self, step: WiredStep) -> None:
        reads, params = step.interface.reads, step.interface.params
        written = {**step.step.params, **step.step.inputs}
        for key in {**reads, **params, **written, **step.step.input_mappings}:
            if (step.id, key) in self.fed:
                continue
            kind = _kind_of(step, key)
            field = reads.get(key) or params.get(key) or Field("read", key, _type_of(written.get(key)))
            for name in [name for each in (key, *field.flags) for name in (each, f"{step.id}.{each}")]:
                if kind:
                    self._add(name, (kind, step.id, key), field)
                else:
                    self.refused.setdefault(_plain(name), (step, key))
        for key in {**step.interface.writes, **step.targets}:
            place = step.place_of(key)
            if len(place) == 1 and step.step.made is None:
                self.refused.setdefault(_plain(str(place[0])), (step, str(place[0])))

    def _add(self, name: str, target: Target, field: Field) -> None:
        self.targets.setdefault(_plain(name), {}).setdefault(target, field)

    def fields(self) -> dict[str, Field]:
        """Return the field of each flag for the parser: flags of the run too, and refused ones with the reason.

        Ambiguous flags come last, since the parser suggests the first one for a bare word.
        """
        fields = {name: self._refused(name) for name in self.refused if name not in OF_RUNS}
        for name, targets in sorted(self.targets.items(), key=lambda target: len(self._meant(target[0])) > 1):
            field = next(iter(targets.values()))
            marks = field.marks - {"word"}  # `pflow run` takes only flags after a flow
            fields[name] = field.but(kind=READ, name=name, flags=[], letter="", default=None, marks=marks)
        of_runs = {
            name: flag for name, flag in OF_RUNS.items() if name not in fields or name in RUN_FLAGS or flag.refused
        }
        return {**fields, **of_runs}

    def _refused(self, name: str) -> Field:
        return Field(REFUSED, name, Type("str"), refused=(f": {_why(self.wired, *self.refused[name])}", ""))

    def encodings(self) -> list[str]:
        """Return the flag for the encoding of each step that loads text, unless the flow sets it."""
        steps = [step for step in self.wired.steps.values() if is_shared(step.interface.params.get("encoding"))]
        names = [f"{_plain(step.id)}.encoding" for step in steps if "encoding" not in step.step.params]
        return [name for name in names if name in self.targets]

    @property
    def listed(self) -> str:
        """The flags as a list in words, without the `--ID.KEY` forms."""
        return listed(spell_flag(name) for name in self.targets if "." not in name)

    def of_steps(self) -> list[tuple[Field, list[str]]]:
        """Return the fields of steps that flags set, but no inputs, each with the flags that mean no other field."""
        found: dict[Target, tuple[Field, list[str]]] = {}
        for name, targets in self.targets.items():
            for target, field in self._meant(name).items():
                if target[0] in (DATA, PARAM) and len(targets) == 1 and name not in OF_RUNS:
                    found.setdefault(target, (field, []))[1].append(name)
        return list(found.values())

    def values(self, given: Mapping[str, Any], read: Callable[..., Any] = _read_texts) -> dict[Target, Any]:
        """Return what each flag sets, with the value. `read` converts it: from texts, or from a value of Python.

        Raises PflowError (2) for a flag that is ambiguous, unknown or refused.
        """
        flags: dict[Target, str] = {}
        found = {}
        for name, written in given.items():
            flag = spell_flag(name)
            target, field = self.target(name, flag)
            if target in flags:
                raise PflowError(f"cannot take {flag}: {flags[target]} gives the same value", exit=USAGE)
            flags[target] = flag
            step = self.wired.steps.get(target[1])
            found[target] = read(flag, field, written, is_open=step is not None and step.interface.open)
            if field is not None and (fault := self.wired.form_fault(target[1], field, found[target])):
                raise fault
        return found

    def target(self, name: str, flag: str) -> tuple[Target, Field | None]:
        """Return what a flag sets, and its field. Raises PflowError (2) as `values` does."""
        targets = self._meant(name)
        if len(targets) > 1:
            own = [
                given.flag if kind == INPUT and (given := self.wired.input(key)) else spell_flag(f"{id}.{key}")
                for kind, id, key in targets
            ]
            hint = " or ".join(each for each in own if each != flag and _plain(each[2:]) not in OF_RUNS)
            hint = hint or "rename an input of the flow"
            raise PflowError(f"cannot take {flag}: it fits several steps (PF02)", hint=hint, exit=USAGE)
        for target, field in targets.items():
            return target, field
        if name in self.refused:
            raise refusal(self._refused(name))
        from pflow.stage.wrong_words import doubts, unknown_flag

        id, dot, key = name.rpartition(".")
        for step in self.wired.steps.values() if self.is_open else ():
            if not dot or (step.interface.open and _plain(step.id) == id):
                self.warnings += doubts(flag, self.fields())
                return (OPEN, step.id if dot else "", key), None
        raise unknown_flag(flag, flag, self.fields(), f"flags: {self.listed}")

    def _meant(self, name: str) -> dict[Target, Field]:
        """Return what a flag may set. If a person gave an input this name, the flag sets that input only."""
        targets = self.targets.get(name, {})
        for target, field in targets.items():
            if target[0] == INPUT and _plain(target[2]) == name and target[2] in self.named:
                return {target: field}
        return targets

    def shown(self, wanted: FlowInput) -> str:
        """Return the flag that help shows for an input: one that is neither ambiguous nor a flag of `pflow run` itself.

        It is the name that a person gave the input, or else its shortest name, or `--ID.READ`.
        """
        names = [wanted.name] if wanted.name in self.named else _names_of(wanted)
        alone = [name for name in names if _plain(name) not in OF_RUNS and len(self._meant(_plain(name))) == 1]
        dotted = [f"{id}.{key}" for id, key in wanted.readers if (id, key) in self.fed]
        alone = alone or [name for name in dotted if len(self._meant(_plain(name))) == 1][:1]
        return spell_flag(min(alone or [wanted.name], key=len))


def name_flags(wired: WiredFlow) -> None:
    """Set the `flag` of each input, which help shows."""
    flags = FlowFlags(wired)
    for each in [*wired.places.values(), *wired.inputs.values()]:
        each.flag = flags.shown(each)


def _names_of(wanted: FlowInput) -> list[str]:
    """Return the names of an input: its own, other flags of its readers, and its read's if only one step has it."""
    return [wanted.name, *wanted.flags, *([wanted.read] if wanted.step else [])]


def _kind_of(step: WiredStep, key: str) -> str:
    """Return what a flag for a key sets; "" if only the flow may set it: a binding, or a read that a step feeds."""
    if key in OF_DIALECTS and key in step.step.params:
        return ""
    is_own = key in step.step.params and key not in step.interface.reads
    if key in step.step.inputs:
        return OPEN if is_own else DATA
    return PARAM if is_own or key in step.interface.params else ""


def _why(flow: WiredFlow, step: WiredStep, key: str) -> str:
    source = step.sources.get(key)
    if source is not None and source.paths:
        return f"'{step.id}' takes it from {source.origin} (PF01)"
    if (step.id, key) == flow.first_read:
        return f"'{step.id}' takes it from the pipe (PF01)"
    if key in step.interface.reads:
        return f"an earlier step writes '{key}' (PF07)"
    return "only the flow binds keys (PF01)" if key in OF_DIALECTS else f"'{step.id}' writes '{key}' (PF07)"


def _type_of(value: Any) -> Type:
    """Return the type of a flag for a key of an open node: the type of its value in the flow; any number is a float."""
    for name, kind in (("bool", bool), ("float", (int, float)), ("list", list), ("dict", dict)):
        if isinstance(value, kind):
            return Type(name)
    return Type("any")


def _plain(name: str) -> str:
    return name.replace("-", "_")
