"""Which paths a step reaches: each value that may stand there when it runs, as far as it is known before."""

from __future__ import annotations

import os

from pflow.explain.effects import SCHEMA
from pflow.explain.words import say
from pflow.paths import write_path
from pflow.plan.gate.patterns import folders_of
from pflow.templates import TEMPLATE, expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.explain.origins import Origin
    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.interface import Item

_FILES = ("reads files", "writes files")


class Reached:
    """A path that an effect reaches, through a key of the step's; None where it is not known, and `why`."""

    __slots__ = ("effect", "key", "path", "why")

    def __init__(self, effect: str, key: str, path: str | None, why: str = "") -> None:
        self.effect = effect
        self.key = key
        self.path = path
        self.why = why


class _Unknown(Exception):
    """A value that is settled only when the flow runs; its words say where it comes from."""


class Reach:
    """What is known of a flow before it runs: `values` are its inputs', `has_stdin` says that a store may come in."""

    def __init__(self, plan: WiredFlow, values: dict[str, Any], *, has_stdin: bool) -> None:
        self.plan = plan
        self.values = values
        self.has_stdin = has_stdin

    def paths(self, touch: dict[str, Any]) -> list[Reached]:
        """The paths of one of its touches (pflow.explain.effects), hidden ones and params too."""
        wired = _step(self.plan, touch["step"])
        if touch["effect"] not in _FILES:
            schema = touch["what"].get(SCHEMA) if _kind_name(wired) == "llm" else None
            return list(self._of_key("reads files", SCHEMA, schema, is_inner=True, is_bare=False)) if schema else []
        is_inner = self.plan.steps.get(wired.id) is not wired
        found: list[Reached] = []
        for key, origins in touch["what"].items():
            is_bare = self.has_stdin and (is_inner or not _is_explicit(wired, key))
            found += self._of_key(touch["effect"], key, origins, is_inner=is_inner, is_bare=is_bare)
        for key, item in _unset_params(wired, touch["what"]):
            found += _of_default(touch["effect"], key, item)
        return _listed(found)

    def _of_key(
        self, effect: str, key: str, origins: list[Origin], *, is_inner: bool, is_bare: bool
    ) -> Iterator[Reached]:  # fmt: skip
        """Each path that a key may be. `is_bare` says that the store which comes in may hold the key too."""
        try:
            if is_inner and _has_template(origins):
                raise _Unknown(say(origins[0]))  # its names are those within
            found = [value for origin in origins for value in self._values_of(origin, is_bare=is_bare)]
            for path in [path for value in found for path in _paths_in(value)]:
                yield Reached(effect, key, path)
        except _Unknown as unknown:
            yield Reached(effect, key, None, f"from {unknown}")

    def _values_of(self, origin: Origin, *, is_bare: bool) -> list[Any]:
        """What a value may be. Raises _Unknown."""
        kind = origin["from"]
        if kind in ("default", "param") and is_bare:
            raise _Unknown(say(origin))
        if kind in ("constant", "default") or (kind == "param" and "of" not in origin):
            return [origin["value"]]
        if kind == "input":
            return self._of_input(origin)
        if kind in ("latest", "param"):
            return [value for each in origin["of"] for value in self._values_of(each, is_bare=is_bare)]
        if kind == "template":
            return [self._expanded(origin)]
        raise _Unknown(say(origin))

    def _of_input(self, origin: Origin) -> list[Any]:
        """An input's value; nothing of one that stays unset, so that what comes after it counts."""
        name = origin.get("input", "")
        given = self.plan.inputs.get(name)
        if given is None or origin["path"] != name:
            raise _Unknown(say(origin))
        if name in self.values:
            return [self.values[name]]
        if given.required or given.pipe or (self.has_stdin and given.step is None):
            raise _Unknown(f"{say(origin)}, which has no value")
        return []

    def _expanded(self, origin: Origin) -> Any:
        """A template whose every name is an input with a value."""
        known = {each["path"]: self._of_input(each) for each in origin["of"] if each["from"] == "input"}
        if len(known) < len(origin["of"]) or not all(known.values()):
            raise _Unknown(say(origin))
        text = origin["text"]
        text = text.removeprefix(TEMPLATE) if isinstance(text, str) else text
        try:
            return expand(text, lambda path: known[write_path(path)][0])
        except (KeyError, ValueError):
            raise _Unknown(say(origin)) from None


def _step(plan: WiredFlow, place: str) -> WiredStep:
    """The step that a touch names: `outer/inner` is one of a flow within."""
    while True:
        at = next(id for id in sorted(plan.steps, key=len, reverse=True) if place == id or place.startswith(f"{id}/"))
        wired = plan.steps[at]
        if place == at or wired.subplan is None:
            return wired
        plan, place = wired.subplan, place[len(at) + 1 :]


def _kind_name(wired: WiredStep) -> str:
    """The node's own name: a step may also call it by its class."""
    return wired.kind.name if wired.kind is not None else wired.step.type


def _is_explicit(wired: WiredStep, key: str) -> bool:
    item = wired.interface.reads.get(key)
    return item is None or "explicit" in item.marks


def _has_template(origins: list[Origin]) -> bool:
    return any(origin["from"] == "template" or _has_template(origin.get("of", [])) for origin in origins)


def _unset_params(wired: WiredStep, told: dict[str, Any]) -> Iterator[tuple[str, Item]]:
    for key, item in wired.interface.params.items():
        if item.type.name == "path" and key not in told:
            yield key, item


def _of_default(effect: str, key: str, item: Item) -> Iterator[Reached]:
    if item.env and os.environ.get(item.env):
        yield Reached(effect, key, None, f"from the environment's {item.env}")
    elif isinstance(item.default, str):
        yield Reached(effect, key, item.default)


def _paths_in(value: Any) -> list[str]:
    if value is None or value == "":
        return []
    if isinstance(value, list):
        return [path for each in value for path in _paths_in(each)]
    if isinstance(value, bytes):
        return [os.fsdecode(value)]
    if not isinstance(value, str):
        raise _Unknown(f"a value that is no path: {say({'from': 'constant', 'value': value})}")
    return [value]


def _listed(found: list[Reached]) -> list[Reached]:
    """The same, with a pattern (list-files) as each directory that it looks into."""
    patterns = [each for each in found if each.key == "pattern" and each.path is not None]
    folders = [each.path for each in found if each.key == "directory" and each.path is not None] or ["."]
    rest = [each for each in found if each not in patterns]
    for each in patterns:
        for folder in folders:
            ways = folders_of(os.path.join(folder, each.path or ""))
            rest += [Reached(each.effect, each.key, way, "a pattern that leads to too many places") for way in ways]
    return rest
