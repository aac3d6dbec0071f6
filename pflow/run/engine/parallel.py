"""What may run in several processes: the branches of a fork, the items of a batch, and each step of `--isolate`."""

from __future__ import annotations

from collections import ChainMap

from pflow import TYPE_CHECKING
from pflow.binding.store import REMOVED
from pflow.errors import BAD_DATA, PflowError
from pflow.node import pocketflow
from pflow.paths import kind_of, meet, parse_path, write_path
from pflow.printable import encodable
from pflow.process.signals import ClosedPipe, Interrupted
from pflow.run.engine.context import StepFailed, drop, in_words, storable
from pflow.run.engine.step import StepNode, Work
from pflow.run.engine.workers import Died, run_all
from pflow.terminal.columns import value_text
from pflow.types import items_in
from pflow.usage import usage_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.binding.resolve import Binding, Origins
    from pflow.flow.graph import Fork
    from pflow.flow.wired import WiredStep
    from pflow.paths import Path
    from pflow.run.engine.context import Context
    from pflow.run.engine.workers import Parent

    Done = tuple[dict[str, Any], Origins, dict[str, Any], dict[str, Any]]
    """What one item gave: its writes, where its reads came from, why it failed (exit and message, else nothing), and
    what it took of models (pflow.usage).
    """


