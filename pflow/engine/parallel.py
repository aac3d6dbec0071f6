"""Steps that run in several processes at once: the items of a batch, and the branches of a fork."""

from __future__ import annotations

from collections import ChainMap

from pflow import TYPE_CHECKING, Any, Callable
from pflow.binding.store import OUTPUT_KEY, REMOVED
from pflow.engine.commits import FileWatch
from pflow.engine.context import Context, StepFailed, in_words, name_items, storable
from pflow.engine.step import StepNode
from pflow.errors import BAD_DATA, FAILED, Ignoring, PflowError
from pflow.flow.graph import Fork
from pflow.flow.wired_flow import WiredStep
from pflow.node import pocketflow
from pflow.process.loop import ListLoop, SerialExecutor, WorkItem, claiming, run_all
from pflow.process.pool import Died, Pool
from pflow.process.signals import ClosedPipe, Interrupted
from pflow.process.worker import Parent
from pflow.stage.visit import Visit
from pflow.terminal.columns import value_text
from pflow.text.printable import encodable
from pflow.values.paths import Path, are_nested, fault_inside, parse_path, type_name, write_path
from pflow.values.types import items_in
from pflow.values.usage import usage_of

if TYPE_CHECKING:
    from pflow.binding.resolve import Binding, Places

    ItemResult = tuple[dict[str, Any], Places, dict[str, Any], dict[str, Any]]
    """The result of one item: its writes, the places of its reads, its failure (exit and message; empty if it did not
    fail), and the rest of its event: usage of models (pflow.values.usage), the cache, failed tries, milliseconds.
    """
    Note = Callable[[int | None, dict[str, Any], dict[str, Any]], None]
    """Takes the end of an item for the trace: its number (None without a result), its failure, and the rest."""


_TOLD = ("cache", "tries", "tried", "asked", "warning")
"""The members of a visit's trace entry that the event of an item has too."""


