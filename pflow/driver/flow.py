"""The API for Python: `step` makes a step of a node, and `Flow` runs steps as `pflow run` does."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from pflow.binding.sources import has
from pflow.binding.store import without_flow
from pflow.catalog.node_type import PYTHON, NodeType
from pflow.driver.arguments import PROGRAM
from pflow.driver.driver import Driver
from pflow.driver.inputs import RunInputs, inputs_missing, missing_inputs
from pflow.engine.context import Context
from pflow.engine.engine import Engine, default_edge_warning, outputs_of
from pflow.engine.step import copied
from pflow.errors import MISSING, USAGE, PflowError
from pflow.flow.flags import FlowFlags, read_argument
from pflow.flow.flow import FlowSpec
from pflow.flow.from_pocketflow import WrittenStep, flow_from, has_steps, nodes_from
from pflow.flow.graph import ERROR
from pflow.flow.ir import load_document, numbered
from pflow.flow.load import refuse_to_run, set_file
from pflow.flow.subflow import FlowCatalog, interface_of_flow, load_usable, wire_and_check
from pflow.interface.interface import fresh
from pflow.node import Default, Node, declared_interface, id_of, pocketflow
from pflow.stage.document import RAW, Document, Intake
from pflow.stage.main import leave
from pflow.terminal.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn


def step(
    node: Any, id: str | None = None, *, params: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None, input_mappings: Mapping[str, Any] | None = None,
    output_mappings: Mapping[str, str] | None = None, retries: int | None = None, wait: float | None = None,
    timeout: float | None = None, batch: Mapping[str, Any] | None = None, max_visits: int | None = None,
    repeats: bool | None = None, version: str | None = None, description: str | None = None,
    cache: bool | str | None = None, soft: Sequence[str] | None = None, nodes: Sequence[Any] | None = None,
    edges: Sequence[Any] | None = None, mappings: Mapping[str, Any] | None = None, outputs: Any = None,
) -> FlowStep:  # fmt: skip
    """Return a step of a flow that runs `node`.

    `node` is a node's class, an instance of one (with its params and tries), the name of a node or a program, or a
    flow: `flow:NAME`, the path of its file, or `flow` with `nodes` of its own.

    The other arguments are the members of a step in a flow's file (pflow-flow(5)): templates in `inputs` and `params`,
    paths in the mappings, seconds in `wait` and `timeout`, `batch={"over": PATH, "as": NAME}`. `id` is by default the
    node's name.
    """
    ir = {name: value for name, value in locals().items() if name != "node" and value is not None}
    return FlowStep(node, ir)


class FlowStep(WrittenStep):
    """A step of a flow as a node of pocketflow, for any Flow."""

    def _run(self, shared: Any) -> Any:
        alone = copied(self)
        alone.edges, alone.successors = [], {}
        return Flow(start=alone).run(shared)


_OF_FLOWS = ("name", "description", "inputs", "outputs", "max_visits")
"""The members of a flow's file that are arguments of a Flow too."""


class Flow(pocketflow.Flow):  # type: ignore[misc,unused-ignore]
    """A pocketflow.Flow whose nodes keep the params that were set on them; the flow's own params override these.

    If one of its nodes is a FlowStep, pflow's engine runs it. Then `name`, `description`, `inputs`, `outputs` and
    `max_visits` mean the same as in a flow's file (pflow-flow(5)), and relative paths of subflows begin at `directory`.
    """

    declares_error = False
    """True if the last node of a run declares the action `error`."""

    def __init__(
        self, start: Any = None, *, name: str | None = None, description: str | None = None,
        inputs: Mapping[str, Any] | None = None, outputs: Mapping[str, str] | None = None,
        max_visits: int | None = None, directory: str = ".",
    ) -> None:  # fmt: skip
        said = locals()
        self.ir = {key: said[key] for key in _OF_FLOWS if said[key] is not None}
        super().__init__(start)
        self.directory = directory

    def main(self, words: Sequence[str] | None = None) -> NoReturn:
        """Run as `pflow run` does: with flags (by default from the command line), stdin, stdout and an exit code."""
        if pocketflow.BaseNode.run is refuse_to_run:
            refuse_to_run(self)
        words = sys.argv[1:] if words is None else words
        leave(Driver().run_flow(self._written, list(words)))

    def _written(self) -> FlowSpec:
        """Return the flow as its file would have it, named after the script unless it has a name."""
        variables = vars(sys.modules["__main__"])
        written = flow_from(self, FlowCatalog(), variables, is_run_here=True)
        if sys.argv[0].endswith(".py"):
            name = next((name for name, value in variables.items() if value is self), "")
            set_file(written, os.path.abspath(sys.argv[0]), name)
        return written

    @Default
    def nodes(self) -> list[Any]:
        """The nodes, in the order in which they are reached. Nodes without a name get an `id`."""
        found = nodes_from(self.start_node)
        taken = {str(node.id): 2 for node in found if "id" in vars(node)}
        for node in found:
            if "id" not in vars(node):
                node.id = numbered(getattr(node, "id", None) or id_of(type(node)), taken)
                taken.setdefault(node.id, 2)
        return found

    def _orch(self, shared: Any, params: dict[str, Any] | None = None) -> Any:
        if has_steps(self.start_node):
            return self._run_steps(shared)
        given = params or self.params
        node = last = self.start_node
        action = None
        while node is not None:
            last = copied(node)
            if given:
                last.set_params({**last.params, **fresh(given)})
                last._given = {*getattr(node, "_given", ()), *given}
            action = last._run(_seen(last, shared))
            node = self.get_next_node(last, action)
        self.declares_error = last is not None and _declares_error(last)
        return action

    def get_next_node(self, curr: Any, action: Any) -> Any:
        """Return the next node as pocketflow does; a declared `error` without an edge takes the default edge."""
        default = curr.successors.get("default")
        if action == ERROR and ERROR not in curr.successors and default is not None and _declares_error(curr):
            _warn(default_edge_warning(type(curr).__name__))
            return default
        return super().get_next_node(curr, action)

    def _run_steps(self, shared: dict[str, Any]) -> Any:
        """Run the steps on a dict, which gets all writes and the outputs. Raises PflowError."""
        wired = wire_and_check(flow_from(self, FlowCatalog(), is_run_here=True))
        inputs = RunInputs(wired)
        for name, needed in wired.inputs.items():
            if needed.step is not None and name in shared:
                inputs.set_input(name, shared[name])
        action = _run_wired(inputs, shared, only_declared=True)
        self.declares_error = ERROR in interface_of_flow(wired).actions
        return action


