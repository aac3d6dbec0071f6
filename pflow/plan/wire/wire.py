"""pflow plan --wire: mappings for a flow whose reads have no source, or a wrong one."""

from __future__ import annotations

from pflow.errors import OK
from pflow.plan.change.faults import errors_of, tell_findings
from pflow.plan.change.give import Change, check_options, give, give_result, say, show
from pflow.plan.change.place import place_of
from pflow.plan.hearing import unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pflow.errors import PflowError
    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow
    from pflow.paths import Path
    from pflow.plan.change.place import Place
    from pflow.plan.wire.settle import Open, Settled

    Options = dict[str, Any]

_MOST_NAMES = 5


class Wiring:
    """What became of a flow: the mappings that were found, the gaps that are left, and every error at the end."""

    def __init__(self, old: Flow) -> None:
        self.old = old
        self.flow = old
        self.settled: list[Settled] = []
        self.refused: set[Path] = set()
        """The places of mappings that would break a rule."""
        self.left: list[Open] = []
        self.errors = errors_of(old)

    def takes(self, settled: Sequence[Settled]) -> bool:
        """Add mappings to the flow, unless they break a rule that it keeps without them; whether it has them."""
        from pflow.plan.wire.settle import mapped

        flow = mapped(self.flow, list(settled))
        errors = errors_of(flow)
        if {(each.rule, each.place) for each in errors} - {(each.rule, each.place) for each in self.errors}:
            return False
        self.settled += settled
        self.flow, self.errors = flow, errors
        return True


def main_wire(words: Sequence[str], options: Options) -> int:
    """Wire the flow that the words name; the exit code.

    Raises PflowError: 65 where something is wrong that no mapping puts right, 78 where only a model could tell and
    none is capable, and what asking a model raises.
    """
    from pflow.flow.take import take_flow

    place = place_of(words)
    check_options(place, options)
    loaded = take_flow(words)
    errors = [each for each in loaded.findings if not each.is_warning]
    if errors:
        raise _cannot(place, errors)
    wiring = wire_flow(loaded.flow, place, options)
    told = {"mappings": [_as_json(each) for each in wiring.settled], "open": [str(each.gap) for each in wiring.left]}
    change = Change(wiring.old, wiring.flow, place, **told)
    if wiring.errors:
        if change.lines:
            show(change, options)
        raise _cannot(place, wiring.errors)
    if not wiring.settled:
        say(f"nothing to wire: {_what_is_right(wiring)}")
    return give(change, options) if wiring.settled else _give_unchanged(change, options)


def wire_flow(flow: Flow, place: Place, options: Options) -> Wiring:
    """Wire as far as names and types leave one answer, and as far as a model tells; say what was found, and why."""
    wiring = Wiring(flow)
    while settled := _round(wiring):
        _tell(_taken(wiring, settled))
    if wiring.left and not _stuck(wiring):
        _ask(wiring, place, options)
    _tell_left(wiring)
    return wiring


def _taken(wiring: Wiring, settled: list[Settled]) -> list[Settled]:
    """Those of some mappings that the flow takes."""
    if wiring.takes(settled):
        return settled
    if len(settled) == 1:
        wiring.refused.add(settled[0].gap.place)
        return []
    half = len(settled) // 2
    return [*_taken(wiring, settled[:half]), *_taken(wiring, settled[half:])]


def _round(wiring: Wiring) -> list[Settled]:
    """What can be settled now, once for each read: to wire one may leave another without its source."""
    from pflow.flow.wiring import wire
    from pflow.plan.wire.gaps import find_gaps
    from pflow.plan.wire.settle import settle

    done = {each.gap.place for each in wiring.settled}
    view, gaps = find_gaps(wire(wiring.flow), wiring.errors)
    settled, wiring.left = settle(view, [gap for gap in gaps if gap.place not in done], wiring.refused)
    return settled


