"""Writing a flow as pipe syntax, or the reason why there is no pipe syntax for it."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.common import COMMON
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.flow import MAX_VISITS
from pflow.flow.pipe.compile import parse_pipe
from pflow.flow.pipe.parse import free_id, is_action
from pflow.flow.pipe.scan import quote
from pflow.flow.pipe.unwire import Unwired, difference, unsayable
from pflow.jsontext import text_of
from pflow.templates import is_reference

if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Edge, Flow, Step
    from pflow.interface import Interface, Item

    Chain = list[tuple[str, str]]
    """Steps in a row, each with the action that leads to it; "" for the first."""


def write_pipe(flow: Flow) -> str:
    """What compiling makes by itself is left out. Versions that are asked for are in a comment."""
    try:
        _refuse_unsayable(flow)
        unwired = Unwired(flow)
        text = _text(unwired)
        if error := difference(unwired.wanted, parse_pipe([text], flow.catalog)):
            raise error
    except PflowError as error:
        what = f"cannot write the flow in pipe syntax: {error.message}"
        raise PflowError(what, hint=error.hint, exit=BAD_DATA) from None
    except ValueError as error:  # a mapping that is no path
        raise PflowError(f"cannot write the flow in pipe syntax: {error}", exit=BAD_DATA) from None
    return text


def _refuse_unsayable(flow: Flow) -> None:
    """Raise PflowError for what pipe syntax has no words for."""
    ids = [step.id for step in flow.steps]
    known = set(ids)
    for step in flow.steps:
        if step.batch is not None:
            raise PflowError(f"'{step.id}' runs once for each of '{step.batch.over}' (a batch), which has no pipe form")
        if step.max_visits is not None:
            raise PflowError(f"the max_visits of '{step.id}' has no pipe form")
    for edge in flow.edges:
        if not is_action(edge.action):
            raise PflowError(f"the action '{edge.action}' is no word")
    whole = {
        "no step": not ids,
        "two steps of one name": len(known) < len(ids),
        "declared inputs": bool(flow.inputs),
        "declared outputs": bool(flow.outputs),
        "max_visits": flow.max_visits != MAX_VISITS,
        "an edge of a step that is not there": any({edge.source, edge.target} - known for edge in flow.edges),
        "mappings of a step that is not there": bool(flow.stray_mappings),
    }
    for what, is_so in whole.items():
        if is_so:
            raise PflowError(f"it has {what}", hint="its JSON says it all")


def _text(unwired: Unwired) -> str:
    flow, steps = unwired.written, {step.id: step for step in unwired.steps}
    chains = _Chains(flow).found
    mentioned = [id for chain in chains for id, _ in chain]
    named = _named(flow.steps, {id for id in mentioned if mentioned.count(id) > 1}, unwired.apart)
    met: set[str] = set()
    versions = [f"{step.type} {step.version}" for step in flow.steps if step.version is not None]
    lines = [f"# versions: {', '.join(versions)}"] if versions else []
    for chain in chains:
        for id, action in chain:
            step = steps[id]
            name = quote(f"{step.type}:{id}" if id in named else step.type)
            words = [id] if id in met else [name, *_words(step, unwired.interfaces[id], is_apart=id in unwired.apart)]
            separator = "" if not action else "  => " if action == "default" else f"  ={action}=> "
            lines.append(separator + " ".join(words))
            met.add(id)
    return "\n".join(lines) + "\n"


def _named(steps: list[Step], named: set[str], apart: set[str]) -> set[str]:
    """The steps whose ids must be written: those that are referred back to, and those that would get another one."""
    while True:
        more, taken = set(named), named | apart
        for step in steps:
            if step.id not in taken:
                if step.type in more or free_id(step.type, taken) != step.id:
                    more.add(step.id)
                taken.add(step.id)
        if more == named:
            return named
        named = more


class _Chains:
    """A flow's edges as chains, so that each step is met for the first time in the order of the steps."""

    def __init__(self, flow: Flow) -> None:
        self.unmet = dict.fromkeys(step.id for step in flow.steps)
        self.met: list[str] = []
        self.ahead: dict[str, list[Edge]] = {id: [] for id in self.unmet}
        for edge in reversed(flow.edges):
            self.ahead[edge.source].append(edge)
        self.found: list[Chain] = []
        while (start := self._start()) is not None:
            self.found.append(self._chain_from(start))

    def _start(self) -> str | None:
        """Where the next chain starts: at a step with an edge that can be written now, else at the next one to meet."""
        for id in self.met:
            if self.ahead[id] and self._is_next(self.ahead[id][-1]):
                return id
        first = next(iter(self.unmet), None)
        if first is not None:
            self._meet(first)
        return first

    def _chain_from(self, start: str) -> Chain:
        """A chain as long as it leads to steps that were not met yet. The edges of one step keep their order."""
        chain = [(start, "")]
        while (edges := self.ahead[chain[-1][0]]) and self._is_next(edges[-1]):
            edge = edges.pop()
            chain.append((edge.target, edge.action))
            if edge.target not in self.unmet:  # a loop, or a step where branches meet
                break
            self._meet(edge.target)
        return chain

    def _is_next(self, edge: Edge) -> bool:
        return edge.target not in self.unmet or edge.target == next(iter(self.unmet))

    def _meet(self, id: str) -> None:
        del self.unmet[id]
        self.met.append(id)


def _words(step: Step, interface: Interface, *, is_apart: bool) -> list[str]:
    """The flags of a step, quoted. Raises PflowError (65) for a value that no flag gives."""
    words = []
    order = {key: at for at, key in enumerate(interface.reads)}
    for key, value in {**step.inputs, **step.params}.items():
        words += _flag(key, interface.reads.get(key) or interface.params.get(key), value, step.id)
    for key in sorted(step.input_mappings, key=lambda key: order.get(key, len(order))):
        source = step.input_mappings[key]
        words += [f"--map-in={quote(f'{key}={path}')}" for path in (source if isinstance(source, list) else [source])]
    words += [f"--map-out={quote(f'{key}={path}')}" for key, path in step.output_mappings.items()]
    words += [f"--id={step.id}"] if is_apart else []
    fields = (("retries", step.retries), ("wait", step.wait), ("timeout", step.timeout))
    return words + [f"--{name}={_json(value)}" for name, value in fields if value is not None]


def _flag(key: str, item: Item | None, value: Any, id: str) -> list[str]:
    """The words that give a read or a param its value."""
    name = key.replace("_", "-")
    if name.replace("-", "_") in COMMON:
        raise unsayable(id, key, "every step has a flag of that name")
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
    raise unsayable(id, key, f"a flag of type {type} gives texts only")


def _json(value: Any) -> str:
    """A value as JSON, as one would write it: 60 for 60.0."""
    text = text_of(value)
    return text.removesuffix(".0") if isinstance(value, float) else text


def _is_plain_list(value: list[Any]) -> bool:
    """Whether one flag an item gives a list: texts that are no JSON, and not one that is a reference."""
    if not value or not all(isinstance(item, str) and not item.lstrip().startswith("[") for item in value):
        return False
    return len(value) > 1 or not is_reference(value[0])
