"""The effects of a flow's steps, worst first, each with the values that name what it touches, for the gate."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pflow.explain.origins import Origin, Origins
from pflow.flow.wired import WiredFlow, WiredStep
from pflow.interface.interface import ANYTHING, COMMANDS, LIMITS, Item
from pflow.values.types import names_schema_file

SCHEMAS = ("schema", "schema_multi")
"""Params that may be the path of a file, though their type is not (pflow.values.types.names_schema_file)."""

FILES_OF_LLM = ("attachment", "at", *SCHEMAS)
"""Params of the llm node that name files to send: its effect is the network."""

HISTORY_OF_LLM = ("continue", "conversation")
"""Params of the llm node that send an earlier conversation, out of llm's own log."""

FROM_ENVIRONMENT = ("header", "proxy")
"""Params that may name variables of the environment (env:NAME), whose values a node sends."""

SEVERITY = (ANYTHING, "runs commands", "writes files", "network", "reads files")

Outside = dict[str, list[Origin]]
"""The origins of each input of a subflow, and of each `step.param` of it that is set from outside."""


@dataclass(frozen=True)
class Effect:
    """One effect of one step.

    `name` is one of SEVERITY; `ids` leads to the step, through the flows around it; `values` has the origins of each
    key that names what is touched: a path, a command, a model.
    """

    name: str
    ids: tuple[str, ...]
    step: WiredStep
    values: dict[str, list[Origin]]

    @property
    def place(self) -> str:
        return "/".join(self.ids)

    def as_json(self) -> dict[str, Any]:
        return {"effect": self.name, "step": self.place, "what": self.values}


_IS_TELLING: dict[str, Callable[[Item], bool]] = {
    ANYTHING: lambda item: True,
    "runs commands": lambda item: item.name in COMMANDS or (item.name == "repo" and item.type.is_path),
    "writes files": lambda item: item.type.is_path,
    "copies files": lambda item: item.name == "destination",  # the source of a copy is only read
    "network": lambda item: (
        item.name in ("url", "method", "repo", *FROM_ENVIRONMENT, *LIMITS, *FILES_OF_LLM, *HISTORY_OF_LLM)
    ),
    "reads files": lambda item: (
        (item.type.is_path and item.name != "destination") or item.name in ("pattern", "hidden")
    ),
}
"""The reads and params that name what an effect touches."""


def effects_of_flow(flow: WiredFlow, origins: Origins) -> list[Effect]:
    """Return every effect of every step, including those of subflows, worst first."""
    return sorted(_effects(flow, origins, (), {}), key=lambda effect: SEVERITY.index(effect.name))


def _effects(flow: WiredFlow, origins: Origins, above: tuple[str, ...], outside: Outside) -> Iterator[Effect]:
    for step in flow.steps.values():
        inner = step.subflow
        if inner is not None:
            yield from _effects(inner, Origins(inner), (*above, step.id), _outside(step, origins, outside))
            continue
        for name in step.interface.touches:
            values = _telling_values(step, name, origins, outside)
            traced = {key: _traced(each, outside) for key, each in values.items()}
            yield Effect(name, (*above, step.id), step, traced)


def _outside(step: WiredStep, origins: Origins, outside: Outside) -> Outside:
    params = [key for key in step.interface.params if step.step.params.get(key) is not None]
    values = {key: origins.of_read(step, key) for key in step.interface.reads}
    values |= {key: [origins.of_param(step, key)] for key in params}
    return {key: _traced(each, outside) for key, each in values.items()}


def _traced(origins: list[Origin], outside: Outside) -> list[Origin]:
    """Replace the inputs of a subflow among these origins by their origins in the outer flow."""
    traced = []
    for origin in origins:
        name = origin.get("path" if origin["from"] == "pipe" else "input")
        if name in outside and origin["path"] == name:
            traced += outside[name]
        else:
            traced.append({**origin, "of": _traced(origin["of"], outside)} if "of" in origin else origin)
    return traced


def _telling_values(step: WiredStep, effect: str, origins: Origins, outside: Outside) -> dict[str, list[Origin]]:
    interface = step.interface
    is_copy = effect == "writes files" and "reads files" in interface.effects and "destination" in interface.reads
    is_telling = _IS_TELLING["copies files" if is_copy else effect]
    values = {key: origins.of_read(step, key) for key, item in interface.reads.items() if is_telling(item)}
    for key, item in interface.params.items():
        above = outside.get(f"{step.id}.{key}")
        if (above or key in step.step.params) and is_telling(item):
            values[key] = above or [origins.of_param(step, key)]
        elif is_telling(item) and not item.env and not item.required and item.default:
            values[key] = [{"from": "constant", "value": item.default}]
    return {key: each for key, each in values.items() if not (key in SCHEMAS and _is_inline(each[0]))}


def _is_inline(schema: Origin) -> bool:
    value = schema.get("value")
    return schema["from"] == "constant" and not (isinstance(value, str) and names_schema_file(value))
