"""A batch: one step once for each item of a list, or each member of an object."""

from __future__ import annotations

from collections import ChainMap

from pflow import TYPE_CHECKING
from pflow.binding.store import REMOVED
from pflow.errors import BAD_DATA, PflowError
from pflow.paths import kind_of, parse_path, write_path
from pflow.process.signals import ClosedPipe, Interrupted
from pflow.run.engine.context import StepFailed, drop, in_words, storable
from pflow.run.engine.step import StepNode, Work
from pflow.run.engine.workers import Died, run_all
from pflow.terminal.columns import encodable

if TYPE_CHECKING:
    from typing import Any

    from pflow.binding.resolve import Binding, Origins
    from pflow.flow.wired import WiredStep
    from pflow.run.engine.context import Context
    from pflow.run.engine.workers import Take

    Done = tuple[dict[str, Any], Origins, tuple[int, str] | None]
    """What one item gave: its writes, where its reads came from, and why it failed."""


class BatchStep(StepNode):
    """Each write becomes a list in the order of the items, or an object under the names of the members.

    With `jobs` the items run in so many processes. Under `keep` a failed item's place is null, and `ID.errors` lists
    index, item, exit and message of each.
    """

    def __init__(self, wired: WiredStep, node: Any, binding: Binding, context: Context) -> None:
        super().__init__(wired, node, binding, context)
        assert wired.step.batch is not None
        assert wired.over is not None
        self.batch = wired.step.batch
        self.over = wired.over

    def perform(self, shared: Any, work: Work) -> None:
        names, items = self._items(shared)
        self._keep_data(shared)
        done = self._run_items(shared, items)
        failed = [(number, each[2]) for number, each in enumerate(done) if each[2] is not None]
        keys = self._collect(shared, names, done)
        work.reads = self._all_reads(shared, done)
        work.writes = self.places_of(keys)
        work.more["items"] = {"done": len(done) - len(failed), "failed": len(failed)}
        if self.batch.on_error == "keep":
            self._note_failures(shared, names, items, failed)

    def _items(self, shared: Any) -> tuple[list[str] | None, list[Any]]:
        """The items, and their names where they are members of an object."""
        over = self.over.find(shared)
        if isinstance(over, list):
            return None, over
        if isinstance(over, dict):
            return list(over), list(over.values())
        where = self.batch.over
        raise PflowError(f"cannot run over '{where}': it is {kind_of(over)}, no list and no object", exit=BAD_DATA)

    def _run_items(self, shared: Any, items: list[Any]) -> list[Done]:
        if not self.context.isolate and (self.batch.jobs is None or self.batch.jobs == 1 or len(items) < 2):
            return [self._run_item(shared, number, item) for number, item in enumerate(items)]
        recorder = self.context.recorder

        def serve(number: int, take: Take) -> Any:
            if recorder is not None:
                self.context.recorder = recorder.to(take)
            return self._run_item(shared, number, items[number])

        def rescue(number: int, error: PflowError) -> Done:
            return {}, {}, (error.exit, error.message)

        try:
            return run_all(
                len(items),
                serve,
                jobs=self.batch.jobs or 1,
                is_reused=not self.context.isolate,
                take=recorder.write if recorder is not None else drop,
                rescue=rescue if self.batch.on_error == "keep" else None,
            )
        except Died as died:
            raise died.within(f"item {died.number}") from died

    def _run_item(self, shared: Any, number: int, item: Any) -> Done:
        """Run the node on a view of the store in which the item has its name."""
        work = Work()
        try:
            changes, _ = self.run_once(ChainMap({self.batch.item: item}, shared), work)
            written = {key: storable(key, value) for key, value in changes.items() if value is not REMOVED}
            return written, work.reads, None
        except (Interrupted, ClosedPipe):
            raise
        except BaseException as error:
            failure = error if isinstance(error, StepFailed) else in_words(self.type, self.wired, error)
            if self.batch.on_error == "keep":
                return {}, work.reads, (failure.exit, encodable(failure.message))
            failure.message = f"item {number}: {failure.message}"
            raise failure from (None if failure is error else error)

    def _keep_data(self, shared: Any) -> None:
        """Put the data flags into the store; not those that are made of the item."""
        finders = [finder for finder in self.binding.finders if finder.key in self.binding.stored]
        fixed = [finder for finder in finders if all(path[0] != self.batch.item for path in finder.source.paths)]
        self.put_data(shared, {finder.key: finder.find(shared) for finder in fixed})

    def _collect(self, shared: Any, names: list[str] | None, done: list[Done]) -> tuple[str, ...]:
        """Put each write of all items where it belongs, as one list or object. The writes."""
        keys = dict.fromkeys([*self.interface.writes, *(key for each in done for key in each[0])])
        for key in keys:
            values = [each[0].get(key) for each in done]
            self.put(shared, key, values if names is None else dict(zip(names, values, strict=True)))
        return tuple(keys)

    def _all_reads(self, shared: Any, done: list[Done]) -> Origins:
        """Where the reads of all items came from; what an item gave, from where the items stand."""
        over = tuple(map(write_path, self.over.places(shared)))
        reads: Origins = {"batch.over": over}
        for key, places in {read: None for each in done for read in each[1].items()}:
            there = [over if parse_path(place)[0] == self.batch.item else (place,) for place in places]
            reads[key] = tuple(dict.fromkeys([*reads.get(key, ()), *(place for each in there for place in each)]))
        return reads

    def _note_failures(
        self, shared: Any, names: list[str] | None, items: list[Any], failed: list[tuple[int, Any]]
    ) -> None:
        errors = [
            {"index": n if names is None else names[n], "item": items[n], "exit": why[0], "message": why[1]}
            for n, why in failed
        ]
        self.context.assign(shared, (self.id, "errors"), errors)
