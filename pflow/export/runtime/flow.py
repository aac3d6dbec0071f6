"""pocketflow's Flow for steps that may fail into an `error` edge, fork, and be visited only so often."""

from __future__ import annotations

import copy

from pflow.binding.places import assign, has
from pflow.binding.sources import AlternativeSource, TemplateSource
from pflow.errors import MISSING, PflowError
from pflow.export.runtime.run import Run
from pflow.export.runtime.step import Step
from pflow.export.runtime.values import mapped
from pflow.flow.flow import MAX_VISITS
from pflow.interface import fresh
from pflow.node import interface_of, pocketflow
from pflow.paths import parse_path
from pflow.terminal.columns import encodable
from pflow.types import parse_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.binding.sources import Source
    from pflow.paths import Path

_UNSET = object()


class Input:
    """A value that a flow starts with: `path` is its place in the store, `flags` are more names of its flag.

    `pipe` says that it may come through stdin; `read`, a step's id and a read of it, that it is for that step alone.
    """

    def __init__(
        self, type: str = "any", doc: str = "", *, required: bool = False, default: Any = _UNSET, pipe: bool = False,
        path: str = "", read: tuple[str, str] | None = None, flags: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.type = parse_type(type)[0]
        self.doc = doc
        self.required = required
        self.has_default = default is not _UNSET
        self.default = None if default is _UNSET else default
        self.pipe = pipe
        self.path = path
        self.read = read
        self.flags = flags


class Flow(pocketflow.Flow):  # type: ignore[misc,unused-ignore]
    """A pocketflow.Flow in which each node keeps its own params (pocketflow 0.0.3 gives every node the flow's).

    `inputs` are what it starts with, as it declares them, `flags` what else may be given. `outputs` are the paths of
    what it gives; without any, that is all that its steps wrote.
    """

    def __init__(
        self, start: Any = None, *, inputs: dict[str, Input] | None = None, flags: dict[str, Input] | None = None,
        outputs: dict[str, Any] | None = None, max_visits: int = MAX_VISITS,
    ) -> None:  # fmt: skip
        super().__init__(start)
        self.declared = inputs or {}
        self.inputs = {**self.declared, **(flags or {})}
        self.outputs = {name: mapped(path) for name, path in (outputs or {}).items()}
        self.max_visits = max_visits
        self.run_now = Run()

    def _orch(self, shared: Any, params: dict[str, Any] | None = None) -> Any:
        run = self.run_now = Run()
        several = [each for each in self._sources() if isinstance(each, AlternativeSource)]
        run.is_watched = bool(several) or any(isinstance(node, Fork) for node in self.nodes())
        for source in several:
            source.written_at = lambda path: self.run_now.written_at(path)
        return self.walk(shared, self.start_node, run)

    def walk(self, shared: Any, node: Any, run: Run, stop: Any = None) -> Any:
        """Run from a node on, to the end of the flow or until `stop` is reached. The last action."""
        action = None
        while node is not None and node is not stop:
            self._count(node, run)
            try:
                action = self._visit(shared, node, run)
            except PflowError as error:
                if "error" not in node.successors or not isinstance(node, Step):
                    raise
                run.assign(shared, (node.id, "error"), {"exit": error.exit, "message": encodable(error.message)})
                action = "error"
            node = self.get_next_node(node, action)
        return action

    def _visit(self, shared: Any, node: Any, run: Run) -> Any:
        if isinstance(node, Step):
            return node.visit(shared, run)
        if isinstance(node, Fork):
            return node.visit(shared, run, self)
        return copy.copy(node)._run(shared)

    def _count(self, node: Any, run: Run) -> None:
        name = getattr(node, "id", str(id(node)))
        run.visits[name] = count = run.visits.get(name, 0) + 1
        limit = getattr(node, "max_visits", None) or self.max_visits
        if count > limit and not isinstance(node, Fork):
            raise PflowError(f"cannot visit '{name}' again: it had its {limit} visits", hint="max_visits allows more")

    def nodes(self) -> list[Any]:
        """Every node that is reached."""
        found = {id(self.start_node): self.start_node}
        todo = [self.start_node]
        for node in todo:
            for each in [*node.successors.values(), *(node.branches if isinstance(node, Fork) else [])]:
                if id(each) not in found:
                    found[id(each)] = each
                    todo.append(each)
        return todo

    def steps(self) -> Iterator[Step]:
        return (node for node in self.nodes() if isinstance(node, Step))

    def takes_stdin(self) -> bool:
        return any(path[0] == "stdin" for source in self._sources() for path in source.paths)

    def is_open(self) -> bool:
        """Whether a node in it may read any key and take any param."""
        return any(_is_open(node) for node in self.nodes())

    def set_open_params(self, params: dict[str, Any]) -> None:
        """Give params to the nodes that may know them."""
        for node in self.nodes():
            if _is_open(node):
                node.set_params({**node.params, **params})

    def _sources(self) -> Iterator[Source]:
        found = [*self.outputs.values()]
        for step in self.steps():
            found += [*step.values.sources.values(), *step.values.params.values()]
            found += [step.batch.over] if step.batch else []
        for source in found:
            yield source
            yield from source.sources.values() if isinstance(source, TemplateSource) else ()

    def begin(self, values: dict[str, Any]) -> dict[str, Any]:
        """The store that it starts with: each input, given or by default, but for what one step keeps for itself."""
        shared: dict[str, Any] = {}
        steps = {step.id: step for step in self.steps()}
        for name, value in values.items():
            read = self.inputs[name].read
            if read is not None:
                steps[read[0]].set_inputs({read[1]: value})
            else:
                assign(shared, self.place_of(name), value)
        for name, needed in self.inputs.items():
            if needed.has_default and not has(shared, self.place_of(name)):
                assign(shared, self.place_of(name), fresh(needed.default))
        return shared

    def place_of(self, name: str) -> Path:
        """Where an input stands in the store."""
        return parse_path(self.inputs[name].path or name)

    def results(self, shared: dict[str, Any]) -> dict[str, Any]:
        """What it gives: its outputs by name, as far as they were reached; without any, all that its steps wrote."""
        if not self.outputs:
            return {key: shared[key] for key in self.written_keys() if key in shared}
        found = {}
        for name, source in self.outputs.items():
            try:
                found[name] = source.find(shared)
            except PflowError as error:
                if error.exit != MISSING:
                    raise
        return found

    def written_keys(self) -> list[str]:
        if self.outputs:
            return list(self.outputs)
        pairs = [(step, key) for step in self.steps() for key in [*step.interface.writes, *step.targets]]
        return list(dict.fromkeys(str(step.targets.get(key, (key,))[0]) for step, key in pairs))


class Fork(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """Runs several branches, each on a copy of the store, up to the step that follows the fork, and joins their writes.

    pocketflow has no fork, so the branches run one after the other.
    """

    def __init__(self, *branches: Any) -> None:
        super().__init__()
        self.branches = branches

    def visit(self, shared: Any, run: Run, flow: Flow) -> None:
        branches = []
        for start in self.branches:
            flow.run_now = branch = run.branch()
            flow.walk(copy.deepcopy(shared), start, branch, self.successors.get("default"))
            branches.append(branch)
        flow.run_now = run
        for branch in branches:
            for path, value in branch.writes:
                run.assign(shared, path, value)


def _is_open(node: Any) -> bool:
    if isinstance(node, Fork):
        return False
    interface = node.interface if isinstance(node, Step) else interface_of(type(node))
    return interface.open