class BatchStep(StepNode):
    """A step that runs once for each item of a list, or for each member of an object.

    Each of its writes becomes a list in the order of the items, or an object with the names of the members. With `jobs`
    the items run in that many processes. Under `keep` the result of a failed item is null, and `ID.errors` lists index,
    item, exit and message of each. With `keep_item` each result is `{"item": ITEM, KEY: VALUE}`, and that of a failed
    item `{"item": ITEM, "error": MESSAGE}`.
    """

    def __init__(self, wired: WiredStep, node: Any, binding: Binding, context: Context) -> None:
        super().__init__(wired, node, binding, context)
        assert wired.step.batch is not None
        assert wired.over is not None
        self.batch = wired.step.batch
        self.over = wired.over
        self.items: list[tuple[Any, Any]] = []
        self.paths: list[str] = []
        named = wired.params.get(OUTPUT_KEY)
        self.names_keys = named is not None and any(path[0] == self.batch.item for path in named.paths)
        """True if the item decides under which key its result is stored."""

    def perform(self, shared: Any, visit: Visit) -> None:
        over = items_in(self.over.find(shared))
        if not isinstance(over, list | dict):
            fault = f"is {type_name(over)}, not a list or an object"
            hint = ""
            if isinstance(over, str):
                fault = "begins as JSON and is not a list" + fault_inside(over)
                hint = "jq -c writes JSON as lines; --from=json takes an object"
            raise PflowError(f"cannot run over '{self.batch.over}': it {fault}", hint=hint, exit=BAD_DATA)
        self.items = items = list(over.items() if isinstance(over, dict) else enumerate(over))
        is_run = bool(self.context.run_id)
        names = name_items(item for _, item in items) if is_run else map(str, range(len(items)))
        self.paths = [f"{self.visit_path()}[{name}]" for name in names]
        self._keep_data(shared)
        try:
            with FileWatch(self.files, self.context, self.visit_path()):
                done = self._noted_items(shared, visit)
        finally:
            self.context.coordinator.ask("release", self.visit_path())  # in a loop, the next visit may write them again
        keys = dict.fromkeys([*self.interface.writes, *(key for each in done for key in each[0])])
        for key in keys:
            values = [self._result(key, item, each) for (_, item), each in zip(items, done, strict=True)]
            if self.names_keys and key not in self.places:
                self.put(shared, key, self._only_value(key, values, done))
            else:
                self.put(shared, key, dict(zip(over, values, strict=True)) if isinstance(over, dict) else values)
        found = zip(items, done, strict=True)
        errors = [{"index": index, "item": item, **why} for (index, item), (_, _, why, _) in found if why]
        if self.batch.on_error == "keep":
            self.context.assign(shared, (self.id, "errors"), errors)
        if errors:
            self._tell_failures(visit, errors, len(done))
            visit.more["items"] |= {} if self.wired.uses_errors else {"untaken": len(errors)}
        visit.reads = self._all_reads(shared, done)
        visit.writes = self.places_of(keys)
        self.carry(key for key in keys if key in self.places or not self.names_keys)

    def _only_value(self, key: str, values: list[Any], done: list[ItemResult]) -> Any:
        """Return the value of the one item that has this key. Raises PflowError (65) if several items have it."""
        found = [value for value, each in zip(values, done, strict=True) if key in each[0]]
        if len(found) > 1:
            what = f"cannot store '{key}': {len(found)} items write it"
            raise PflowError(what, hint="output_key is the same for them", exit=BAD_DATA)
        return found[0]

    def _result(self, key: str, item: Any, done: ItemResult) -> Any:
        """Return an item's value of a write, None if it failed; with `keep_item` an object with the value or error."""
        changes, _, why, _ = done
        value = changes.get(key)
        if not self.batch.keep_item:
            return value
        return {"item": item, "error": why["message"]} if why else {"item": item, key: value}

    def _tell_failures(self, visit: Visit, errors: list[dict[str, Any]], count: int) -> None:
        """Report on stderr and in the trace how many items failed, and the first failure; raise it if all failed."""
        first = errors[0]
        what = self._named(first["index"], first["item"])
        text = f"{len(errors)} of {count} items failed; the first, {what}: {first['message']}"
        if len(errors) == count:
            if self.context.journal is not None:  # all failed, so another try of this visit runs all items again
                self.context.journal.write({"again": self.visit_path()})
            is_one = len({error["exit"] for error in errors}) == 1
            raise PflowError(text, exit=first["exit"] if is_one else FAILED, is_permanent=True)
        visit.more["message"] = encodable(text)
        self.context.warn(f"'{self.id}': {text}")

    def _named(self, index: Any, item: Any) -> str:
        """Name an item, from 1: `item 3 ("a.txt")`, or `item 3` if its value is not JSON or is a secret."""
        secrets = self.context.secrets
        index = index + 1 if isinstance(index, int) else index
        if not self.wired.has_secret_items:
            with Ignoring(PflowError):  # a flow in Python may run over values that JSON has no form for
                return f"item {value_text(index)} ({secrets.mask(value_text(secrets.masked(item)))})"
        return f"item {value_text(index)}"

    def _writer(self, path: str) -> str:
        return f"{self._named(*self.items[self.paths.index(path)])} of this batch"

    def _noted_items(self, shared: Any, visit: Visit) -> list[ItemResult]:
        """Run the items, record an event at the end of each, and add up their usage."""
        before = self._done_before()
        failed = sum(bool(done[2]) for done in before.values())
        counts: dict[str, Any] = {"done": len(before) - failed, "failed": failed}
        counts |= {"at": self.visit_path()} if self.context.prefix else {}  # a subflow counts its own visits from 1
        visit.more["items"] = counts
        recorder, which = self.context.recorder, {"visit": self.context.visits.get(self.id, 1)}

        def note(number: int | None, failure: dict[str, Any], used: dict[str, Any]) -> None:
            counts["failed" if failure else "done"] += 1
            if used.get("cache", {}).get("verdict") == "hit":
                counts["cached"] = counts.get("cached", 0) + 1
            visit.spent.append(used)
            if recorder is not None:
                about = {"index": number, **failure, **used}
                known = {name: value for name, value in about.items() if value is not None}
                recorder.event("item", self.id, {**which, **known})

        if recorder is not None:
            about = {"count": len(self.items)} | ({"before": len(before)} if before else {})
            recorder.event("batch", self.id, {**which, **about})

        return self._run_items(shared, before, note)

    def _done_before(self) -> dict[int, ItemResult]:
        """Return the results, by number, of the items that an earlier part of the run has finished."""
        journal = self.context.journal
        found = {} if journal is None else {number: journal.take(path) for number, path in enumerate(self.paths)}
        return {
            number: ({path[0]: value for path, value in end.get("changes", ())}, {}, end.get("error", {}), {})
            for number, end in found.items()
            if end is not None
        }

    def _run_items(self, shared: Any, before: dict[int, ItemResult], note: Note) -> list[ItemResult]:
        """Run the items that are not done yet, and write the end of each to the journal before the trace has it.

        In a batch that is cached, equal items wait for the first of them, and then find its answer in the cache.
        """
        context, rest = self.context, [number for number in range(len(self.items)) if number not in before]
        is_apart = context.isolate or ((self.batch.jobs or 1) > 1 and len(rest) > 1)
        is_cached = self.cached is not None or bool(context.cache and context.cache.mode)
        shares_equals = is_cached and bool(context.run_id)

        def keep(number: int, result: Any) -> Any:
            if isinstance(result, Died) and self.batch.on_error == "keep":
                result = {}, {}, {"exit": result.exit, "message": result.message}, {}
            if isinstance(result, PflowError):
                if not result.ends_run or usage_of(
                    result
                ):  # else the budget refused a call before it began, so there is no end to note
                    note(None, {"exit": result.exit}, usage_of(result))
                return result.within(self._named(*self.items[number])) if isinstance(result, Died) else result
            if context.journal is not None:
                context.journal.end_item(self.paths[number], result[0], result[2])
            note(number, result[2], result[3])
            return result

        def work(number: int) -> WorkItem:
            digest = self.paths[number].rpartition(".")[0]  # the part of the name that equal items share
            return WorkItem(number, key=digest * shares_equals, is_alone=context.isolate)

        loop = ListLoop(map(work, rest), keep)
        loop.run(self._pool(shared) if is_apart else SerialExecutor(lambda number: self._run_item(shared, number)))
        done = before | loop.results
        return [done[number] for number in range(len(self.items))]

    def _pool(self, shared: Any) -> Pool:
        """Return the child processes that run items."""

        def serve(number: int, parent: Parent) -> Any:
            self.context.enter_child(parent)
            return self._run_item(shared, number)

        return Pool(serve, jobs=self.batch.jobs or 1, take=self.context.take, ask=self.context.coordinator.answer)

    def _run_item(self, shared: Any, number: int) -> ItemResult:
        """Run the node on a store in which the item stands under its name."""
        visit = Visit()
        index, item = self.items[number]
        before, own = self.context.claim, self.paths[number]
        self.context.item = own.removeprefix(self.visit_path())
        if self.context.recorder is not None:
            self.context.recorder.index = str(number)
        ask = self.context.coordinator.ask
        self.context.claim = claiming(own, lambda file: ask("claim", file), self._writer, self.batch.item, before)
        try:
            changes, _ = self.run_once(ChainMap({self.batch.item: item}, shared), visit)
            written = {key: storable(key, value) for key, value in changes.items() if value is not REMOVED}
            return written, visit.reads, {}, self._event_members(visit)
        except (Interrupted, ClosedPipe):
            raise
        except BaseException as error:
            failure = in_words(self.type, self.wired, error, self.context.secrets)
            if self.batch.on_error == "keep" and not failure.ends_run:
                why = {"exit": failure.exit, "message": encodable(failure.message)}
                return {}, visit.reads, why, self._event_members(visit)
            if self.context.journal is not None:
                self.context.journal.fail(own, failure)
            failure.usage = visit.usage()
            if not failure.ends_run:
                failure.message = f"{self._named(index, item)}: {failure.message}"
            raise failure from (None if failure is error else error)
        finally:
            self.context.item = ""
            if self.context.recorder is not None:
                self.context.recorder.index = ""
            self.context.claim = before

    def _event_members(self, visit: Visit) -> dict[str, Any]:
        """Return the members of an item's event besides its failure."""
        return {"ms": visit.ms(), **visit.usage(), **{name: visit.more[name] for name in _TOLD if name in visit.more}}

    def _keep_data(self, shared: Any) -> None:
        """Put the data flags into the store, except those made from the item."""
        taken = [bound for bound in self.binding.bound_reads if bound.key in self.binding.stored]
        fixed = [bound for bound in taken if all(path[0] != self.batch.item for path in bound.source.paths)]
        self.put_data(shared, {bound.key: bound.find(shared) for bound in fixed})

    def _all_reads(self, shared: Any, done: list[ItemResult]) -> Places:
        """Return the places of all items' reads; for a read from the item, the place of the list."""
        over = tuple(map(write_path, self.over.places(shared)))
        reads: Places = {"batch.over": over}
        for key, places in {read: None for each in done for read in each[1].items()}:
            there = [over if parse_path(place)[0] == self.batch.item else (place,) for place in places]
            reads[key] = tuple(dict.fromkeys([*reads.get(key, ()), *(place for each in there for place in each)]))
        return reads


