"""A pocketflow Flow read back into a Flow: a walk along `start_node` and `successors`."""

from __future__ import annotations

import os
import sys

from pflow.binding.sources import TemplateSource
from pflow.catalog.kinds import find_kind
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.build import numbered
from pflow.flow.flow import TEMPLATE, Batch, Edge, Flow, Input, Step
from pflow.flow.rewrite import escaped
from pflow.jsontext import decode, encode
from pflow.node import interface_of, pocketflow
from pflow.paths import write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from pflow.binding.sources import Source

_STEP = "pflow.export.runtime.step"
_FLOW = "pflow.export.runtime.flow"
_SUBFLOW = "pflow.export.runtime.subflow"
_PROGRAM = "pflow.export.runtime.program"


def flow_from(root: Any, name: str = "", variables: Mapping[str, Any] | None = None) -> Flow:
    """The steps and edges of a pocketflow Flow. `variables` may name its nodes.

    A Flow inside it works on the same store, so its steps become steps of this one: where it ends, they go on as it
    does. Raises PflowError (65) for what a flow of pflow's cannot say; what has to be done by hand is in `warnings`.
    """
    return _Walk(root, name, variables or {}).flow


class _Around:
    """A flow that is being walked through, the one around it, and the params that both hand down."""

    def __init__(self, flow: Any, outer: _Around | None) -> None:
        self.flow = flow
        self.outer = outer
        self.params: dict[str, Any] = {**flow.params, **(outer.params if outer else {})}
        self.key: tuple[int, ...] = (*(outer.key if outer else ()), id(flow))

    def after(self, node: Any) -> dict[str, tuple[Any, _Around]]:
        """Where each action of a node leads: what it has no edge for ends this flow, and goes on as this flow does."""
        ways = self.outer.after(self.flow) if self.outer else {}
        return {**ways, **{action: (target, self) for action, target in node.successors.items() if target is not None}}


class _Walk:
    """One walk. A node is one step however often it is reached; one that stands in two flows is a step in each."""

    def __init__(self, root: Any, name: str, variables: Mapping[str, Any]) -> None:
        self.names = {id(value): name for name, value in variables.items() if isinstance(value, pocketflow.BaseNode)}
        self.ids: dict[tuple[int, ...], str] = {}
        self.todo: list[tuple[Any, _Around]] = []
        self.flow = Flow([], [])
        self.flow.name = name
        self._enter(root, None)
        for node, around in self.todo:
            self._add_edges(node, around)
        _take_ends(self.flow, root)
        self.flow.warnings = list(dict.fromkeys(self.flow.warnings))

    def _enter(self, node: Any, around: _Around | None) -> str:
        """The id of the step that a node begins with; of a flow, that of its first node."""
        while isinstance(node, pocketflow.Flow):
            _check(node, around)
            around = _Around(node, around)
            node = node.start_node
        assert around is not None
        key = (*around.key, id(node))
        if key not in self.ids:
            self.ids[key] = self._add_step(node, around)
            self.todo.append((node, around))
        return self.ids[key]

    def _add_edges(self, node: Any, around: _Around) -> None:
        source = self.ids[(*around.key, id(node))]
        for action, (target, where) in around.after(node).items():
            for each in target.branches if _is(target, _FLOW, "Fork") else [target]:
                self.flow.edges.append(Edge(source, self._enter(each, where), action))

    def _add_step(self, node: Any, around: _Around) -> str:
        written = node if _is(node, _STEP, "Step") else None
        inner = node.node if written else node
        if _is(inner, _SUBFLOW, "Subflow"):
            raise PflowError(
                f"cannot import '{node.id}': it is a flow with a store of its own",
                hint="import the file that its flow was exported from",
                exit=BAD_DATA,
            )
        wanted = written.id if written else self.names.get(id(node)) or _kebab(type(node).__name__)
        id_ = numbered(wanted, set(self.ids.values()))
        step = Step(id_, self._type_of(inner), place=("nodes", len(self.flow.steps)))
        step.params = _plain(id_, self._params(node, inner, around), inner)
        tries = getattr(inner, "max_retries", 1)
        if tries > 1:
            step.retries, step.wait = tries - 1, inner.wait or None
        elif tries < 1:
            self.flow.warnings.append(f"'{id_}' has max_retries={tries}: pocketflow never calls its exec, pflow does")
        if written:
            _take_step(step, written)
        self.flow.steps.append(step)
        return id_

    def _params(self, node: Any, inner: Any, around: _Around) -> dict[str, Any]:
        """A node's own params and those that its flows hand down, without what its interface has by default."""
        params = {**node.params, **around.params}
        defaults = interface_of(type(inner)).defaults()
        return {key: value for key, value in params.items() if key not in defaults or defaults[key] != value}

    def _type_of(self, node: Any) -> str:
        """The node's name where it is one that pflow finds, else its class's name."""
        if _is(node, _PROGRAM, "Program"):
            return str(node.name)
        kind = type(node)
        name = kind.__name__
        found = find_kind(name)
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if found is None:
            where = f"{_kebab(name).replace('-', '_')}.py in a directory on PFLOW_NODES"
            self.flow.warnings.append(f"no node is called '{name}': put the class into {where}")
            return name
        if file is not None and os.path.realpath(file) != os.path.realpath(found.file):
            self.flow.warnings.append(f"'{name}' of '{file}' becomes the node {found.name} of '{found.file}'")
        return found.name


