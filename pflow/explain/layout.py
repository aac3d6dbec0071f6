"""The layout of a flow's store when it ends: each place, its type, who writes it, who reads it."""

from __future__ import annotations

from pflow.flow.graph import ERROR
from pflow.flow.reaching import data_of, is_stored
from pflow.flow.wired import Write
from pflow.paths import write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.explain.origins import Origins, Use
    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.paths import Path

_ERROR, _ERRORS = "dict{exit: int, message: str}", "list[dict{index: int, item: any, exit: int, message: str}]"


class _Place:
    """One place of the store, as it comes together."""

    def __init__(self) -> None:
        self.types: list[str] = []
        self.writers: list[str] = []
        self.steps: set[str] = set()


def layout(plan: WiredFlow, origins: Origins) -> list[dict[str, Any]]:
    """A row a place: its `path`, `type`, who it is `written_by`, and the steps (or outputs) that it is `read_by`.

    A flag writes too; one that may be left out stands in brackets.
    """
    places: dict[Path, _Place] = {}
    for path, type, writer, step in [*_given(plan), *_written(plan)]:
        place = places.setdefault(path, _Place())
        if step:
            place.steps.add(step)
        place.types.append(type)
        if writer not in place.writers:
            place.writers.append(writer)
    return [
        {
            "path": write_path(path),
            "type": " or ".join(dict.fromkeys(place.types)),
            "written_by": place.writers,
            "read_by": list(dict.fromkeys(map(reader_name, origins.readers_of(path, place.steps)))),
        }
        for path, place in places.items()
    ]


def reader_name(use: Use) -> str:
    return use.step if use.step is not None else f"output {use.key}"


def _given(plan: WiredFlow) -> Iterator[tuple[Path, str, str, str]]:
    """What stands in the store before the first step: the flow's inputs, and what comes through the pipe."""
    for given in plan.inputs.values():
        if given.step is not None and not is_stored(plan.steps[given.step], given.readers[0][1]):
            continue
        yield given.path, str(given.type), given.flag if given.required else f"[{given.flag}]", ""
        if given.pipe:
            yield given.path, str(given.type), "the pipe", ""
    if any(reference.input == "stdin" for reference in plan.references) or _takes_raw_pipe(plan):
        yield ("stdin",), "any", "the pipe", ""


def _takes_raw_pipe(plan: WiredFlow) -> bool:
    return plan.first_read is not None and not any(given.pipe for given in plan.inputs.values())


def _written(plan: WiredFlow) -> Iterator[tuple[Path, str, str, str]]:
    for id in dict.fromkeys([*plan.graph.order(), *plan.steps]):
        wired = plan.steps[id]
        for write in [*data_of(wired), *writes_of(wired)]:
            yield write.target, str(plan.write_type(write)), id, id
        if ERROR in plan.graph.next[id]:
            yield (id, ERROR), _ERROR, id, id
        if wired.step.batch is not None and wired.step.batch.on_error == "keep":
            yield (id, "errors"), _ERRORS, id, id


def writes_of(wired: WiredStep) -> Iterator[Write]:
    """What a step writes, wherever it goes; its data flags are not among it."""
    for key in dict.fromkeys([*wired.interface.writes, *wired.targets]):
        yield Write(wired.id, key, wired.place_of(key), wired.interface.writes.get(key))
