"""A batch: one step once for each item of a list, or each member of an object."""

from __future__ import annotations

from pflow.errors import BAD_DATA, PflowError
from pflow.jsontext import decode, encode
from pflow.paths import kind_of, write_path
from pflow.run.forks import _drop
from pflow.run.step import StepNode, Work, failure_of
from pflow.run.storable import storable
from pflow.run.workers import run_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.run.workers import Take

    Done = tuple[dict[str, Any], str, tuple[int, str] | None]
    """What one item gave: its writes, where its reads came from (as JSON), and why it failed."""


class BatchStep(StepNode):
    """Each write becomes a list in the order of the items, or an object under the names of the members.

    With `jobs` the items run in so many processes. Under `keep` a failed item's place is null, and `ID.errors` lists
    index, item, exit and message of each.
    """

    def perform(self, shared: Any, work: Work) -> Any:
        batch = self.wired.step.batch
        assert batch is not None
        names, items = self._items(shared)
        done = self._run_items(shared, items)
        failed = [(number, each[2]) for number, each in enumerate(done) if each[2] is not None]
        keys = self._collect(shared, names, done)
        work.reads = self._all_reads(shared, done)
        work.writes = self._places_of(keys)
        work.add(items={"done": len(done) - len(failed), "failed": len(failed)})
        if batch.on_error == "keep":
            self._note_failures(shared, names, items, failed)
        return None

    def _items(self, shared: Any) -> tuple[list[str] | None, list[Any]]:
        """The items, and their names where they are members of an object."""
        assert self.wired.over is not None
        assert self.wired.step.batch is not None
        over = self.wired.over.find(shared)
        if isinstance(over, list):
            return None, over
        if isinstance(over, dict):
            return list(over), list(over.values())
        where = self.wired.step.batch.over
        raise PflowError(f"cannot run over '{where}': it is {kind_of(over)}, no list and no object", exit=BAD_DATA)

    def _run_items(self, shared: Any, items: list[Any]) -> list[Done]:
        batch = self.wired.step.batch
        assert batch is not None
        if batch.jobs is None or batch.jobs == 1 or len(items) < 2:
            return [self._run_item(shared, number, item) for number, item in enumerate(items)]

        def serve(number: int, take: Take) -> Any:
            return self._run_item(shared, number, items[number])

        return run_all(len(items), serve, jobs=batch.jobs, is_reused=True, take=_drop)

    def _run_item(self, shared: Any, number: int, item: Any) -> Done:
        """Run the node on a view of the store in which the item has its name."""
        batch = self.wired.step.batch
        assert batch is not None
        work = Work()
        try:
            store = self.run_once({**shared, batch.item: item}, work)
            written = {key: storable(key, value) for key, value in store.written.items()}
        except Exception as error:
            failure = failure_of(self.id, self.type, self.wired, error)
            if batch.on_error != "keep":
                failure.message = f"item {number}: {failure.message}"
                raise failure from error
            return {}, work.reads, (failure.exit, failure.message)
        return written, work.reads, None

    def _collect(self, shared: Any, names: list[str] | None, done: list[Done]) -> tuple[str, ...]:
        """Put each write of all items where it belongs, as one list or object. The writes."""
        keys = dict.fromkeys([*self.interface.writes, *(key for each in done for key in each[0])])
        for key in keys:
            values = [each[0].get(key) for each in done]
            self.put(shared, key, values if names is None else dict(zip(names, values, strict=True)))
        return tuple(keys)

    def _all_reads(self, shared: Any, done: list[Done]) -> str:
        """Where the reads of all items came from, and the items themselves."""
        assert self.wired.over is not None
        reads: dict[str, Any] = {"batch.over": list(map(write_path, self.wired.over.places(shared)))}
        for json in dict.fromkeys(each[1] for each in done):
            reads.update(decode(json.encode()))
        return str(encode(reads), "utf-8")

    def _note_failures(
        self, shared: Any, names: list[str] | None, items: list[Any], failed: list[tuple[int, Any]]
    ) -> None:
        errors = [
            {"index": n if names is None else names[n], "item": items[n], "exit": why[0], "message": why[1]}
            for n, why in failed
        ]
        self.context.assign(shared, (self.id, "errors"), errors)
