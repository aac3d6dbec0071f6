"""PF06 for forks: no branch writes or reads what another one writes."""

from __future__ import annotations

from pflow.flow.findings import Finding
from pflow.flow.rules.names import joined
from pflow.flow.rules.shelf import Shelf
from pflow.flow.rules.view import read_places
from pflow.flow.rules.writes import PF06, mapping_for, places_of
from pflow.paths import write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.graph import Fork
    from pflow.flow.rules.puts import Put
    from pflow.flow.rules.view import View
    from pflow.flow.wired import WiredStep


def check_branches(view: View) -> Iterator[Finding]:
    for fork in view.closed_forks():
        yield from _check_fork(view, fork)


def _check_fork(view: View, fork: Fork) -> Iterator[Finding]:
    branch = {id: n for n, ids in enumerate(fork.branches) for id in ids}
    shelf = Shelf()
    meeting: dict[str, list[tuple[Put, Put]]] = {}
    for put in [put for id in sorted(branch, key=lambda id: view.ways.place.get(id, 0)) for put in view.puts[id]]:
        others = (each for each in shelf.meeting(put.target) if branch[each.wired.id] != branch[put.wired.id])
        other = next(others, None)
        if other is not None:
            meeting.setdefault(put.wired.id, []).append((other, put))
        shelf.add(put.target, put)
    for id, pairs in meeting.items():
        writers = joined(dict.fromkeys(other.wired.id for other, _ in pairs))
        places = places_of(put for _, put in pairs)
        message = f"'{id}' and {writers} write {places}, in two branches of the fork at '{fork.source}'"
        yield Finding(PF06, view.steps[id].step.place, message, mapping_for(pairs[0][1]))
    for id in branch:
        yield from _check_reads(view, fork, view.steps[id], shelf, branch)


def _check_reads(view: View, fork: Fork, wired: WiredStep, shelf: Shelf, branch: dict[str, int]) -> Iterator[Finding]:
    for path in read_places(wired):
        for put in shelf.meeting(path):
            if branch[put.wired.id] != branch[wired.id]:
                message = f"'{wired.id}' reads '{write_path(path)}', which '{put.wired.id}' writes in another branch"
                remedy = f"read it where the branches of the fork at '{fork.source}' have met, or map one of the two"
                yield Finding(PF06, wired.step.place, message, remedy)
                return
