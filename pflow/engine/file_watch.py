"""The files that a visit reads and changes, for the journal: a run that is resumed compares them."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Iterator
from pflow.catalog.kinds import FLOW, PROGRAM
from pflow.record.file_states import CHANGED, MISSING, file_key, listing_key, look_at
from pflow.values.types import Type

if TYPE_CHECKING:
    from pflow.binding.store import NodeStore
    from pflow.engine.context import Context
    from pflow.flow.wired import WiredStep
    from pflow.record.file_states import State


class StepFiles:
    """How a step uses files: whether it `reads` those that its paths name, and `changes` any."""

    def __init__(self, wired: WiredStep, node: Any) -> None:
        interface, effects = wired.interface, {*wired.interface.effects}
        origin = wired.kind.origin if wired.kind else ""
        self.reads = origin != FLOW and ("reads files" in effects or "writes files" not in effects)
        is_unknown = interface.open or (origin == PROGRAM and not effects)
        self.changes = is_unknown or not effects.isdisjoint({"writes files", "runs commands"})
        items = [] if origin == FLOW else [*interface.reads.values(), *interface.params.values()]
        self.params = interface.params
        self.items = [item for item in items if item.type.is_path]
        self.looks_at = getattr(node, "looks_at", None)

    def named(self, node: Any, view: NodeStore) -> list[str]:
        """Return the keys of the files that a node's paths name, and of what it says that it looks at besides."""
        more = node.looks_at(view) if self.looks_at else ()
        try:
            found = [file_key(each) if isinstance(each, str) else listing_key(*each) for each in more]
            for item in self.items:
                is_param = item.name in self.params
                value = node.params.get(item.name) if is_param else view.peek(item.name) if item.name in view else None
                found += map(file_key, _paths_in(item.type, value))
        except OSError:
            return []  # the working directory is gone
        return found


def _paths_in(type: Type, value: Any) -> Iterator[str | bytes]:
    if type.items is not None and isinstance(value, list):
        for each in value:
            yield from _paths_in(type.items, each)
    elif type.name == "path" and isinstance(value, str | bytes) and value:
        yield value


class FileWatch:
    """Notes what a visit reads and changes of files, in records that go before its end.

    `named` are the files that it names itself. A visit that is not an item of a batch may change any that are known.
    """

    def __init__(self, files: StepFiles, context: Context, visit: str, named: list[str]) -> None:
        assert context.commits is not None
        self.write = context.commits.write
        self.visit = visit
        self.changes = files.changes
        self.read = named if files.reads else []
        known, has_listing = context.services.files.inside.get(context.prefix, {}), context.services.files.has_listing
        self.begun = [key for key in named if self.changes and (key in known or has_listing)]
        self.watched = [key for key in (self.begun if context.item else known) if self.changes and key in known]

    def __enter__(self) -> None:
        self.found = {key: look_at(key) for key in self.read}
        self.before = {key: look_at(key, digests=False)[1] for key in self.watched}
        if self.begun:
            self.write({"left": dict.fromkeys(self.begun)})

    def __exit__(self, *failure: object) -> None:
        states = {key: self._state_read(key, *found) for key, found in self.found.items()}
        if known := {key: state for key, state in states.items() if state is not None}:
            self.write({"read": self.visit, "files": known})
        before = {key: "" if key in self.begun else stamp for key, stamp in self.before.items()}
        if left := {key: look_at(key)[0] for key, stamp in before.items() if _may_differ(key, stamp)}:
            self.write({"left": left})

    def _state_read(self, key: str, state: State, stamp: Any) -> State:
        """Return the state that the visit found; None if there is nothing to compare."""
        if state is None or not _may_differ(key, stamp):
            return state
        now = look_at(key)[0]
        if now == state or not self.changes:
            return state if now == state else CHANGED
        return None if state == MISSING else now  # its own work


def _may_differ(key: str, stamp: Any) -> bool:
    return not stamp or look_at(key, digests=False)[1] != stamp