def _is(value: Any, module: str, name: str) -> bool:
    """Whether something was made by the code that exported Python carries, in whichever copy of it."""
    return type(value).__module__ == module and type(value).__name__ == name


def _check(flow: Any, around: _Around | None) -> None:
    """Refuse a flow that does more than to walk from node to node."""
    name = type(flow).__name__
    if flow.start_node is None:
        raise PflowError(f"cannot import {name}: it has no start node", exit=BAD_DATA)
    while around is not None:
        if around.flow is flow:
            raise PflowError(f"cannot import {name}: it stands inside itself", exit=BAD_DATA)
        around = around.outer
    if why := _more_than_a_walk(flow):
        raise PflowError(f"cannot import {name}: {why}", hint="put that into a node", exit=BAD_DATA)


def _more_than_a_walk(flow: Any) -> str:
    """What a flow's class does besides walking; "" where that is nothing."""
    if isinstance(flow, pocketflow.BatchFlow):
        return "it runs its nodes once for each of a batch"
    for base in type(flow).__mro__:
        own = [each for each in ("prep", "post", "prep_async", "post_async") if each in vars(base)]
        if own and base.__module__ != "pocketflow":
            return f"it has a {own[0]} of its own"
    return ""


def _plain(id: str, values: Mapping[str, Any], node: Any) -> dict[str, Any]:
    """Values as a flow holds them: JSON, in which a dollar stands twice where it could begin a template."""
    interface = interface_of(type(node))
    items = {**interface.params, **interface.reads}
    found = {}
    for key, value in values.items():
        if isinstance(value, TemplateSource):
            found[key] = value.written
            continue
        try:
            plain = decode(encode(value))
        except PflowError as error:
            raise error.within(f"cannot import '{id}' with its '{key}'") from None
        found[key] = plain if key in items and "verbatim" in items[key].marks else escaped(plain)
    return found


def _take_step(step: Step, written: Any) -> None:
    """What a step of exported Python says itself. What the wiring finds again by name is left out."""
    step.params = _plain(step.id, written.params, written.node)
    step.inputs = _plain(step.id, written.inputs, written.node)
    mappings = {key: each for key, each in written.input_mappings.items() if key not in written.optional}
    step.input_mappings = {key: _mapping(each) for key, each in mappings.items()}
    step.output_mappings = dict(written.output_mappings)
    step.retries, step.wait, step.max_visits = written.retries, written.wait, written.max_visits
    if written.batch is not None:
        over = [write_path(path) for path in written.batch.over.paths]
        step.batch = Batch(over[0], written.batch.item, None, written.batch.on_error)


def _mapping(source: Any) -> Any:
    return TEMPLATE + source.written if isinstance(source, TemplateSource) else source


def _take_ends(flow: Flow, root: Any) -> None:
    """What a flow of exported Python starts with and gives."""
    if not _is(root, _FLOW, "Flow"):
        return
    flow.max_visits = root.max_visits
    flow.outputs = {name: _path(source) for name, source in root.outputs.items()}
    for name, given in root.declared.items():
        flow.inputs[name] = Input(
            name, type=str(given.type), description=given.doc, required=given.required, pipe=given.pipe,
            default=given.default, has_default=given.has_default,
        )  # fmt: skip


def _path(source: Source) -> str:
    return TEMPLATE + source.written if isinstance(source, TemplateSource) else write_path(source.paths[0])


def _kebab(name: str) -> str:
    """`YTTranscript` as `yt-transcript`."""
    return "".join(_hyphened(name)).strip("-").lower()


def _hyphened(name: str) -> Iterator[str]:
    for at, sign in enumerate(name):
        before, after = name[at - 1 : at], name[at + 1 : at + 2]
        if (
            sign.isupper()
            and before
            and (before.islower() or before.isdigit() or (before.isupper() and after.islower()))
        ):
            yield "-"
        yield "-" if sign == "_" else sign
