"""The flags of a flow: what each may set, and what the words of a command set (PF01, PF02, PF04, PF07)."""

from __future__ import annotations

from pflow.errors import USAGE, PflowError
from pflow.interface import Item
from pflow.stage.given import Given as GivenFlag
from pflow.stage.given import as_written
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.plan import Plan, Wired

INPUT, DATA, PARAM, OPEN = "input", "data", "param", "open"


class Target:
    """What a flag may set: an input of the flow, a read that its step gives itself, a param, or anything (`OPEN`).

    `way` is the flag that means this one and no other.
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

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.targets: dict[str, list[Target]] = {}
        self.refused: dict[str, str] = {}
        self.is_open = any(wired.interface.open for wired in plan.steps.values())
        for given in plan.inputs.values():
            self._add_input(given)
        for wired in plan.steps.values():
            self._add_step(wired)

    def _add_input(self, given: Any) -> None:
        item = Item("read", given.name, given.type)
        item.doc, item.default = given.doc, given.default
        if given.secret:
            item.marks.add("secret")
        way = "--" + (".".join(given.readers[0]) if given.readers else given.name)
        target = Target(INPUT, given.step or "", given.name, item, way)
        for name in dict.fromkeys([given.name, *given.flags, *([given.readers[0][1]] if given.step else [])]):
            self._add(name, target)
        for step, key in given.readers:
            self._add(f"{step}.{key}", target)

    def _add_step(self, wired: Wired) -> None:
        for key, item in wired.interface.reads.items():
            for name in [key, *item.flags]:
                if key in wired.step.inputs:
                    self._add_both(wired, name, Target(DATA, wired.id, key, item))
                else:
                    self._refuse(wired, name, key)
        for key in wired.step.inputs:
            if key not in wired.interface.reads:
                self._add_both(wired, key, Target(DATA, wired.id, key, Item("read", key, Type("any"))))
        params = dict(wired.interface.params)
        for key in wired.step.params:
            if key not in params and key not in wired.interface.reads and key not in _OF_DIALECTS:
                params[key] = Item("param", key, _type_of(wired.step.params[key]))
        for key, item in params.items():
            for name in [key, *item.flags]:
                self._add_both(wired, name, Target(PARAM, wired.id, key, item))

    def _refuse(self, wired: Wired, name: str, key: str) -> None:
        """Note why a flag cannot give what a step takes from another one's write."""
        source = wired.sources.get(key)
        if source is not None and source.paths:
            why = f"'{wired.id}' takes it from {source.origin} (PF01)"
            self.refused.setdefault(_plain(name), why)
            self.refused[_plain(f"{wired.id}.{name}")] = why
        elif not any((wired.id, key) in given.readers for given in self.plan.inputs.values()):
            why = f"an earlier step writes '{key}' (PF07)"
            self.refused.setdefault(_plain(name), why)
            self.refused[_plain(f"{wired.id}.{name}")] = why

    def _add_both(self, wired: Wired, name: str, target: Target) -> None:
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
            items.setdefault(name, Item("read", name, Type("str")))
        return items

    def settle(self, texts: dict[str, list[str | bool]]) -> list[tuple[Target, Any]]:
        """What the flags set. Raises PflowError (2) for a flag that fits several, none, or what another step gives."""
        return [(target, value) for name, given in texts.items() for target, value in self._settle(name, given)]

    def _settle(self, name: str, texts: list[str | bool]) -> list[tuple[Target, Any]]:
        flag = "--" + name.replace("_", "-")
        targets = self.targets.get(name, [])
        if not targets and name in self.refused:
            raise PflowError(f"cannot take {flag}: {self.refused[name]}", exit=USAGE)
        if len(targets) > 1:
            ways = " or ".join(each.way.replace("_", "-") for each in targets)
            raise PflowError(f"cannot take {flag}: it fits several steps (PF02)", hint=ways, exit=USAGE)
        target = targets[0] if targets else Target(OPEN, "", name, Item("read", name, Type("any")))
        written = as_written(flag, target.item.type, texts, True)
        return [(target, GivenFlag(flag, target.item.type, written, verbatim=True).value)]


_OF_DIALECTS = ("input_bindings", "output_bindings", "config", "input_key", "output_key")


class Given:
    """What a run was given: values for inputs by name, and for params and own data of steps by step and name."""

    def __init__(self) -> None:
        self.inputs: dict[str, Any] = {}
        self.params: dict[str, dict[str, Any]] = {}
        self.data: dict[str, dict[str, Any]] = {}

    def give_input(self, plan: Plan, name: str, value: Any) -> None:
        """An input for one step alone is that step's data."""
        self.inputs[name] = value
        given = plan.inputs.get(name)
        if given is not None and given.step is not None:
            step, key = given.readers[0]
            self.data.setdefault(step, {})[key] = value

    def give_param(self, wired: Wired, key: str, value: Any) -> None:
        written = wired.step.params
        if isinstance(written.get(key), int) and isinstance(value, float) and value.is_integer():
            value = int(value)
        params = self.params.setdefault(wired.id, {})
        params[key] = value
        config = params.get("config", written.get("config"))
        if isinstance(config, dict) and key in config:
            params["config"] = {**config, key: value}


def give(plan: Plan, flags: list[tuple[Target, Any]]) -> Given:
    """What the flags of a command give."""
    given = Given()
    for target, value in flags:
        if target.kind == INPUT:
            given.give_input(plan, target.key, value)
        elif target.kind == DATA:
            given.data.setdefault(target.step, {})[target.key] = value
        elif target.kind == PARAM:
            given.give_param(plan.steps[target.step], target.key, value)
        else:
            given.inputs[target.key] = value
            for wired in plan.steps.values():
                if wired.interface.open:
                    given.give_param(wired, target.key, value)
    return given


def _named(item: Item, name: str) -> Item:
    copy = Item("read", name, item.type)
    copy.default, copy.marks, copy.doc, copy.env = item.default, item.marks, item.doc, item.env
    return copy


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _type_of(value: Any) -> Type:
    """The type of a param that only the flow names, so that a flag for it becomes the same."""
    for name, kind in (("bool", bool), ("int", int), ("float", float), ("list", list), ("dict", dict)):
        if isinstance(value, kind):
            return Type("float" if name == "int" else name)
    return Type("any")
