"""What comes in for a flow: the store that it runs on, and what the pipe brings."""

from __future__ import annotations

from pflow.errors import BAD_STDIN, PflowError
from pflow.flow.sources import PathSource
from pflow.paths import parse_path
from pflow.stage.intake import EMPTY, RAW, empty_pipe, take_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.plan import Plan
    from pflow.flow.sources import Source
    from pflow.paths import Path
    from pflow.run.words import RunFlags
    from pflow.stage.document import Document
    from pflow.stage.intake import Intake


def take_stdin(flags: RunFlags) -> Intake:
    return take_in(no_stdin=flags.no_stdin, source=getattr(flags, "from"), allow_empty=flags.allow_empty)


def check_stdin(plan: Plan, intake: Intake, given: dict[str, Any], *, allow_empty: bool) -> None:
    """Refuse an empty pipe that the flow was to work on (66), and raw input that nothing in it takes (64; PF05)."""
    wants_pipe = (_pipe_input(plan) is not None and _pipe_input(plan) not in given) or _takes_pipe(plan, given)
    if intake.kind == EMPTY and wants_pipe and not allow_empty:
        raise empty_pipe()
    size = sum(map(len, intake.chunks))
    if intake.kind == RAW and size and not (wants_pipe or _names_stdin(plan)):
        raise PflowError(
            f"cannot use stdin: no step takes its {size:,} bytes (PF05)",
            hint="-n leaves stdin to others; a mapping or a template with stdin takes it",
            exit=BAD_STDIN,
        )


def _pipe_input(plan: Plan) -> str | None:
    return next((given.name for given in plan.inputs.values() if given.pipe and given.declared), None)


def _takes_pipe(plan: Plan, given: dict[str, Any]) -> bool:
    """Whether the first step's `[pipe]` read is open to the pipe."""
    if plan.first_read is None:
        return False
    return plan.first_read[1] not in given


def _names_stdin(plan: Plan) -> bool:
    if any(wired.interface.open for wired in plan.steps.values()):
        return True
    if any("stdin" in wired.interface.reads and "stdin" not in wired.sources for wired in plan.steps.values()):
        return True
    return any(path[0] == "stdin" for path in paths_of(plan))


def paths_of(plan: Plan) -> Iterator[Path]:
    """Every place that some step, or an output, looks at by a path."""
    for source in _sources(plan):
        yield from source.paths


def _sources(plan: Plan) -> Iterator[Source]:
    for wired in plan.steps.values():
        yield from wired.sources.values()
        yield from wired.params.values()
        if wired.over is not None:
            yield wired.over
    yield from plan.outputs.values()


def carry_in(plan: Plan, document: Document, given: dict[str, Any]) -> None:
    """Give what the pipe carries to the input marked for it, else to the first step's `[pipe]` read."""
    last = document.header.get("last")
    if last is None:
        return
    name = _pipe_input(plan)
    if name is not None:
        if name not in given:
            given[name] = document.look_up(parse_path(last))
        return
    if _takes_pipe(plan, given):
        assert plan.first_read is not None
        id, key = plan.first_read
        plan.steps[id].sources[key] = PathSource(parse_path(last))
        plan.steps[id].soft.discard(key)
        if key in plan.inputs:
            plan.inputs[key].readers = [each for each in plan.inputs[key].readers if each != (id, key)]
            if not plan.inputs[key].readers:
                del plan.inputs[key]


def used_keys(plan: Plan) -> set[str] | None:
    """The top-level keys of a store that a plan may look at; None where that is not known: all of them."""
    if any(wired.interface.open for wired in plan.steps.values()):
        return None
    keys = {str(path[0]) for path in paths_of(plan)}
    for wired in plan.steps.values():
        keys |= set(wired.interface.reads)
        keys |= {str(wired.place_of(key)[0]) for key in [*wired.interface.writes, *wired.targets]}
        keys.add(wired.id)
    return keys | {str(given.path[0]) for given in plan.inputs.values()}
