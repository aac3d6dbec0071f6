"""A `$name` that nothing writes, right after a step whose `[pipe]` write nothing takes: it names that write."""

from __future__ import annotations

from pflow.flow.pipe.carry import STDIN, is_given
from pflow.flow.pipe.flags import path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.pipe.carry import Carried
    from pflow.flow.pipe.meaning import Meanings
    from pflow.flow.wired import Reference

    Fed = dict[str, tuple[str, ...]]


def guess_names(meanings: Meanings, carried: dict[str, Carried], fed: Fed) -> list[str]:
    """Give such names their meaning. A warning for each."""
    warnings = []
    taken = {writer for writers in fed.values() for writer in writers}
    for id in meanings.plan.steps:
        writer = _writer_before(meanings, carried, id)
        reference = _only_unknown(meanings, id)
        if writer is None or reference is None or writer in taken or _is_taken(meanings, writer):
            continue
        place = meanings.carried_place(writer)
        meanings.of[id][reference.path] = (place,)
        taken.add(writer)
        name, flag = reference.path[0], reference.key.replace("_", "-")
        what = f"nothing writes '${name}' in --{flag} of '{id}'; it is taken for what '{writer}' hands on"
        warnings.append(f"{what}: ${{{path_text(place)}}}")
    return warnings


def _writer_before(meanings: Meanings, carried: dict[str, Carried], id: str) -> str | None:
    """The step right before, if it is the only one whose write is carried here."""
    writers = carried[id].writers
    is_one = len(writers) == 1 and writers[0] != STDIN and writers[0] in meanings.plan.graph.before[id]
    return writers[0] if is_one and carried[id].is_sure else None


def _only_unknown(meanings: Meanings, id: str) -> Reference | None:
    """The one name in a step's templates that nothing writes and nothing else in the flow reads."""
    unknown = [each for each in meanings.templates(id) if each.input not in (None, "stdin")]
    if len({reference.path for reference in unknown}) != 1 or len(unknown[0].path) != 1:
        return None
    name, wired = str(unknown[0].path[0]), meanings.plan.steps[id]
    by_name = name in wired.interface.reads and not is_given(wired, name)
    is_write = any(name in each.interface.writes for each in meanings.plan.steps.values())
    is_read_elsewhere = any(step != id for step, _ in meanings.plan.inputs[name].readers)
    return None if by_name or is_write or is_read_elsewhere else unknown[0]


def _is_taken(meanings: Meanings, writer: str) -> bool:
    """Whether a template, a mapping or a read by its name takes what a step hands on."""
    plan = meanings.plan
    write = plan.steps[writer].interface.pipe_write
    if any(meanings.leads_to(reference, writer) for reference in plan.references):
        return True
    later = (plan.steps[id] for id in plan.graph.reach(writer))
    return any(
        write is not None
        and write.name in wired.interface.reads
        and "explicit" not in wired.interface.reads[write.name].marks
        and not is_given(wired, write.name)
        for wired in later
    )
