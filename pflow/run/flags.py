"""The flags of a flow: what each may set, and what the words of a command set (PF01, PF02, PF04, PF07)."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.flag_value import FlagValue
from pflow.common import OF_RUNS
from pflow.errors import USAGE, PflowError
from pflow.flow.input_flags import names_of, readers_of
from pflow.interface import Item
from pflow.paths import meet
from pflow.types import Type

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pflow.flow.wired import FlowInput, WiredFlow, WiredStep
    from pflow.paths import Path

INPUT, DATA, PARAM, OPEN = "input", "data", "param", "open"

REFUSED = "refused"
"""The kind of a flag's item that is there to say why it is refused."""

_OF_DIALECTS = ("input_bindings", "output_bindings", "config", "input_key", "output_key")


class Target:
    """What a flag may set: an input of the flow, a read that its step gives itself, a param, or anything (`OPEN`).

    `OPEN` is for steps that may take any key: of one step where `step` is set, else of all of them. `flag` means this
    target and no other.
    """

    __slots__ = ("flag", "item", "key", "kind", "step")

    def __init__(self, kind: str, step: str, key: str, item: Item, flag: str = "") -> None:
        self.kind = kind
        self.step = step
        self.key = key
        self.item = item
        self.flag = (flag or f"--{step}.{key}").replace("_", "-")

    @property
    def name(self) -> tuple[str, str, str]:
        return (self.kind, self.step, self.key)


