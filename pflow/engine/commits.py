"""The commit of a visit to the journal of its run: the end of the visit, and the files that it read and changed."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any
from pflow.binding.store import REMOVED
from pflow.catalog.find import FLOW, PROGRAM
from pflow.files.beneath import paths_in
from pflow.interface.interface import ANYTHING
from pflow.record.records import MISSING, file_key, listing_key, stamp_of, state_of

if TYPE_CHECKING:
    from pflow.binding.store import NodeStore
    from pflow.engine.context import Context, JournalClient, StepFailed
    from pflow.flow.wired_flow import WiredStep
    from pflow.record.records import Record
    from pflow.values.paths import Path


class VisitCommit:
    """The record of one visit of a step or fork; `done` is its end, if an earlier part of the run made the visit."""

    def __init__(self, context: Context, journal: JournalClient, path: str) -> None:
        self.context = context
        self.journal = journal
        self.path = path
        self.carried = context.carried
        self.changes: dict[Path, Any] = {}
        self.done = journal.take(path)
        if self.done is None:
            context.watchers.append(self.changes)

    def redo(self, shared: Any, done: Record) -> tuple[Any, str]:
        """Repeat the changes of the visit; return its action, and the step whose failure was handled."""
        for path, *value in done.get("changes", ()):
            self.context.assign(shared, tuple(path), value[0] if value else REMOVED)
        if "carried" in done:
            self.context.carried = tuple(done["carried"])
        return done.get("action"), done.get("handled", "")

    def end_fork(self, action: Any, handled: str, steps: list[str]) -> None:
        """Commit a failure that a step outside handles, if there is one: branches commit their own steps."""
        if handled:
            self.end(action, handled, over=[f"{self.context.prefix}{step}@" for step in steps])
        else:
            self.context.watchers.pop()

    def end(self, action: Any, handled: str, **more: Any) -> None:
        self.context.watchers.pop()
        record: Record = {"end": self.path, **more}
        if action not in (None, "default"):
            record["action"] = action
        if handled:
            record["handled"] = handled
        if self.changes:
            record["changes"] = [
                [list(path)] if value is REMOVED else [list(path), value] for path, value in self.changes.items()
            ]
        if self.context.carried is not self.carried:
            record["carried"] = list(self.context.carried or ())
        self.journal.write(record)

    def fail(self, failure: StepFailed) -> None:
        self.context.watchers.pop()
        self.journal.fail(self.path, failure)


class StepFiles:
    """The files of a step: if it `reads` files, those that its paths name; if it `changes` files, maybe any."""

    def __init__(self, wired: WiredStep) -> None:
        interface, effects = wired.interface, {*wired.interface.effects}
        origin = wired.node_type.origin if wired.node_type else ""
        self.reads = origin != FLOW and ("reads files" in effects or "writes files" not in effects)
        is_unknown = interface.open or (origin == PROGRAM and not effects)
        self.changes = is_unknown or not effects.isdisjoint({"writes files", "runs commands", ANYTHING})
        self.params = interface.params
        self.fields = [field for field in interface.taken if field.type.is_path and origin != FLOW]

    def named(self, node: Any, view: NodeStore) -> list[str]:
        """Return the keys of the files that a node's paths name, and of those that its method `looks_at` returns."""
        more = node.looks_at(view) if hasattr(node, "looks_at") else ()
        try:
            found = [file_key(each) if isinstance(each, str) else listing_key(*each) for each in more]
            for field in self.fields:
                is_param = field.name in self.params
                value = (
                    node.params.get(field.name) if is_param else view.peek(field.name) if field.name in view else None
                )
                found += map(file_key, paths_in(value))
        except OSError:
            return []  # relative paths name nothing: the working directory is gone
        return found


class FileWatch:
    """Records the files that a visit reads and changes, before its end: `with FileWatch(…):`.

    It watches all known files for the visit of a step, but for an item of a batch only those that the item names.
    Without `files` nothing is recorded.
    """

    def __init__(
        self, files: StepFiles | None, context: Context, visit: str, node: Any = None, view: Any = None
    ) -> None:
        self.ask = context.coordinator.ask
        self.visit = visit
        states = context.coordinator.files
        reads, changes = (files.reads, files.changes) if files else (False, False)
        named = files.named(node, view) if files and node is not None else []
        self.read = named if reads else []
        self.begun = named if changes and states.reads else []
        known = states.inside.get(context.prefix, {})
        others = [key for key in named if key in known] if context.item else known
        self.watched = dict.fromkeys([*self.read, *others]) if changes else {}

    def __enter__(self) -> None:
        self.found = {key: state_of(key) for key in self.read}
        self.before = {key: stamp_of(key) for key in self.watched}
        if self.begun:  # from here on a kill may leave these files half written
            self.ask("keep", {"left": dict.fromkeys(self.begun)})

    def __exit__(self, *failure: object) -> None:
        before = self.before.items()
        changed = [key for key, stamp in before if key in self.begun or not stamp or stamp != stamp_of(key)]
        left = {key: state_of(key) for key in changed}
        made = [key for key, state in left.items() if self.found.get(key) == MISSING != state]  # not inputs
        read = {key: state for key, state in self.found.items() if state is not None and key not in made}
        if read:
            self.ask("keep", {"read": self.visit, "files": read})
        if left:
            self.ask("keep", {"left": left})
