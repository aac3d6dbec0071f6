"""PF06 and PF16: steps, and branches of a fork, do not overwrite each other's writes, unless the flow says so."""

from __future__ import annotations

from pflow import Callable, Iterable, Iterator
from pflow.flow.expressions import path_text
from pflow.flow.findings import Finding, Rule
from pflow.flow.flow import REST
from pflow.flow.graph import Fork, Write
from pflow.flow.references import uses
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.text.naming import joined
from pflow.values.jsontext import quote
from pflow.values.paths import Path, are_nested, write_path

Pair = tuple[Write, Write]
"""Two writes to the same place, or to a place inside the other's; the earlier write is first."""


class _Index:
    """Writes by place. Lists of them are in the order of the flow."""

    def __init__(self) -> None:
        self._at: dict[Path, list[Write]] = {}
        self._inside: dict[Path, list[Write]] = {}

    def add(self, write: Write) -> None:
        self._at.setdefault(write.target, []).append(write)
        for length in range(1, len(write.target) + 1):
            self._inside.setdefault(write.target[:length], []).append(write)

    def around(self, place: Path) -> list[list[Write]]:
        """Return the writes to objects that contain a place."""
        return [self._at.get(place[:length], []) for length in range(1, len(place))]

    def meeting(self, place: Path) -> list[list[Write]]:
        """Return the writes to a place, inside it and around it."""
        return [self._inside.get(place, []), *self.around(place)]


def _latest(
    flow: WiredFlow, several: Iterable[list[Write]], later: Write, is_it: Callable[[WiredFlow, Write, Write], bool]
) -> Write | None:
    """Return the latest write of all lists that passes `is_it` with a `later` write, usually the last of a list."""
    found = [next((each for each in reversed(there) if is_it(flow, each, later)), None) for there in several]
    return max(filter(None, found), key=lambda each: flow.graph.positions[each.step], default=None)


def _overlaps(flow: WiredFlow) -> Iterator[tuple[Write, Write | None, Write | None]]:
    """Yield each write with the latest earlier one that clashes with it, and the latest one that is lost to it.

    Only lists that can have such a write are searched, since thousands of steps may write to one place.
    """
    mapped, unmapped = _Index(), _Index()
    for id in flow.order:
        for number, later in enumerate(flow.writes[id]):
            is_mapped, own = _is_mapped(flow, later), flow.writes[id][:number]
            fixed, around = mapped.meeting(later.target), unmapped.around(later.target)
            clashing = _latest(flow, [own, *fixed, *(around if is_mapped else [])], later, _clash)
            lists = around if is_mapped else [*fixed, *unmapped.meeting(later.target)]
            yield later, clashing, _latest(flow, lists, later, _is_lost)
            (mapped if is_mapped else unmapped).add(later)


def check_apart(flow: WiredFlow) -> Iterator[Finding]:
    """Check PF06: for the writes of one step, of steps that run one after another, and of the branches of a fork."""
    for later, earlier, _ in _overlaps(flow):
        if earlier is not None:
            yield _clash_finding(flow, earlier, later)
    for fork in [] if flow.is_uncertain else flow.graph.forks():
        if not flow.graph.open_edges(fork):
            yield from _check_fork(flow, fork)


def _is_mapped(flow: WiredFlow, write: Write) -> bool:
    return write.key in flow.steps[write.step].targets


def _clash_finding(flow: WiredFlow, earlier: Write, later: Write) -> Finding:
    place = write_path(max(earlier.target, later.target, key=len))
    mapped = later if _is_mapped(flow, later) else earlier
    step = flow.steps[mapped.step].step
    is_said = mapped.key in step.output_mappings
    where = ("mappings", step.id, "output_mappings", mapped.key) if is_said else step.location
    message = f"'{later.step}' writes '{later.key}', and '{earlier.step}' '{earlier.key}', to '{place}'"
    return Finding("PF06", where, message, f"write one to {mapped.step}.{mapped.key}")


def _clash(flow: WiredFlow, earlier: Write, later: Write) -> bool:
    """Return True if two writes are an error: both are mapped to one place, or one goes into a value without keys."""
    is_mapped = [_is_mapped(flow, earlier), _is_mapped(flow, later)]
    if earlier.step == later.step:
        rest, other = (earlier, later) if earlier.key == REST else (later, earlier)
        is_there_anyway = rest.key == REST and other.target == (*rest.target, other.key)
        return any(is_mapped) and are_nested(earlier.target, later.target) and not is_there_anyway
    if not any(is_mapped) or not _is_overwritten(flow, earlier, later):
        return False
    holds_no_keys = earlier.field is not None and earlier.field.type.name not in ("dict", "any")
    return all(is_mapped) or (len(later.target) > len(earlier.target) and holds_no_keys)


def _is_overwritten(flow: WiredFlow, earlier: Write, later: Write) -> bool:
    """Return True if one write replaces the other. A write before a loop around only the other does not count."""
    precedes, one, other = flow.graph.may_precede, earlier.step, later.step
    return precedes(one, other, past_loops=False) and (precedes(other, one) or not precedes(other, other))


