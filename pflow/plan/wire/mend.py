"""Mending a wrong mapping: each path in it that leads nowhere becomes the one that it most likely means."""

from __future__ import annotations

from pflow.flow.fits import YES
from pflow.flow.rewrite import rewritten
from pflow.naming import is_near
from pflow.paths import parse_path, write_path
from pflow.plan.wire.candidates import MOST, candidates, is_of, is_sure
from pflow.templates import TEMPLATE
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pflow.flow.flow import Mapped
    from pflow.flow.rules.view import View
    from pflow.flow.wired import Reference
    from pflow.paths import Path
    from pflow.plan.wire.candidates import Candidate
    from pflow.plan.wire.gaps import Gap


def mended(view: View, gap: Gap) -> Mapped | None:
    """The gap's wrong source put right; None where a path in it leaves no answer, or more than one."""
    if gap.written is None:
        return None
    places = [each.place for each in view.plan.references if each.step == gap.step]
    broken = [each for each in view.plan.references if each.place == gap.place and _is_wrong(each, gap, places)]
    found = {each.path: _meant(view, gap, each.path) for each in broken}
    meant = {path: each.path for path, each in found.items() if each is not None}
    if not found or len(meant) < len(found):
        return None
    return _replaced(gap.written, meant, {each.path: each.path for each in view.plan.references})


def _is_wrong(reference: Reference, gap: Gap, places: list[Path]) -> bool:
    """Whether a reference leads nowhere, or is the only one of a mapping that is wrong."""
    return bool(reference.trouble) or places.count(gap.place) == 1


def _replaced(written: Mapped, meant: dict[Path, Path], same: dict[Path, Path]) -> Mapped:
    if isinstance(written, list):
        return [write_path(meant.get(parse_path(path), parse_path(path))) for path in written]
    if written.startswith(TEMPLATE):
        return TEMPLATE + str(rewritten(written.removeprefix(TEMPLATE), {**same, **meant}))
    return write_path(meant[parse_path(written)])


def _meant(view: View, gap: Gap, path: Path) -> Candidate | None:
    """What a path was meant for: what is written nearly so, else what ends as it does, else what ends nearly so."""
    is_template = isinstance(gap.written, str) and gap.written.startswith(TEMPLATE)
    there = candidates(view, gap, Type("any") if is_template else gap.item.type)
    there = [each for each in there if each.fit == YES and is_of(view, path, each)] if len(there) < MOST else []
    written, last = write_path(path), str(path[-1])
    ways: tuple[Callable[[Candidate], bool], ...] = (
        lambda each: is_near(each.text, written),
        lambda each: each.name == last,
        lambda each: is_near(each.name, last),
    )
    for way in ways:
        found = [each for each in there if way(each)]
        if found:
            return found[0] if len(found) == 1 and is_sure(view, gap, found[0]) else None
    return None
