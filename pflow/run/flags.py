"""The flags of a flow: what each may set, and what the words of a command set (PF01, PF02, PF04, PF07)."""

from __future__ import annotations

from pflow.binding.given import Given as GivenFlag
from pflow.binding.given import as_written
from pflow.common import OF_RUNS
from pflow.errors import USAGE, PflowError
from pflow.flow.input_flags import means, names_of, readers_of
from pflow.interface import Item
from pflow.paths import meet
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import FlowInput, WiredFlow, WiredStep
    from pflow.paths import Path

INPUT, DATA, PARAM, OPEN = "input", "data", "param", "open"

REFUSED = "refused"
"""The kind of a flag's item that is there to say why it is refused."""


class Target:
    """What a flag may set: an input of the flow, a read that its step gives itself, a param, or anything (`OPEN`).

    `OPEN` is for steps that may take any key: of one step where `step` is set, else of all of them. `way` is the flag
    that means this target and no other.
    """

    __slots__ = ("item", "key", "kind", "step", "way")

    def __init__(self, kind: str, step: str, key: str, item: Item, way: str = "") -> None:
        self.kind = kind
        self.way = way or f"--{step}.{key}"
        self.step = step
        self.key = key
        self.item = item

    @property
    def name(self) -> tuple[str, str, str]:
        return (self.kind, self.step, self.key)


