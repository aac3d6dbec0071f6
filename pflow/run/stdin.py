"""What comes in for a flow: the store that it runs on, and what the pipe brings."""

from __future__ import annotations

from pflow.binding.sources import Constant, PathSource, TemplateSource
from pflow.errors import BAD_STDIN, PflowError
from pflow.interface import fresh
from pflow.paths import meet, parse_path
from pflow.stage.intake import EMPTY, RAW, empty_pipe, take_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.paths import Path
    from pflow.run.words import RunFlags
    from pflow.stage.document import Document
    from pflow.stage.intake import Intake


def take_stdin(flags: RunFlags) -> Intake:
    return take_in(no_stdin=flags.no_stdin, source=getattr(flags, "from"), allow_empty=flags.allow_empty)


def check_stdin(plan: WiredFlow, intake: Intake, given: dict[str, Any], *, allow_empty: bool) -> None:
    """Refuse an empty pipe that the flow was to work on (66), and raw input that nothing in it takes (64; PF05)."""
    name = _pipe_input(plan)
    wants_pipe = (name is not None and name not in given) or _takes_pipe(plan, given)
    if intake.kind == EMPTY and wants_pipe and not allow_empty:
        raise empty_pipe()
    size = sum(map(len, intake.chunks))
    if intake.kind == RAW and size and not (wants_pipe or _names_stdin(plan)):
        raise PflowError(
            f"cannot use stdin: no step takes its {size:,} bytes (PF05)",
            hint="-n leaves stdin to others; a mapping or a template with stdin takes it",
            exit=BAD_STDIN,
        )


def _pipe_input(plan: WiredFlow) -> str | None:
    return next((given.name for given in plan.inputs.values() if given.pipe and given.declared), None)


def _takes_pipe(plan: WiredFlow, given: dict[str, Any]) -> bool:
    """Whether the first step's `[pipe]` read is open to the pipe."""
    return plan.first_read is not None and plan.first_read[1] not in given


def _names_stdin(plan: WiredFlow) -> bool:
    if any(wired.interface.open for wired in plan.steps.values()):
        return True
    if any("stdin" in wired.interface.reads and "stdin" not in wired.sources for wired in plan.steps.values()):
        return True
    return any(path[0] == "stdin" for path in _paths_of(plan))


def _paths_of(plan: WiredFlow) -> Iterator[Path]:
    """Every place that some step, or an output, looks at by a path."""
    for source in plan.sources():
        yield from source.paths


def carry_in(plan: WiredFlow, document: Document, given: dict[str, Any]) -> dict[str, str]:
    """Give what the pipe carries to the input marked for it, else to the first step's `[pipe]` read.

    Returns which of them takes it, with the place that it comes from. What a dry stage would have written is None.
    """
    last = document.header.get("last")
    if last is None:
        return {}
    name = _pipe_input(plan)
    if name is not None:
        if name in given:
            return {}
        given[name] = None if last in document.header.get("dry", []) else document.look_up(parse_path(last))
        return {name: last}
    if _takes_pipe(plan, given):
        assert plan.first_read is not None
        id, key = plan.first_read
        wired = plan.steps[id]
        item = wired.interface.reads[key]
        is_taken = not _is_in_template(wired, parse_path(last))
        if is_taken:
            wired.sources[key] = PathSource(parse_path(last))
        elif not item.required:
            wired.sources[key] = Constant(fresh(item.default), key)
        else:
            return {}
        wired.soft.discard(key)
        _forget_reader(plan, id, key)
        return {key: last} if is_taken else {}
    return {}


def _is_in_template(wired: WiredStep, carried: Path) -> bool:
    """Whether a template of the step uses the carried path, a part of it, or what holds it."""
    sources = [*wired.sources.values(), *wired.params.values()]
    templates = [source for source in sources if isinstance(source, TemplateSource)]
    return any(meet(path, carried) for source in templates for path in source.paths)


def _forget_reader(plan: WiredFlow, id: str, key: str) -> None:
    """A read that the pipe fills asks for no input."""
    if key in plan.inputs:
        plan.inputs[key].readers = [each for each in plan.inputs[key].readers if each != (id, key)]
        if not plan.inputs[key].readers:
            del plan.inputs[key]


def used_keys(plan: WiredFlow) -> set[str] | None:
    """The top-level keys of a store that a plan may look at; None where that is not known: all of them."""
    if any(wired.interface.open for wired in plan.steps.values()):
        return None
    keys = {str(path[0]) for path in _paths_of(plan)}
    for wired in plan.steps.values():
        keys |= set(wired.interface.reads)
        keys |= {str(wired.place_of(key)[0]) for key in [*wired.interface.writes, *wired.targets]}
        keys.add(wired.id)
    return keys | {str(given.path[0]) for given in plan.inputs.values()}
