"""A step: one node in a flow, with what it works on and where its writes go."""

from __future__ import annotations

import copy

from pflow.errors import BAD_DATA, PflowError
from pflow.export.runtime.run import Run
from pflow.export.runtime.tries import run_node
from pflow.export.runtime.values import Values, given, mapped, nothing_gives
from pflow.export.runtime.view import View
from pflow.flow.places import check_place, has
from pflow.interface import Interface
from pflow.node import interface_of, pocketflow
from pflow.paths import kind_of, parse_path
from pflow.run.storable import storable
from pflow.stage.failure import from_node
from pflow.stage.shared import check_written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Batch:
    """Run a step once for each item of the list, or each member of the object, at the path `over`.

    A step calls it `item`. With on_error="keep" a failed one leaves None, and ID.errors says why.
    """

    def __init__(self, over: str | list[str], item: str = "item", on_error: str = "stop") -> None:
        self.over = mapped(over)
        self.item = item
        self.on_error = on_error


class Step(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """A node under the name that it has in the flow.

    `inputs` are values for its reads, `input_mappings` and `output_mappings` the places where it reads and writes; the
    reads in `optional` may find nothing there. `retries` and `wait` are further tries, seconds apart.
    """

    def __init__(
        self, id: str, node: Any, *, params: dict[str, Any] | None = None, inputs: dict[str, Any] | None = None,
        input_mappings: dict[str, Any] | None = None, output_mappings: dict[str, str] | None = None,
        optional: Iterable[str] = (), retries: int | None = None, wait: float | None = None,
        max_visits: int | None = None, batch: Batch | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.id = id
        self.node = node
        known = getattr(node, "interface", None)
        self.interface = known if isinstance(known, Interface) else interface_of(type(node))
        self.params = params or {}
        self.inputs = inputs or {}
        self.input_mappings = input_mappings or {}
        self.output_mappings = output_mappings or {}
        self.optional = set(optional)
        self.retries = retries
        self.wait = wait
        self.max_visits = max_visits
        self.batch = batch
        self.targets = {key: parse_path(path) for key, path in self.output_mappings.items()}
        self.set_params(self.params)

    def set_inputs(self, inputs: dict[str, Any]) -> None:
        self.inputs = {**self.inputs, **inputs}
        self.set_params({})

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = {**self.params, **params}
        sources = {key: mapped(source) for key, source in self.input_mappings.items()}
        sources |= {key: given(value) for key, value in self.inputs.items()}
        self.values = Values(
            self.interface, sources, {key: given(value) for key, value in self.params.items()}, self.optional
        )

    def _run(self, shared: Any) -> Any:
        return self.visit(shared, Run())

    def visit(self, shared: dict[str, Any], run: Run) -> str | None:
        """Run the node once, or once for each item, and put its writes into the store. Its action."""
        try:
            for target in self.targets.values():
                check_place(shared, target)
            if self.batch is None:
                return self._visit_once(shared, run)
            self._visit_each(shared, run, self.batch)
            return None
        except PflowError:
            raise
        except (Exception, SystemExit) as error:
            raise self._in_words(error) from error

    def _visit_once(self, shared: dict[str, Any], run: Run) -> str | None:
        view, action = self._work(shared)
        for key in self.inputs:
            self._store_input(shared, run, key, view.found)
        for key, value in view.written.items():
            run.assign(shared, self.targets.get(key, (key,)), storable(key, value))
        return action

    def _work(self, shared: dict[str, Any]) -> tuple[View, str | None]:
        values = self.values
        view = View(shared, values.find_reads(shared), values.fallbacks, values.hidden)
        for item in values.needed:
            if item.name not in view:
                raise nothing_gives(item)
        before = view.texts_of(self.interface.reads.keys() & self.interface.writes.keys())
        node = copy.copy(self.node)
        node.set_params(values.find_params(shared))
        action = run_node(node, view, self.retries, self.wait)
        if not (action is None or isinstance(action, str)):
            raise PflowError(f"cannot go on: it returned {type(action).__name__}, which is no action")
        view.note_changes(before)
        check_written(self.interface, view.written)
        return view, action or None

    def _store_input(self, shared: dict[str, Any], run: Run, key: str, found: dict[str, Any]) -> None:
        """Put an input into the store, where nothing is yet."""
        item = self.interface.reads.get(key)
        place = (self.id, key) if self._is_moved() else (key,)
        if key in found and not (item and item.marks & {"own", "secret"}) and not has(shared, place):
            run.assign(shared, place, found[key])

    def _is_moved(self) -> bool:
        writes = self.interface.writes
        return bool(writes) and all(self.targets.get(key) == (self.id, key) for key in writes)

    def _visit_each(self, shared: dict[str, Any], run: Run, batch: Batch) -> None:
        over = batch.over.find(shared)
        if not isinstance(over, list | dict):
            raise PflowError(f"cannot run over {kind_of(over)}: it is no list and no object", exit=BAD_DATA)
        names = list(over) if isinstance(over, dict) else range(len(over))
        items = list(over.values()) if isinstance(over, dict) else over
        done: list[dict[str, Any]] = []
        errors = []
        for number, item in enumerate(items):
            try:
                view, _ = self._work({**shared, batch.item: item})
                done.append({key: storable(key, value) for key, value in view.written.items()})
            except Exception as error:
                failure = self._in_words(error)
                if batch.on_error != "keep":
                    failure.message = f"item {number}: {failure.message}"
                    raise failure from error
                done.append({})
                about = {"index": names[number], "item": item}
                errors.append({**about, "exit": failure.exit, "message": failure.message})
        for key in dict.fromkeys([*self.interface.writes, *(key for each in done for key in each)]):
            values = [each.get(key) for each in done]
            whole = dict(zip(names, values, strict=True)) if isinstance(over, dict) else values
            run.assign(shared, self.targets.get(key, (key,)), whole)
        if batch.on_error == "keep":
            run.assign(shared, (self.id, "errors"), errors)

    def _in_words(self, error: BaseException) -> PflowError:
        if isinstance(error, KeyError) and not isinstance(error, PflowError) and error.args:
            item = self.interface.reads.get(str(error.args[0]))
            if item is not None and item.required:
                return nothing_gives(item)
        name = type(self.node).__module__.rpartition(".")[2].removeprefix("pflow_node_")
        return from_node(getattr(self.node, "name", name.replace("_", "-")), error)