class FlowFlags:
    """Every flag that a flow has, by its name with `_` for `-`; a step's own as `id.flag` too."""

    def __init__(self, plan: WiredFlow) -> None:
        self.plan = plan
        self.targets: dict[str, list[Target]] = {}
        self.refused: dict[str, str] = {}
        self.is_open = any(wired.interface.open for wired in plan.steps.values())
        self.fed = {reader for given in plan.inputs.values() for reader in readers_of(plan, given)}
        """What an input gives as it is: its flags are theirs."""
        for given in plan.inputs.values():
            self._add_input(given)
        for wired in plan.steps.values():
            self._add_step(wired)

    def _add_input(self, given: FlowInput) -> None:
        item = Item("read", given.name, given.type)
        item.doc, item.default = given.doc, given.default
        if given.secret:
            item.marks.add("secret")
        target = Target(INPUT, given.step or "", given.name, item, given.flag)
        for name in names_of(given):
            self._add(name, target)
        for step, key in readers_of(self.plan, given):
            read = self.plan.steps[step].interface.reads.get(key)
            for name in [key, *(read.flags if read else [])]:
                self._add(f"{step}.{name}", target)

    def _add_step(self, wired: WiredStep) -> None:
        for key, item in wired.interface.reads.items():
            for name in [key, *item.flags]:
                if key in wired.step.inputs and (wired.id, key) not in self.fed:
                    self._add_both(wired, name, Target(DATA, wired.id, key, item))
                else:
                    self._refuse(wired, name, key)
        for key, item in wired.interface.params.items():
            for name in [key, *item.flags] if (wired.id, key) not in self.fed else []:
                self._add_both(wired, name, Target(PARAM, wired.id, key, item))
        for key, value in {**wired.step.inputs, **wired.step.params}.items():
            if not (key in wired.interface.reads or key in wired.interface.params or key in _OF_DIALECTS):
                self._add_both(wired, key, Target(_kind_of(wired, key), wired.id, key, _item_of(key, value)))
        self._refuse_bindings(wired)

    def _refuse_bindings(self, wired: WiredStep) -> None:
        """Note what only the flow says: what binds keys, which of them another step feeds, and what steps write."""
        for key in _OF_DIALECTS:
            if key in wired.step.params:
                self._note_refused(wired, key, "what binds keys stands in the flow (PF01)")
        for key in wired.step.input_mappings:
            if key not in wired.interface.reads and (wired.id, key) not in self.fed:
                self._refuse(wired, key, key)
        for place in [wired.place_of(key) for key in [*wired.interface.writes, *wired.targets]]:
            if len(place) == 1:
                self.refused.setdefault(_plain(str(place[0])), f"'{wired.id}' writes '{place[0]}' (PF07)")

    def _refuse(self, wired: WiredStep, name: str, key: str) -> None:
        """Note why a flag cannot give what a step takes from another one's write."""
        source = wired.sources.get(key)
        if source is not None and source.paths:
            writer = self._writer_of(source.paths[0])
            of = f", which '{writer}' writes" if writer and writer not in source.origin else ""
            self._note_refused(wired, name, f"'{wired.id}' takes it from {source.origin}{of} (PF01)")
        elif (wired.id, key) not in self.fed:
            self._note_refused(wired, name, f"an earlier step writes '{key}' (PF07)")

    def _writer_of(self, path: Path) -> str:
        for id, wired in self.plan.steps.items():
            if any(meet(path, wired.place_of(key)) for key in [*wired.interface.writes, *wired.targets]):
                return id
        return ""

    def _note_refused(self, wired: WiredStep, name: str, why: str) -> None:
        self.refused.setdefault(_plain(name), why)
        self.refused[_plain(f"{wired.id}.{name}")] = why

    def _add_both(self, wired: WiredStep, name: str, target: Target) -> None:
        self._add(name, target)
        self._add(f"{wired.id}.{name}", target)

    def _add(self, name: str, target: Target) -> None:
        known = self.targets.setdefault(_plain(name), [])
        if target.name not in [each.name for each in known]:
            known.append(target)

    def items(self) -> dict[str, Item]:
        """One item for each flag, for the parser; flags that are refused too, so that it is said why."""
        items: dict[str, Item] = {}
        for name, targets in self.targets.items():
            items[name] = _named(targets[0].item, name)
        for name in self.refused:
            items.setdefault(name, Item(REFUSED, name, Type("str")))
        return items

    def settle(self, texts: dict[str, list[str | bool]]) -> list[tuple[Target, Any]]:
        """What the flags set. Raises PflowError (2) for a flag that fits several, none, or what another step gives."""
        flags: dict[tuple[str, str, str], str] = {}
        settled = []
        for name, given in texts.items():
            flag = "--" + name.replace("_", "-")
            target = self._target(name, flag)
            if target.name in flags:
                raise PflowError(f"cannot take {flag}: {flags[target.name]} gives the same", exit=USAGE)
            flags[target.name] = flag
            written = as_written(flag, target.item.type, given, True)
            settled.append((target, GivenFlag(flag, target.item.type, written, verbatim=True).value))
        return settled

    def _target(self, name: str, flag: str) -> Target:
        targets = self.targets.get(name, [])
        targets = [each for each in targets if self._is_meant(each, name)] or targets
        if not targets and name in self.refused:
            raise PflowError(f"cannot take {flag}: {self.refused[name]}", exit=USAGE)
        if len(targets) > 1:
            flags = [each.way.replace("_", "-") for each in targets]
            ways = [each for each in flags if each != flag and _plain(each[2:]) not in OF_RUNS]
            hint = " or ".join(ways) or "no flag gives it: call an input of the flow something else"
            raise PflowError(f"cannot take {flag}: it fits several steps (PF02)", hint=hint, exit=USAGE)
        return targets[0] if targets else self._open_target(name, flag)

    def _is_meant(self, target: Target, name: str) -> bool:
        """Whether a flag is the very name of an input that the flow declares, and so means that."""
        given = self.plan.inputs.get(target.key) if target.kind == INPUT else None
        return given is not None and _plain(given.name) == name and means(self.plan, given)

    def _open_target(self, name: str, flag: str) -> Target:
        """What a flag sets that no step declares: any key of the one step that it names, or of all that may take it."""
        step, dot, key = name.rpartition(".")
        if not dot:
            return Target(OPEN, "", name, Item("read", name, Type("any")))
        for wired in self.plan.steps.values():
            if wired.interface.open and _plain(wired.id) == step:
                return Target(OPEN, wired.id, key, Item("read", key, Type("any")))
        raise PflowError(f"cannot take {flag}: no such flag", hint="--help lists the flags", exit=USAGE)


_OF_DIALECTS = ("input_bindings", "output_bindings", "config", "input_key", "output_key")


def _named(item: Item, name: str) -> Item:
    copy = Item("read", name, item.type)
    copy.default, copy.marks, copy.doc, copy.env = item.default, item.marks, item.doc, item.env
    return copy


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _kind_of(wired: WiredStep, key: str) -> str:
    """What a key is that only the flow names: data, a param, or both where it says both."""
    if key in wired.step.inputs:
        return OPEN if key in wired.step.params else DATA
    return PARAM


def _item_of(key: str, value: Any) -> Item:
    """An item for a key that only the flow names, so that a flag for it becomes the same type."""
    return Item("read", key, _type_of(value))


def _type_of(value: Any) -> Type:
    for name, kind in (("bool", bool), ("int", int), ("float", float), ("list", list), ("dict", dict)):
        if isinstance(value, kind):
            return Type("float" if name == "int" else name)
    return Type("any")