def run(flow: Any, /, **inputs: Any) -> dict[str, Any]:
    """Run a flow in this process, and return its store. Raises PflowError, whose `exit` is that of `pflow run`.

    `flow` is pipe syntax, the name of a saved flow, a file, a flow as a dict (its IR), or a Flow. `inputs` are values
    for the flags of these names; `stdin` is the data from the pipe.
    """
    if isinstance(flow, pocketflow.Flow):
        spec = flow_from(flow, FlowCatalog(), is_run_here=True)
    elif isinstance(flow, dict):
        spec = load_document(flow, "flow", FlowCatalog()).usable()
    elif isinstance(flow, str | os.PathLike):
        spec = load_usable([os.fspath(flow)])
    else:
        hint = "pipe syntax, a saved flow, a file, a dict or a Flow"
        raise PflowError(f"cannot run a value of the type {type(flow).__name__}", hint=hint, exit=USAGE)
    wired = wire_and_check(spec)
    flags = FlowFlags(wired)
    shared = {"stdin": inputs.pop("stdin")} if "stdin" in inputs else {}
    given = RunInputs(wired, flags.values(inputs, read_argument))
    if shared:
        value, document = shared["stdin"], Document({"last": "stdin"})
        document.set("stdin", value)
        data = value if isinstance(value, bytes) else str(value).encode()
        given = given.with_pipe(Intake(document, RAW, data), allow_empty=not value)
    for warning in flags.warnings:
        _warn(f"{warning}, and stays as it is")
    _run_wired(given, shared)
    return shared


def _run_wired(inputs: RunInputs, shared: dict[str, Any], *, only_declared: bool = False) -> Any:
    """Run a flow on a dict, which gets all writes and the outputs; return the flow's action.

    Raises PflowError, first of all for missing inputs (66); with `only_declared`, for those that the flow declares.
    """
    missing = missing_inputs(inputs.wired, inputs.values, lambda path: has(shared, path))
    if needed := [each for each in missing if each.declared or not only_declared]:
        raise inputs_missing(inputs.wired, needed)
    data = inputs.fill(shared)
    action = Engine(inputs.wired, Context(warn=_warn), inputs.params, data).run(shared)
    shared.update(outputs_of(inputs.wired, shared))
    return action


def _seen(node: Any, shared: Any) -> Any:
    """Return the flow's dict as a node sees it."""
    is_bound = isinstance(node, Node | pocketflow.Flow)
    return shared if is_bound else without_flow(shared, declared_interface(type(node)), node.params)


def _declares_error(node: Any) -> bool:
    return node.declares_error if isinstance(node, Flow) else ERROR in declared_interface(type(node)).actions


def _warn(text: str) -> None:
    say(PROGRAM, f"warning: {text}")


def load_node(file: str) -> type:
    """Return the class of a node in a Python file. Raises PflowError: 66 without the file, 78 without a package, 65."""
    if not os.path.isfile(file):
        raise PflowError(f"cannot load the node '{file}': no such file", exit=MISSING)
    name = os.path.basename(file).removesuffix(".py").replace("_", "-")
    return NodeType(name, PYTHON, os.path.abspath(file)).node_class()  # type: ignore[no-any-return]