def check_overwriting(flow: WiredFlow) -> Iterator[Finding]:
    """Check PF16: one finding for each step that overwrites writes of others.

    A by-product that the step also reads is updated, not overwritten. A by-product that nothing reads afterwards, such
    as llm's `usage`, does not count.
    """
    over: dict[str, list[Pair]] = {}
    for later, _, earlier in _overlaps(flow):
        own = flow.steps[later.step].interface
        is_update = later.key in own.reads and own.writes.get(later.key) is not own.pipe_write
        if earlier is not None and not is_update and not _clash(flow, earlier, later):
            over.setdefault(later.step, []).append((earlier, later))
    tangled = {id for fork in flow.graph.forks() if flow.graph.open_edges(fork) for ids in fork.branches for id in ids}
    read = {(write.step, write.key) for *_, writes in uses(flow) for write in writes}
    for pairs in [pairs for id, pairs in over.items() if id not in tangled and not flow.is_uncertain]:
        answer = flow.steps[pairs[0][1].step].interface.pipe_write
        told = [pair for pair in pairs if answer in (None, pair[1].field) or (pair[1].step, pair[1].key) in read]
        if told:
            yield _overwritten(flow, told)


def _overwritten(flow: WiredFlow, pairs: list[Pair]) -> Finding:
    step, places = flow.steps[pairs[0][1].step], _places(later for _, later in pairs)
    noun = "value" if len({earlier.step for earlier, _ in pairs}) == 1 else "values"
    message = f"'{step.id}' writes {places} over the {noun} from {_steps(pairs)}"
    return Finding("PF16", step.step.location, message, _mapping_for(pairs), is_warning=True)


def _is_lost(flow: WiredFlow, earlier: Write, later: Write) -> bool:
    """Return True if a later write replaces an earlier one although no mapping of the flow sends it there."""
    is_inside = len(later.target) > len(earlier.target)
    is_said = _is_mapped(flow, later) and (not is_inside or _is_mapped(flow, earlier))
    return earlier.step != later.step and not is_said and _is_overwritten(flow, earlier, later)


def _read_places(step: WiredStep) -> Iterator[Path]:
    over = [step.over] if step.over is not None else []
    for source in [*step.sources.values(), *step.params.values(), *over]:
        yield from source.paths
    for key, field in step.interface.reads.items():
        if key not in step.sources and "explicit" not in field.marks and key not in step.step.params:
            yield (key,)


def _places(writes: Iterable[Write]) -> str:
    return joined(dict.fromkeys(write_path(write.target) for write in writes))


def _steps(pairs: list[Pair]) -> str:
    return joined(dict.fromkeys(earlier.step for earlier, _ in pairs))


def _mapping_for(pairs: list[Pair]) -> str:
    targets: dict[str, list[str]] = {}
    for _, write in pairs:
        place = f"{quote(write.key)}: {quote(path_text((write.step, write.key)))}"
        targets.setdefault(write.step, []).append(place)
    mappings = [f'"{id}": {{"output_mappings": {{{", ".join(places)}}}}}' for id, places in targets.items()]
    return f'"mappings": {{{", ".join(mappings)}}}'


def _check_fork(flow: WiredFlow, fork: Fork) -> Iterator[Finding]:
    branch_of = {id: n for n, ids in enumerate(fork.branches) for id in ids}
    index = _Index()
    meeting: dict[str, list[Pair]] = {}

    def are_apart(_: WiredFlow, one: Write, other: Write) -> bool:
        return branch_of[one.step] != branch_of[other.step]

    for write in [each for id in flow.writes if id in branch_of for each in flow.writes[id]]:
        other = _latest(flow, index.meeting(write.target), write, are_apart)
        if other is not None:
            meeting.setdefault(write.step, []).append((other, write))
        index.add(write)
    where = f"branches of the fork at '{fork.source}'"
    opened = [sorted(id for id in branch if flow.steps[id].interface.open) for branch in fork.branches]
    unknown = [ids[0] for ids in opened if ids]
    if len(unknown) > 1:
        message = f"{joined(unknown)} may write the same keys, in two {where}"
        remedy = "declare their writes in an 'Interface:' block of their nodes' files"
        yield Finding("PF06", flow.steps[unknown[1]].step.location, message, remedy, is_warning=True)
    for id, pairs in meeting.items():
        message = f"'{id}' and {_steps(pairs)} write {_places(write for _, write in pairs)}, in two {where}"
        yield Finding("PF06", flow.steps[id].step.location, message, _mapping_for(pairs))
    for id in branch_of:
        paths = _read_places(flow.steps[id])
        met = [(path, write.step) for path in paths for there in index.meeting(path) for write in there]
        met = [(path, writer) for path, writer in met if branch_of[writer] != branch_of[id]]
        if met:
            keys, writers = (list(dict.fromkeys(each)) for each in zip(*met, strict=True))
            verb = "writes" if len(writers) == 1 else "write"
            message = f"'{id}' reads {joined(map(write_path, keys))}, which {joined(writers)} {verb} in another branch"
            remedy = f"read {'it' if len(keys) == 1 else 'them'} after the {where} meet, or map one of the two"
            yield Finding("PF06", flow.steps[id].step.location, message, remedy)


RULES = (
    Rule("PF06", "no two mapping targets overlap, nor do the writes of a fork's branches", check_apart),
    Rule("PF16", "no two steps write one key without mappings", check_overwriting, otherwise="warning"),
)
