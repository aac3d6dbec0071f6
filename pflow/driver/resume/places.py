"""The steps of a flow, and of the flows in it, by the names that people type, and what comes after each."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.sources import AlternativeSource
from pflow.errors import MISSING, PflowError
from pflow.flow.reaching import uses
from pflow.flow.wired import END

if TYPE_CHECKING:
    from collections.abc import Callable

    from pflow.flow.wired import WiredFlow, WiredStep, Write
    from pflow.values.paths import Path


FORK = ":fork"
"""How the path of a visit ends that is one of the fork behind the step."""


def name_of(path: str) -> str:
    """The step of a visit's path: of `outer@1/inner@2[…]` it is `outer/inner`."""
    return "/".join(part.partition("@")[0] for part in path.split("/"))


def steps_by_name(flow: WiredFlow, prefix: str = "") -> dict[str, tuple[WiredFlow, WiredStep]]:
    """Each step with the flow that it is a step of; one of a flow in the flow is called `outer/inner`."""
    found: dict[str, tuple[WiredFlow, WiredStep]] = {}
    for id, step in flow.steps.items():
        found[prefix + id] = flow, step
        if step.subflow is not None:
            found |= steps_by_name(step.subflow, f"{prefix}{id}/")
    return found


def is_of(path: str, name: str) -> bool:
    """Whether a visit is one of this step, or inside of one."""
    return f"{name_of(path)}/".startswith(f"{name}/")


def is_again(flow: WiredFlow, name: str, path: str, *, with_later: bool) -> bool:
    """Whether a visit belongs to a step that runs again, to one around it or, `with_later`, to one after these."""
    ids = path.split("/")
    for level, wanted in enumerate(name.split("/")):
        id = ids[level].partition("@")[0]
        if ids[level].endswith(FORK) and any(wanted in branch for branch in _branches(flow, id)):
            return True
        if id != wanted or ids[level].endswith(FORK):
            return with_later and id in flow.graph.reach(wanted)
        inner = flow.steps[id].subflow
        if level == len(ids) - 1 or inner is None:
            return True
        flow = inner
    return True


def _branches(flow: WiredFlow, id: str) -> list[set[str]]:
    """The steps of each branch of the forks behind a step."""
    return [branch for fork in flow.graph.forks() if fork.source == id for branch in fork.branches]


def refuse_missing(flow: WiredFlow, step: WiredStep, is_there: Callable[[Path], bool]) -> None:
    """Raise PflowError (66) where a later step needs what a step that is skipped would have written."""
    found: dict[tuple[str, str], list[Write | None]] = {}
    for place, reader, key, writes in uses(flow):
        is_lost = bool(writes) and all(write.step == step.id for write in writes) and not is_there(place)
        found.setdefault((reader, key), []).append(writes[0] if is_lost else None)
    for (reader, key), lost in found.items():
        if reader == END or not flow.graph.may_precede(step.id, reader) or _does_without(flow.steps[reader], key, lost):
            continue
        key = next(write.key for write in lost if write)
        what = f"cannot skip '{step.id}': '{reader}' needs '{key}', which it would have written"
        raise PflowError(what, hint=f"--redo={step.id} runs it again", exit=MISSING)


def _does_without(reader: WiredStep, key: str, lost: list[Write | None]) -> bool:
    """Whether a step runs where these writes that it takes for a read are not there; None stands for one that is."""
    item, source = reader.interface.reads.get(key), reader.sources.get(key)
    is_optional = key in reader.soft or (source is None and item is not None and not item.required)
    enough = any if isinstance(source, AlternativeSource) else all
    return is_optional or enough(write is None for write in lost)