def _ask(wiring: Wiring, place: Place, options: Options) -> None:
    """Have a model tell what is left. Where none can, and the flow passes without, it is let be."""
    from pflow.flow.wiring import wire
    from pflow.models.capable import NoCapableModel, choose_capable
    from pflow.plan.hearing import Request, hear
    from pflow.plan.wire.model import Judge
    from pflow.plan.wire.words import SYSTEM, findings_text, task_text, wire_schema

    try:
        model = choose_capable(options.get("model"), f"wire {_names(wiring.left)} in '{place}'")
    except NoCapableModel as error:
        if not wiring.errors:
            return
        raise _no_model(wiring, place, options, error) from error
    plan = wire(wiring.flow)
    request = Request(SYSTEM, task_text(plan, wiring.left), findings_text, wire_schema)
    heard = hear(model, request, Judge(plan, wiring.left), say, options.get("timeout"))
    if not heard.is_right:
        raise _unwired(wiring, place, options, heard.result, heard.findings)
    answered = {(each.gap.step, each.gap.item.name) for each in heard.result}
    wiring.left = [each for each in wiring.left if (each.gap.step, each.gap.item.name) not in answered]
    wiring.takes(heard.result)
    _tell(heard.result)


def _stuck(wiring: Wiring) -> bool:
    """Whether the flow has errors that no mapping for what is left could put right."""
    steps = {wiring.flow.step(each.gap.step).place for each in wiring.left}
    places = {each.gap.place for each in wiring.left} | steps
    reads = {("inputs", each.gap.item.name, "type") for each in wiring.left}
    by_wiring = ("PF03", "PF08", "PF14", "PF15")
    return any(each.rule not in by_wiring or each.place not in places | reads for each in wiring.errors)


def _no_model(wiring: Wiring, place: Place, options: Options, error: PflowError) -> PflowError:
    if wiring.settled:
        show(Change(wiring.old, wiring.flow, place), options)
    _tell_left(wiring)
    return unsettled(error.message, wiring.errors, hint=error.hint, exit=error.exit)


def _names(left: Sequence[Open]) -> str:
    names = [str(each.gap) for each in left if each.gap.is_needed] or [str(each.gap) for each in left]
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([*names[:_MOST_NAMES], *more])


def _unwired(
    wiring: Wiring, place: Place, options: Options, best: Sequence[Settled] | None, findings: Sequence[Finding]
) -> PflowError:
    """No try passed: the best is shown, with what is wrong with it."""
    from pflow.plan.wire.model import roots_of
    from pflow.plan.wire.settle import mapped

    sound = [each for each in best or () if roots_of(each.source) is not None]
    say("the best try, which will not do:")
    show(Change(wiring.old, mapped(wiring.flow, sound), place), options)
    return _cannot(place, findings, "none of its tries passes the rules")


def _cannot(place: Place, findings: Sequence[Finding], why: str = "no mapping puts this right") -> PflowError:
    tell_findings(findings)
    return unsettled(f"cannot wire '{place}': {why}", findings, hint="nothing was written")


def _tell(settled: Sequence[Settled]) -> None:
    for each in settled:
        source = each.source if isinstance(each.source, str) else " or ".join(map(str, each.source))
        say(f"{each.gap} ← {source}: {each.why}")


def _tell_left(wiring: Wiring) -> None:
    from pflow.plan.wire.words import candidates_text

    for each in wiring.left:
        stays = "" if each.gap.is_needed else ", and stays an input of the flow"
        say(f"{each.gap} has no source{stays}: {candidates_text(each)}")


def _what_is_right(wiring: Wiring) -> str:
    count = len(wiring.flow.steps)
    return f"every read of {'its step' if count == 1 else f'its {count} steps'} has a source"


def _give_unchanged(change: Change, options: Options) -> int:
    give_result(change, options)
    return OK


def _as_json(settled: Settled) -> dict[str, Any]:
    gap = settled.gap
    return {"step": gap.step, "read": gap.item.name, "source": settled.source, "why": settled.why}
