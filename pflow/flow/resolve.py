"""What a path that somebody wrote means: an earlier step's write, an input, a batch's item, or nothing."""

from __future__ import annotations

from pflow.flow.chained import Earlier
from pflow.flow.reaching import is_stored
from pflow.flow.wired import Write
from pflow.naming import nearest
from pflow.paths import meet, missing, write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from pflow.flow.reaching import Names, Reaching
    from pflow.flow.wired import Reference, WiredFlow, WiredStep
    from pflow.paths import Path

_OF_A_STEP = ("error", "errors")
"""What the engine itself writes under a step's id: why it failed, and which items of its batch did."""


class Resolver:
    """Settles the references of one plan, once it is known which writes reach each step."""

    def __init__(self, plan: WiredFlow, reaching: Reaching) -> None:
        self.plan = plan
        self.reaching = reaching
        self._ancestors: dict[str, set[str]] = {}

    def settle(self, reference: Reference, names: Names, wired: WiredStep | None) -> None:
        """Find what a reference means, at a step or (without one) at the end of the flow."""
        path = reference.path
        batch = wired.step.batch if wired and reference.key != "" else None
        if batch is not None and path[0] == batch.item:
            reference.is_item = True
        elif self._settle_by_step(reference, wired):
            return
        elif found := self.found(names, path):
            reference.places = tuple(dict.fromkeys(place for place, _ in found))
            reference.writes = tuple(write for _, write in found)
        elif path[0] == "stdin" or path[0] in self.plan.flow.inputs:
            reference.input = str(path[0])
        else:
            self._settle_unknown(reference, names, wired)

    def found(self, names: Names, path: Path) -> list[tuple[Path, Write]]:
        """The writes that a path may mean; none where an input stands there first: a data flag never replaces it."""
        found = self.reaching.find(names, path)
        given = self.plan.flow.inputs.get(str(path[0]))
        is_there = given is not None and (given.required or given.has_default)
        return [] if is_there and all(write.is_data and write.target == path[:1] for _, write in found) else found

    def _settle_by_step(self, reference: Reference, wired: WiredStep | None) -> bool:
        """Take `ID.KEY…` for that step's write; False where the path does not begin with a step's id."""
        path = reference.path
        writer = self.plan.steps.get(str(path[0]))
        if writer is None or len(path) < 2:
            return False
        key = str(path[1])
        is_data = _is_data(writer, key)
        is_write = key in writer.interface.writes or key in writer.targets or key in _OF_A_STEP or writer.interface.open
        if not is_data and not is_write:
            if self._is_place(path):
                return False
            there = list(dict.fromkeys([*writer.interface.writes, *writer.targets]))
            reference.trouble = missing(key, there, writer.id).message
            return True
        if wired is not None and writer.id not in self.before(wired.id):
            reference.trouble = f"'{writer.id}' does not run before '{wired.id}'"
            reference.remedy = f"an edge that leads from '{writer.id}' to '{wired.id}'"
            return True
        is_under_id = is_data or (key in _OF_A_STEP and key not in writer.targets)
        target = (writer.id, key) if is_under_id else writer.place_of(key)
        items = writer.interface.reads if is_data else writer.interface.writes
        reference.places = (target + path[2:],)
        reference.writes = (Write(writer.id, key, target, items.get(key), is_data=is_data),)
        return True

    def _is_place(self, path: Path) -> bool:
        """Whether some step has been told to write at this very path, or above or below it."""
        return any(meet(path, target) for wired in self.plan.steps.values() for target in wired.targets.values())

    def before(self, id: str) -> Container[str]:
        """The steps that may have run when this one begins."""
        if self.reaching.is_chain:
            return Earlier(self.reaching.order, self.reaching.order.get(id, 0))
        if id not in self._ancestors:
            seen: set[str] = set()
            todo = list(self.plan.graph.before[id])
            while todo:
                each = todo.pop()
                if each not in seen:
                    seen.add(each)
                    todo += self.plan.graph.before[each]
            self._ancestors[id] = seen
        return self._ancestors[id]

    def _settle_unknown(self, reference: Reference, names: Names, wired: WiredStep | None) -> None:
        """Take a path that nothing writes for an input of the flow, unless it looks like a slip."""
        root = str(reference.path[0])
        there = dict.fromkeys([*self.plan.steps, *(str(name[0]) for name in names), *self.plan.flow.inputs])
        later = self._written_later(root, wired)
        if later:
            reference.trouble = f"'{later}' writes '{root}', and does not run before"
        elif root in self.plan.steps:
            writes = ", ".join(f"{root}.{key}" for key in self.plan.steps[root].interface.writes) or "nothing"
            reference.trouble = f"'{root}' is a step; it writes {writes}"
        elif near := nearest(root, there):
            reference.trouble = f"nothing writes '{write_path(reference.path)}'"
            reference.remedy = f"did you mean {near}?"
        elif self.plan.flow.inputs or wired is None:
            reference.trouble = f"nothing writes '{write_path(reference.path)}'"
            reference.remedy = f"there is {', '.join(there) or 'nothing'}"
        else:
            reference.input = root

    def _written_later(self, root: str, reader: WiredStep | None) -> str:
        for wired in (each for each in self.plan.steps.values() if each is not reader):
            if root in wired.interface.writes and wired.place_of(root) == (root,):
                return wired.id
            if any(target[0] == root for target in wired.targets.values()):
                return wired.id
        return ""


def _is_data(writer: WiredStep, key: str) -> bool:
    """Whether `ID.KEY` is a data flag of that step, which is stored under its id."""
    is_there = key in writer.step.inputs and key not in writer.targets and is_stored(writer, key)
    return is_there and writer.data_place(key) == (writer.id, key)