class FlowFlags:
    """Every flag that a flow has, by its name with `_` for `-`; a step's own as `id.flag` too."""

    def __init__(self, wired: WiredFlow) -> None:
        self.wired = wired
        self.targets: dict[str, list[Target]] = {}
        self.refused: dict[str, str] = {}
        """Why a flag sets nothing, by its name."""
        self.is_open = any(step.interface.open for step in wired.steps.values())
        self.fed = {reader for each in wired.inputs.values() for reader in readers_of(wired, each)}
        """The reads and params that an input gives as it is: its flags are theirs."""
        for each in wired.inputs.values():
            self._add_input(each)
        for step in wired.steps.values():
            self._add_reads(step)
            self._add_params(step)
            self._refuse_bindings(step)

    def _add_input(self, wanted: FlowInput) -> None:
        item = Item("read", wanted.name, wanted.type)
        item.doc, item.default = wanted.doc, wanted.default
        if wanted.secret:
            item.marks.add("secret")
        target = Target(INPUT, wanted.step or "", wanted.name, item, wanted.flag)
        for name in names_of(wanted):
            self._add(name, target)
        for step, key in readers_of(self.wired, wanted):
            read = self.wired.steps[step].interface.reads.get(key)
            for name in [key, *(read.flags if read else [])]:
                self._add(f"{step}.{name}", target)

    def _add_reads(self, step: WiredStep) -> None:
        for key, item in step.interface.reads.items():
            for name in [key, *item.flags]:
                if key in step.step.inputs and (step.id, key) not in self.fed:
                    self._add(name, Target(DATA, step.id, key, item), step)
                else:
                    self._refuse_read(step, name, key)

    def _add_params(self, step: WiredStep) -> None:
        """The declared params, and the keys that only the flow names."""
        for key, item in step.interface.params.items():
            for name in [key, *item.flags] if (step.id, key) not in self.fed else []:
                self._add(name, Target(PARAM, step.id, key, item), step)
        known = {*step.interface.reads, *step.interface.params, *_OF_DIALECTS}
        for key, value in {**step.step.inputs, **step.step.params}.items():
            if key not in known:
                kind = PARAM if key not in step.step.inputs else OPEN if key in step.step.params else DATA
                self._add(key, Target(kind, step.id, key, Item("read", key, _type_of(value))), step)

    def _refuse_bindings(self, step: WiredStep) -> None:
        """Refuse what only the flow says: what binds keys, which of them another step feeds, and what steps write."""
        for key in _OF_DIALECTS:
            if key in step.step.params:
                self._refuse(step, key, "what binds keys stands in the flow (PF01)")
        for key in step.step.input_mappings:
            if key not in step.interface.reads and (step.id, key) not in self.fed:
                self._refuse_read(step, key, key)
        for place in _places_of(step):
            if len(place) == 1:
                self.refused.setdefault(_plain(str(place[0])), f"'{step.id}' writes '{place[0]}' (PF07)")

    def _refuse_read(self, step: WiredStep, name: str, key: str) -> None:
        """Refuse a flag for what a step takes from another one's write."""
        source = step.sources.get(key)
        if source is not None and source.paths:
            writer = self._writer_of(source.paths[0])
            of = f", which '{writer}' writes" if writer and writer not in source.origin else ""
            self._refuse(step, name, f"'{step.id}' takes it from {source.origin}{of} (PF01)")
        elif (step.id, key) not in self.fed:
            self._refuse(step, name, f"an earlier step writes '{key}' (PF07)")

    def _writer_of(self, path: Path) -> str:
        steps = self.wired.steps.values()
        return next((step.id for step in steps if any(meet(path, place) for place in _places_of(step))), "")

    def _refuse(self, step: WiredStep, name: str, why: str) -> None:
        self.refused.setdefault(_plain(name), why)
        self.refused[_plain(f"{step.id}.{name}")] = why

    def _add(self, name: str, target: Target, step: WiredStep | None = None) -> None:
        """Let a flag set a target; for one of a step, `id.flag` too."""
        for each in [name, f"{step.id}.{name}"] if step else [name]:
            known = self.targets.setdefault(_plain(each), [])
            if target.name not in [other.name for other in known]:
                known.append(target)

    def items(self) -> dict[str, Item]:
        """One item for each flag, for the parser; flags that are refused too, so that it is said why."""
        items = {name: Item(REFUSED, name, Type("str")) for name in self.refused}
        for name, targets in self.targets.items():
            item = targets[0].item
            items[name] = copy = Item("read", name, item.type)
            copy.default, copy.marks, copy.doc, copy.env = item.default, item.marks, item.doc, item.env
        return items

    def targets_of(self, texts: dict[str, list[str | bool]]) -> list[tuple[Target, Any]]:
        """What the flags set. Raises PflowError (2) for a flag that fits several, none, or what another step gives."""
        flags: dict[tuple[str, str, str], str] = {}
        found = []
        for name, written in texts.items():
            flag = "--" + name.replace("_", "-")
            target = self._target(name, flag)
            if target.name in flags:
                raise PflowError(f"cannot take {flag}: {flags[target.name]} gives the same", exit=USAGE)
            flags[target.name] = flag
            type = target.item.type
            found.append((target, FlagValue(flag, type, written, verbatim=True).value))
        return found

    def pins(self, pinned: Mapping[str, Any], targets: list[tuple[Target, Any]]) -> list[tuple[Target, Any]]:
        """The pinned values as if by flags, for the inputs that none of the `targets` sets."""
        inputs = {each.key: each for known in self.targets.values() for each in known if each.kind == INPUT}
        for target, _ in targets:
            inputs.pop(target.key if target.kind == INPUT else "", None)
        return [(inputs[name], value) for name, value in pinned.items() if name in inputs]

    def _target(self, name: str, flag: str) -> Target:
        targets = self.targets.get(name, [])
        targets = [each for each in targets if self._is_meant(each, name)] or targets
        if not targets and name in self.refused:
            raise PflowError(f"cannot take {flag}: {self.refused[name]}", exit=USAGE)
        if len(targets) > 1:
            own = [each.flag for each in targets if each.flag != flag and _plain(each.flag[2:]) not in OF_RUNS]
            hint = " or ".join(own) or "no flag gives it: call an input of the flow something else"
            raise PflowError(f"cannot take {flag}: it fits several steps (PF02)", hint=hint, exit=USAGE)
        return targets[0] if targets else self._open_target(name, flag)

    def _is_meant(self, target: Target, name: str) -> bool:
        """Whether a flag is the very name of an input that the flow declares, and so means that."""
        wanted = self.wired.inputs.get(target.key) if target.kind == INPUT else None
        return wanted is not None and wanted.declared and _plain(wanted.name) == name

    def _open_target(self, name: str, flag: str) -> Target:
        """What a flag sets that no step declares: any key of the one step that it names, or of all that may take it."""
        id, dot, key = name.rpartition(".")
        if not dot:
            return Target(OPEN, "", name, Item("read", name, Type("any")))
        for step in self.wired.steps.values():
            if step.interface.open and _plain(step.id) == id:
                return Target(OPEN, step.id, key, Item("read", key, Type("any")))
        raise PflowError(f"cannot take {flag}: no such flag", hint="--help lists the flags", exit=USAGE)


def _places_of(step: WiredStep) -> list[Path]:
    return [step.place_of(key) for key in [*step.interface.writes, *step.targets]]


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _type_of(value: Any) -> Type:
    """The type of a flag for a key that only the flow names: that of its value there, for an int any number."""
    for name, kind in (("bool", bool), ("float", int), ("float", float), ("list", list), ("dict", dict)):
        if isinstance(value, kind):
            return Type(name)
    return Type("any")