class ForkNode(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """Stands between a step and the branches that its action leads to. The first failure ends the other branches."""

    def __init__(self, fork: Fork, engine: Any) -> None:
        super().__init__()
        self.id = ""
        self.fork = fork
        self.engine = engine

    def handler_of(self, failure: StepFailed) -> Any:
        """The step that an `error` edge out of the fork leads to from the one that failed, where there is one."""
        step = failure.step.partition("/")[0]
        target = next((target for source, target in self.fork.exits if source == step), None)
        return self.engine.nodes[target] if target is not None else None

    def _run(self, shared: Any) -> None:
        context, starts = self.engine.context, self.fork.starts

        def serve(number: int, parent: Parent) -> Any:
            return self._branch(number, shared, parent)

        take = context.recorder.write if context.recorder is not None else drop
        try:
            branches = run_all(len(starts), serve, jobs=context.jobs, is_reused=False, take=take, ask=context.ask)
        except Died as died:
            start = starts[died.number]
            raise StepFailed(start, self.engine.nodes[start].wired.step.type, died) from died
        except StepFailed as failure:
            self._apply(shared, failure.journal)
            raise
        self._refuse_meeting([journal for journal, _ in branches])
        for journal, visits in branches:
            self._apply(shared, journal)
            context.visits.update(visits)

    def _refuse_meeting(self, journals: list[dict[Path, Any]]) -> None:
        """Raise StepFailed where two branches wrote one place, each something else: one of the two would be lost.

        The rules know what is declared. A data flag is stored where nothing is, whoever comes first.
        """
        steps = [self.engine.flow.steps[id] for branch in self.fork.branches for id in branch]
        flags = {step.data_place(key) for step in steps for key in step.step.inputs}
        written: dict[str | int, list[tuple[Path, Any, str]]] = {}
        for start, journal in zip(self.fork.starts, journals, strict=True):
            for path, value in journal.items():
                there = written.setdefault(path[0], [])
                met = [other for place, found, other in there if meet(path, place) and (path, value) != (place, found)]
                if path not in flags and any(other != start for other in met):
                    raise self._cannot_join(met[0], start, path)
                there.append((path, value, start))

    def _cannot_join(self, one: str, other: str, path: Path) -> StepFailed:
        what = f"those that begin at '{one}' and '{other}' both wrote '{write_path(path)}'"
        error = PflowError(
            f"cannot join the branches of the fork at '{self.fork.source}': {what}",
            hint="output_mappings give each a place of its own",
            exit=BAD_DATA,
        )
        return StepFailed(other, self.engine.nodes[other].wired.step.type, error)

    def _apply(self, shared: Any, journal: dict[Path, Any]) -> None:
        for path, value in journal.items():
            self.engine.context.assign(shared, path, value)

    def _branch(self, number: int, shared: Any, parent: Parent) -> Any:
        """In the child process: the steps of one branch, and every change that they make to the store."""
        engine, context, start = self.engine, self.engine.context, self.fork.starts[number]
        before = dict(context.visits)
        context.journal = {}
        context.ask.parent = parent.ask
        if context.recorder is not None:
            lane = f"{context.recorder.prefix}{self.fork.source}/{start}"
            context.recorder = context.recorder.to(parent.take, lane)
        try:
            meet = engine.nodes.get(self.fork.meet or "")
            engine.walk(shared, engine.nodes[start], meet, self.fork.branches[number])
        except StepFailed as failure:
            failure.journal = context.journal
            raise
        return context.journal, {id: count for id, count in context.visits.items() if before.get(id) != count}


class IsolatedStep(StepNode):
    """Runs its node in a child process, so that what it breaks stays there; its changes and its trace come back."""

    def run_once(self, store: Any, work: Work) -> tuple[dict[str, Any], dict[str, Any]]:
        emit = self.context.emit

        def serve(number: int, parent: Parent) -> Any:
            self.context.emit = emit and parent.take
            self.context.ask.parent = parent.ask
            try:
                changes, found = StepNode.run_once(self, store, work)
                changes = {key: value if value is REMOVED else storable(key, value) for key, value in changes.items()}
                return work, None, changes, {key: found[key] for key in self.binding.stored if key in found}
            except (Interrupted, ClosedPipe):
                raise
            except BaseException as error:
                return work, in_words(self.type, self.wired, error, self.context.secrets), {}, {}

        ((done, error, changes, found),) = run_all(
            1, serve, jobs=1, is_reused=False, take=emit or drop, ask=self.context.ask
        )  # fmt: skip
        work.action, work.reads, work.more, work.usage = done.action, done.reads, done.more, done.usage
        if error is not None:
            raise error
        return changes, found


class BatchStep(StepNode):
    """Each write becomes a list in the order of the items, or an object under the names of the members.

    With `jobs` the items run in so many processes. Under `keep` a failed item's place is null, and `ID.errors` lists
    index, item, exit and message of each. With `keep_item` each result is `{"item": ITEM, KEY: VALUE}`.
    """

    def __init__(self, wired: WiredStep, node: Any, binding: Binding, context: Context) -> None:
        super().__init__(wired, node, binding, context)
        assert wired.step.batch is not None
        assert wired.over is not None
        self.batch = wired.step.batch
        self.over = wired.over

    def perform(self, shared: Any, work: Work) -> None:
        over = items_in(self.over.find(shared))
        if not isinstance(over, list | dict):
            fault = f"is {kind_of(over)}, no list and no object"
            hint = ""
            if isinstance(over, str):
                fault, hint = "begins as JSON and is no list", "jq -c writes JSON as lines; --from=json takes an object"
            raise PflowError(f"cannot run over '{self.batch.over}': it {fault}", hint=hint, exit=BAD_DATA)
        items = list(over.items() if isinstance(over, dict) else enumerate(over))
        self._keep_data(shared)
        done = self._noted_items(shared, items, work)
        keys = dict.fromkeys([*self.interface.writes, *(key for each in done for key in each[0])])
        for key in keys:
            values = [self._result(key, item, each) for (_, item), each in zip(items, done, strict=True)]
            self.put(shared, key, dict(zip(over, values, strict=True)) if isinstance(over, dict) else values)
        found = zip(items, done, strict=True)
        errors = [{"index": index, "item": item, **why} for (index, item), (_, _, why, _) in found if why]
        if self.batch.on_error == "keep":
            self.context.assign(shared, (self.id, "errors"), errors)
        if errors:
            self._tell_failures(work, errors, len(done))
        work.reads = self._all_reads(shared, done)
        work.writes = self.places_of(keys)
        self.carry(work.writes)

    def _result(self, key: str, item: Any, done: Done) -> Any:
        """What one item gave for a write: with `keep_item` beside the item; null where it failed."""
        changes, _, why, _ = done
        return {"item": item, key: changes.get(key)} if self.batch.keep_item and not why else changes.get(key)

    def _tell_failures(self, work: Work, errors: list[dict[str, Any]], count: int) -> None:
        """Say how many items failed, and which first: on stderr, and in the trace."""
        first = errors[0]
        what = self._named(first["index"], first["item"])
        text = f"{len(errors)} of {count} items failed; the first, {what}: {first['message']}"
        work.more["message"] = encodable(text)
        self.context.warn(f"'{self.id}': {text}")

    def _named(self, index: Any, item: Any) -> str:
        """An item in words: `item 3 ("a.txt")`, or `item 3` where its value is no JSON, or a secret."""
        secrets = self.context.secrets
        if not self.wired.has_secret_items(self.batch.item):
            try:
                return f"item {value_text(index)} ({secrets.mask(value_text(secrets.masked(item)))})"
            except PflowError:
                pass  # a flow in Python may run over anything
        return f"item {value_text(index)}"

    def _noted_items(self, shared: Any, items: list[tuple[Any, Any]], work: Work) -> list[Done]:
        """Run the items, with an event at the end of each, and count them and what they used."""
        counts = work.more["items"] = {"done": 0, "failed": 0}
        recorder, visit = self.context.recorder, {"visit": self.context.visits.get(self.id, 1)}

        def note(number: int | None, exit: int | None, used: dict[str, Any]) -> None:
            counts["done" if exit is None else "failed"] += 1
            work.usage.add(used)
            if recorder is not None:
                about = {"index": number, "exit": exit, **used}
                known = {name: value for name, value in about.items() if value is not None}
                recorder.event("item", self.id, {**visit, **known})

        if recorder is not None:
            recorder.event("batch", self.id, {**visit, "count": len(items)})
        try:
            return self._run_items(shared, items, lambda number, done: note(number, done[2].get("exit"), done[3]))
        except PflowError as failure:
            note(None, failure.exit, usage_of(failure))
            raise

    def _run_items(
        self, shared: Any, items: list[tuple[Any, Any]], note: Callable[[int, Done], None]
    ) -> list[Done]:  # fmt: skip
        if not self.context.isolate and (self.batch.jobs is None or self.batch.jobs == 1 or len(items) < 2):
            found = []
            for number, item in enumerate(items):
                found.append(self._run_item(shared, *item))
                note(number, found[-1])
            return found
        recorder = self.context.recorder

        def serve(number: int, parent: Parent) -> Any:
            self.context.ask.parent = parent.ask
            if recorder is not None:
                self.context.recorder = recorder.to(parent.take)
            return self._run_item(shared, *items[number])

        def rescue(number: int, error: PflowError) -> Done:
            return {}, {}, {"exit": error.exit, "message": error.message}, {}

        try:
            return run_all(
                len(items),
                serve,
                jobs=self.batch.jobs or 1,
                is_reused=not self.context.isolate,
                take=recorder.write if recorder is not None else drop,
                ask=self.context.ask,
                rescue=rescue if self.batch.on_error == "keep" else None,
                done=note,
            )
        except Died as died:
            raise died.within(self._named(*items[died.number])) from died

    def _run_item(self, shared: Any, index: Any, item: Any) -> Done:
        """Run the node on a view of the store in which the item has its name."""
        work = Work()
        try:
            changes, _ = self.run_once(ChainMap({self.batch.item: item}, shared), work)
            written = {key: storable(key, value) for key, value in changes.items() if value is not REMOVED}
            return written, work.reads, {}, work.usage.members()
        except (Interrupted, ClosedPipe):
            raise
        except BaseException as error:
            failure = (
                error if isinstance(error, StepFailed) else in_words(self.type, self.wired, error, self.context.secrets)
            )
            if self.batch.on_error == "keep":
                why = {"exit": failure.exit, "message": encodable(failure.message)}
                return {}, work.reads, why, work.usage.members()
            failure.usage = work.usage.members()
            failure.message = f"{self._named(index, item)}: {failure.message}"
            raise failure from (None if failure is error else error)

    def _keep_data(self, shared: Any) -> None:
        """Put the data flags into the store; not those that are made of the item."""
        finders = [finder for finder in self.binding.finders if finder.key in self.binding.stored]
        fixed = [finder for finder in finders if all(path[0] != self.batch.item for path in finder.source.paths)]
        self.put_data(shared, {finder.key: finder.find(shared) for finder in fixed})

    def _all_reads(self, shared: Any, done: list[Done]) -> Origins:
        """Where the reads of all items came from; what an item gave, from where the items stand."""
        over = tuple(map(write_path, self.over.places(shared)))
        reads: Origins = {"batch.over": over}
        for key, places in {read: None for each in done for read in each[1].items()}:
            there = [over if parse_path(place)[0] == self.batch.item else (place,) for place in places]
            reads[key] = tuple(dict.fromkeys([*reads.get(key, ()), *(place for each in there for place in each)]))
        return reads