class ForkNode(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """A node between a step and the branches that its action leads to. The first failure ends the other branches."""

    def __init__(self, fork: Fork, engine: Any) -> None:
        super().__init__()
        self.id = ""
        self.fork = fork
        self.engine = engine

    def visit_path(self) -> str:
        """Return the path of the fork's record, which is written only for a failure that a step outside handles."""
        return str(self.engine.context.visit_path(self.fork.source)) + ":fork"

    def handler_of(self, step: str) -> Any:
        """Return the step outside the fork to which an `error` edge of the failed step leads, if there is one."""
        target = next((target for source, target in self.fork.exits if source == step), None)
        return self.engine.nodes[target] if target is not None else None

    def _run(self, shared: Any) -> None:
        context, starts = self.engine.context, self.fork.starts

        def serve(number: int, parent: Parent) -> Any:
            return self._branch(number, shared, parent)

        def keep(number: int, result: Any) -> Any:
            return self._failed(starts[number], result) if isinstance(result, Died) else result

        ask = context.coordinator.answer
        try:
            branches = run_all(len(starts), serve, jobs=context.jobs, take=context.take, ask=ask, keep=keep)
        except StepFailed as failure:
            self._apply(shared, failure.changes)
            raise
        self._refuse_conflicts([journal for journal, _ in branches])
        for journal, visits in branches:
            self._apply(shared, journal)
            context.visits.update(visits)

    def _refuse_conflicts(self, journals: list[dict[Path, Any]]) -> None:
        """Raise StepFailed if two branches wrote different values to one place: one of them would be lost.

        The rules have checked the writes that nodes declare, but an open node may write any key. Values of data flags
        are not compared, since they are stored only where nothing is.
        """
        steps = [self.engine.flow.steps[id] for branch in self.fork.branches for id in branch]
        flags = {step.data_place(key) for step in steps for key in step.step.inputs}
        written: dict[str | int, list[tuple[Path, Any, str]]] = {}
        for start, journal in zip(self.fork.starts, journals, strict=True):
            for path, value in journal.items():
                there = written.setdefault(path[0], [])
                met = [
                    other
                    for place, found, other in there
                    if are_nested(path, place) and (path, value) != (place, found)
                ]
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
        return self._failed(other, error)

    def _failed(self, step: str, error: PflowError) -> StepFailed:
        return StepFailed(step, self.engine.nodes[step].wired.step.type, error)

    def _apply(self, shared: Any, journal: dict[Path, Any]) -> None:
        for path, value in journal.items():
            self.engine.context.assign(shared, path, value)

    def _branch(self, number: int, shared: Any, parent: Parent) -> Any:
        """Run one branch in the child process; return its changes to the store, and its visits."""
        engine, context, start = self.engine, self.engine.context, self.fork.starts[number]
        before = dict(context.visits)
        changes: dict[Path, Any] = {}
        context.watchers.append(changes)
        context.enter_child(parent, f"{context.recorder.prefix if context.recorder else ''}{self.fork.source}/{start}")
        try:
            are_nested = engine.nodes.get(self.fork.meet or "")
            engine.walk(shared, engine.nodes[start], are_nested, self.fork.branches[number])
        except StepFailed as failure:
            failure.changes = changes
            raise
        return changes, {id: count for id, count in context.visits.items() if before.get(id) != count}
