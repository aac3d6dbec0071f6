"""What a flow will touch: the effects of its steps, worst first, with the file or command that each names."""

from __future__ import annotations

from pflow.explain.origins import Origins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pflow.explain.origins import Origin
    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.interface import Item

    Given = dict[str, list[Origin]]
    """For each input of a subflow, and each `step.param` of it that is set from outside, where that is from."""

ANYTHING = "anything"
"""The effect of a node whose interface says nothing."""

SCHEMA = "schema"
"""A param whose value may be a file's path, though its type is another: where it is no JSON object."""

SEVERITY = (ANYTHING, "runs commands", "writes files", "network", "reads files")


def _is_file(item: Item) -> bool:
    return item.type.name == "path" or (item.type.items is not None and item.type.items.name == "path")


_TELLING: dict[str, Callable[[Item], bool]] = {
    ANYTHING: lambda item: True,
    "runs commands": lambda item: item.name == "command",
    "writes files": _is_file,
    "network": lambda item: item.name in ("url", "repo", "model", SCHEMA),
    "reads files": lambda item: _is_file(item) or item.name == "pattern",
}
"""Which reads and params say what an effect touches."""


def touches(plan: WiredFlow, origins: Origins) -> list[dict[str, Any]]:
    """Every `effect` of every `step`, worst first, with `what` it touches: for each telling key, where it is from."""
    found = list(_touches(plan, origins, "", {}))
    return sorted(found, key=lambda touch: SEVERITY.index(touch["effect"]))


def _touches(plan: WiredFlow, origins: Origins, above: str, given: Given) -> Iterator[dict[str, Any]]:
    for wired in plan.steps.values():
        inner = wired.subplan
        if inner is not None:
            outer = {key: origins.of_read(wired, key) for key in wired.interface.reads}
            outer |= {key: [origins.of_param(wired, key)] for key in _set_params(wired)}
            outer = {key: _from_outside(each, given) for key, each in outer.items()}
            yield from _touches(inner, Origins(inner), f"{above}{wired.id}/", outer)
            continue
        for effect in effects_of(wired):
            what = {key: _from_outside(each, given) for key, each in _what(wired, effect, origins, given).items()}
            yield {"effect": effect, "step": above + wired.id, "what": what}


def _set_params(wired: WiredStep) -> list[str]:
    return [key for key in wired.interface.params if wired.step.params.get(key) is not None]


def _from_outside(origins: list[Origin], given: Given) -> list[Origin]:
    """The origins of a value in a subflow, its inputs' replaced by what the step that it stands for gives them."""
    found = []
    for origin in origins:
        name = origin.get("input")
        if name in given and origin["path"] == name:
            found += given[name]
        else:
            found.append({**origin, "of": _from_outside(origin["of"], given)} if "of" in origin else origin)
    return found


def effects_of(wired: WiredStep) -> tuple[str, ...]:
    return (ANYTHING,) if wired.interface.open else wired.interface.effects


def _what(wired: WiredStep, effect: str, origins: Origins, given: Given) -> dict[str, list[Origin]]:
    told = {}
    for key, item in wired.interface.reads.items():
        if _TELLING[effect](item):
            told[key] = origins.of_read(wired, key)
    for key, item in wired.interface.params.items():
        above = given.get(f"{wired.id}.{key}")
        if (above or key in wired.step.params) and _TELLING[effect](item):
            told[key] = above or [origins.of_param(wired, key)]
    return {key: each for key, each in told.items() if not (key == SCHEMA and _is_inline(each[0]))}


def _is_inline(schema: Origin) -> bool:
    """Whether a schema stands here, or is none: only a text that does not begin with { names a file."""
    value = schema.get("value")
    return schema["from"] == "constant" and not (isinstance(value, str) and not value.lstrip().startswith("{"))
