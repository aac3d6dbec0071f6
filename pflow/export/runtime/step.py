"""A step: one node in a flow, with what it works on and where its writes go."""

from __future__ import annotations

import copy

from pflow.binding.places import check_place, has
from pflow.binding.resolve import nothing_gives
from pflow.binding.shared import check_written
from pflow.binding.store import StepStore
from pflow.errors import BAD_DATA, PflowError
from pflow.export.runtime.run import Run
from pflow.export.runtime.values import Values, given, mapped
from pflow.interface import Interface
from pflow.node import interface_of, pocketflow
from pflow.paths import kind_of, parse_path
from pflow.run.failure import in_words
from pflow.run.storable import storable
from pflow.stage.tries import run_node

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
        store, action = self._work(shared)
        for key in self.inputs:
            self._store_input(shared, run, key, store.found)
        for key, value in store.written.items():
            run.assign(shared, self.targets.get(key, (key,)), storable(key, value))
        return action

    def _work(self, shared: dict[str, Any]) -> tuple[StepStore, str | None]:
        values = self.values
        store = StepStore(shared, values)
        store.found = values.find_reads(shared)
        for item in values.needed:
            if item.name not in store:
                raise nothing_gives(item)
        node = copy.copy(self.node)
        node.set_params(values.find_params(shared))
        has_own_wait = self.retries is None and self.wait is None
        wait = getattr(node, "wait", 0) if has_own_wait else 1.0 if self.wait is None else self.wait
        action = run_node(node, store, retries=self.retries, wait=wait)
        if not (action is None or isinstance(action, str)):
            raise PflowError(f"cannot go on: it returned {type(action).__name__}, which is no action")
        store.note_changes()
        check_written(self.interface, store.written)
        return store, action or None

    def _store_input(self, shared: dict[str, Any], run: Run, key: str, found: dict[str, Any]) -> None:
        """Put an input into the store, where nothing is yet."""
        item = self.interface.reads.get(key)
        place = (self.id, key) if self._is_moved() else (key,)
        is_unset = found.get(key) is None and item is not None and item.default is None
        is_kept = not is_unset and (item is None or item.is_stored)
        if key in found and is_kept and not has(shared, place):
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
                store, _ = self._work({**shared, batch.item: item})
                done.append({key: storable(key, value) for key, value in store.written.items()})
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
        name = type(self.node).__module__.rpartition(".")[2].removeprefix("pflow_node_")
        return in_words(getattr(self.node, "name", name.replace("_", "-")), self, error)
