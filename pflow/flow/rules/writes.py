"""PF06 and PF16: steps do not write over one another unless the flow says so."""

from __future__ import annotations

from pflow.flow.findings import Finding
from pflow.flow.rules.names import joined
from pflow.flow.rules.shelf import Shelf
from pflow.paths import write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pflow.flow.rules.puts import Put
    from pflow.flow.rules.view import View

PF06, PF16 = "PF06", "PF16"


def _every_put(view: View) -> Iterator[Put]:
    return (put for puts in view.puts.values() for put in puts)


def check_targets(view: View) -> Iterator[Finding]:
    """PF06 for the writes of one step, and of steps that follow one another."""
    mapped, bare = Shelf(), Shelf()
    for later in _every_put(view):
        met = [mapped, bare] if later.is_mapped else [mapped]
        earlier = next((put for shelf in met for put in shelf.meeting(later.target) if clash(view, put, later)), None)
        if earlier is not None:
            yield _both_go(earlier, later)
        (mapped if later.is_mapped else bare).add(later.target, later)


def _both_go(earlier: Put, later: Put) -> Finding:
    place = write_path(max(earlier.target, later.target, key=len))
    if earlier.wired is later.wired:
        message = f"'{later.wired.id}' puts both '{earlier.key}' and '{later.key}' at '{place}'"
    else:
        message = f"'{later.wired.id}' puts '{later.key}', and '{earlier.wired.id}' '{earlier.key}', at '{place}'"
    where = later if later.is_mapped else earlier
    return Finding(PF06, where.place, message, f"{where.wired.id}.{where.key} is a place of its own")


def clash(view: View, earlier: Put, later: Put) -> bool:
    """Whether two writes whose places meet must not: both are mapped there, or one stands inside what holds no keys."""
    if earlier.wired is later.wired:
        return True
    if not _is_overwritten(view, earlier, later):
        return False
    if earlier.is_mapped and later.is_mapped:
        return True
    holds_no_keys = earlier.item is not None and earlier.item.type.name not in ("dict", "any")
    return len(later.target) > len(earlier.target) and holds_no_keys


def _is_overwritten(view: View, earlier: Put, later: Put) -> bool:
    """Whether one write takes the place of the other in one run, and not as the way back of a loop does."""
    one, other = earlier.wired.id, later.wired.id
    return view.ways.leads_to(one, other) and not view.ways.comes_round(other, without=one)


def check_overwriting(view: View) -> Iterator[Finding]:
    """PF16: one finding for each step that writes over what others wrote.

    By-products that nobody reads do not count by themselves (llm's `usage`, where `response` has its own place).
    """
    unsure = view.doubled | view.mismapped | view.ways.tangled
    shelf = Shelf()
    over: dict[str, list[tuple[Put, Put]]] = {}
    for later in _every_put(view):
        earlier = _written_over(view, shelf, later)
        if earlier is not None and later.wired.id not in unsure:
            over.setdefault(later.wired.id, []).append((earlier, later))
        shelf.add(later.target, later)
    for id, pairs in over.items():
        puts = [later for _, later in pairs]
        cause = next((put for put in puts if put.is_main or view.is_read(put.target)), None)
        if cause is not None:
            writers = joined(dict.fromkeys(earlier.wired.id for earlier, _ in pairs))
            message = f"'{id}' writes {places_of(puts)} over what {writers} wrote"
            yield Finding(PF16, cause.wired.step.place, message, mapping_for(cause), is_warning=True)


def places_of(puts: Iterable[Put]) -> str:
    return joined(dict.fromkeys(write_path(put.target) for put in puts))


def mapping_for(put: Put) -> str:
    """The mapping that gives a write a place of its own."""
    id, key = put.wired.id, put.key
    return f'"mappings": {{"{id}": {{"output_mappings": {{"{key}": "{id}.{key}"}}}}}}'


def _written_over(view: View, shelf: Shelf, later: Put) -> Put | None:
    """The nearest write that this one takes the place of without anybody having said so."""
    for earlier in shelf.meeting(later.target):
        if _is_unsaid(earlier, later) and _is_overwritten(view, earlier, later):
            return None if clash(view, earlier, later) else earlier
    return None


def _is_unsaid(earlier: Put, later: Put) -> bool:
    """Whether the later write was not mapped to the very place of the earlier one."""
    is_inside = len(later.target) > len(earlier.target)
    return earlier.wired is not later.wired and (not later.is_mapped or (is_inside and not earlier.is_mapped))
