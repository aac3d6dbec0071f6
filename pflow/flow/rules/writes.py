"""PF06 and PF16: steps, and the branches of a fork, do not write over one another unless the flow says so."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.findings import Finding, Rule
from pflow.flow.rules._view import place_of_write, read_places
from pflow.naming import joined
from pflow.paths import meet, write_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pflow.flow.graph import Fork
    from pflow.flow.rules._view import View
    from pflow.flow.wired import Write
    from pflow.paths import Path

    Pair = tuple[Write, Write]
    """Two writes whose places meet, the earlier one first."""


class _Index:
    """Writes by the first part of their places."""

    def __init__(self) -> None:
        self._by_root: dict[str | int, list[Write]] = {}

    def add(self, write: Write) -> None:
        self._by_root.setdefault(write.target[0], []).append(write)

    def meeting(self, place: Path) -> Iterator[Write]:
        """The writes whose places meet this one, latest first."""
        there = self._by_root.get(place[0], ())
        return (write for write in reversed(there) if meet(write.target, place))


def _pairs(view: View) -> Iterator[tuple[Write, Iterator[Write]]]:
    """Each write, with the earlier ones whose places meet its own, latest first."""
    index = _Index()
    for writes in view.writes.values():
        for later in writes:
            yield later, index.meeting(later.target)
            index.add(later)


def check_apart(view: View) -> Iterator[Finding]:
    """PF06 for the writes of one step, of steps that follow one another, and of the branches of a fork."""
    for later, before in _pairs(view):
        earlier = next((write for write in before if _clash(view, write, later)), None)
        if earlier is not None:
            yield _both_go(view, earlier, later)
    for fork in view.closed_forks():
        yield from _check_fork(view, fork)


def _is_mapped(view: View, write: Write) -> bool:
    return write.key in view.steps[write.step].targets


def _both_go(view: View, earlier: Write, later: Write) -> Finding:
    place = write_path(max(earlier.target, later.target, key=len))
    if earlier.step == later.step:
        message = f"'{later.step}' writes both '{earlier.key}' and '{later.key}' to '{place}'"
    else:
        message = f"'{later.step}' writes '{later.key}', and '{earlier.step}' '{earlier.key}', to '{place}'"
    mapped = later if _is_mapped(view, later) else earlier
    remedy = f"{mapped.step}.{mapped.key} is a place of its own"
    return Finding("PF06", place_of_write(view.steps[mapped.step], mapped), message, remedy)


def _clash(view: View, earlier: Write, later: Write) -> bool:
    """Whether two writes whose places meet must not: both are mapped there, or one goes inside what holds no keys."""
    is_mapped = [_is_mapped(view, earlier), _is_mapped(view, later)]
    if earlier.step == later.step:
        return any(is_mapped)
    if not any(is_mapped) or not _is_overwritten(view, earlier, later):
        return False
    holds_no_keys = earlier.item is not None and earlier.item.type.name not in ("dict", "any")
    return all(is_mapped) or (len(later.target) > len(earlier.target) and holds_no_keys)


def _is_overwritten(view: View, earlier: Write, later: Write) -> bool:
    """Whether one write takes the place of the other in one run, and not each time round a loop."""
    loop = view.loop_of.get(later.step, ())
    return view.leads_to(earlier.step, later.step) and (not loop or earlier.step in loop)


def check_overwriting(view: View) -> Iterator[Finding]:
    """PF16: one finding for each step that writes over what others wrote.

    By-products that nobody reads do not count by themselves (llm's `usage`, where `response` has its own place).
    """
    over: dict[str, list[Pair]] = {}
    for later, before in _pairs(view):
        earlier = next((write for write in before if _is_lost(view, write, later)), None)
        if earlier is not None and not _clash(view, earlier, later):
            over.setdefault(later.step, []).append((earlier, later))
    tangled = {id for fork, crossing in view.forks if crossing for branch in fork.branches for id in branch}
    for id, pairs in over.items():
        cause = next((later for _, later in pairs if _is_main(view, later) or view.is_read(later.target)), None)
        if cause is not None and id not in tangled and not view.is_uncertain:
            message = f"'{id}' writes {_places(later for _, later in pairs)} over what {_steps(pairs)} wrote"
            yield Finding("PF16", view.steps[id].step.place, message, _mapping_for(cause), is_warning=True)


def _is_lost(view: View, earlier: Write, later: Write) -> bool:
    """Whether a later write takes the place of an earlier one, and was not mapped to that very place."""
    is_inside = len(later.target) > len(earlier.target)
    is_said = _is_mapped(view, later) and (not is_inside or _is_mapped(view, earlier))
    return earlier.step != later.step and not is_said and _is_overwritten(view, earlier, later)


def _is_main(view: View, write: Write) -> bool:
    """Whether a step has no other write that counts for more."""
    main = view.steps[write.step].interface.pipe_write
    return main is None or main.name == write.key


def _places(writes: Iterable[Write]) -> str:
    return joined(dict.fromkeys(write_path(write.target) for write in writes))


def _steps(pairs: list[Pair]) -> str:
    return joined(dict.fromkeys(earlier.step for earlier, _ in pairs))


def _mapping_for(write: Write) -> str:
    """The mapping that gives a write a place of its own."""
    id, key = write.step, write.key
    return f'"mappings": {{"{id}": {{"output_mappings": {{"{key}": "{id}.{key}"}}}}}}'


def _check_fork(view: View, fork: Fork) -> Iterator[Finding]:
    branch_of = {id: n for n, ids in enumerate(fork.branches) for id in ids}
    index = _Index()
    meeting: dict[str, list[Pair]] = {}
    for id in [id for id in view.writes if id in branch_of]:
        for write in view.writes[id]:
            others = (each for each in index.meeting(write.target) if branch_of[each.step] != branch_of[id])
            other = next(others, None)
            if other is not None:
                meeting.setdefault(id, []).append((other, write))
            index.add(write)
    where = f"branches of the fork at '{fork.source}'"
    for id, pairs in meeting.items():
        message = f"'{id}' and {_steps(pairs)} write {_places(write for _, write in pairs)}, in two {where}"
        yield Finding("PF06", view.steps[id].step.place, message, _mapping_for(pairs[0][1]))
    for id in branch_of:
        paths = read_places(view.steps[id])
        met = ((path, write) for path in paths for write in index.meeting(path))
        found = next((each for each in met if branch_of[each[1].step] != branch_of[id]), None)
        if found is not None:
            message = f"'{id}' reads '{write_path(found[0])}', which '{found[1].step}' writes in another branch"
            remedy = f"read it where the {where} have met, or map one of the two"
            yield Finding("PF06", view.steps[id].step.place, message, remedy)


RULES = (
    Rule("PF06", "mapping targets never meet, nor do branches of a fork", check_apart),
    Rule("PF16", "two steps write one key without mappings", check_overwriting, otherwise="warning"),
)
