"""Writing a flow as pipe syntax: as little as reads back as the same flow, or the reason why nothing does."""

from __future__ import annotations

from pflow.errors import BAD_DATA, PflowError
from pflow.flow.flow import MAX_VISITS
from pflow.flow.pipe.alike import differences
from pflow.flow.pipe.chains import chains_of
from pflow.flow.pipe.compile import parse_pipe
from pflow.flow.pipe.names import free_id
from pflow.flow.pipe.parse import is_action
from pflow.flow.pipe.quote import quote
from pflow.flow.pipe.say import Sayings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.flow import Flow, Step
    from pflow.flow.pipe.chains import Chain


def write_pipe(flow: Flow) -> str:
    """What compiling makes by itself is left out. Versions that are asked for stand in a comment."""
    try:
        return _write(flow)
    except PflowError as error:
        raise PflowError(
            f"cannot write the flow in pipe syntax: {error.message}", hint=error.hint, exit=BAD_DATA
        ) from None
    except ValueError as error:  # a mapping that is no path
        raise PflowError(f"cannot write the flow in pipe syntax: {error}", exit=BAD_DATA) from None


def _write(flow: Flow) -> str:
    _refuse_unsayable(flow)
    chains = chains_of(flow)
    sayings = Sayings(flow)
    while True:
        text = _text(flow, chains, sayings)
        found = differences(flow, parse_pipe([text], flow.catalog))
        if not found:
            return text
        if not sayings.say_more(found):
            raise PflowError(found[0].message, hint=found[0].hint, exit=BAD_DATA)


def _refuse_unsayable(flow: Flow) -> None:
    """Raise PflowError for what pipe syntax has no words for."""
    ids = [step.id for step in flow.steps]
    known = set(ids)
    for step in flow.steps:
        for name in ("batch", "max_visits"):
            if getattr(step, name) is not None:
                raise PflowError(f"the step '{step.id}' has {name}")
    for edge in flow.edges:
        if not is_action(edge.action):
            raise PflowError(f"the action '{edge.action}' is no word")
    whole = {
        "no step": not ids,
        "two steps of one name": len(known) < len(ids),
        "declared inputs": bool(flow.inputs),
        "declared outputs": bool(flow.outputs),
        "max_visits": flow.max_visits != MAX_VISITS,
        "an edge of a step that is not there": any({edge.source, edge.target} - known for edge in flow.edges),
        "mappings of a step that is not there": bool(flow.stray_mappings),
    }
    for what, is_so in whole.items():
        if is_so:
            raise PflowError(f"it has {what}", hint="its JSON says it all")


def _text(flow: Flow, chains: list[Chain], sayings: Sayings) -> str:
    steps = {step.id: step for step in flow.steps}
    named = _named(flow.steps, _met_again(chains), sayings.apart)
    met: set[str] = set()
    lines = []
    for chain in chains:
        for id, action in chain:
            sign = "" if not action else "=>" if action == "default" else f"={action}=>"
            says = id if id in met else " ".join([_name(steps[id], named), *sayings.words(steps[id])])
            lines.append(f"  {sign} {says}" if sign else says)
            met.add(id)
    versions = [f"{step.type} {step.version}" for step in flow.steps if step.version is not None]
    return "\n".join([f"# versions: {', '.join(versions)}"] * bool(versions) + lines) + "\n"


def _met_again(chains: list[Chain]) -> set[str]:
    met: set[str] = set()
    again: set[str] = set()
    for chain in chains:
        for id, _ in chain:
            (again if id in met else met).add(id)
    return again


def _name(step: Step, named: set[str]) -> str:
    return quote(f"{step.type}:{step.id}" if step.id in named else step.type)


def _named(steps: list[Step], named: set[str], apart: set[str]) -> set[str]:
    """The steps whose ids must be said: those that are referred back to, and those that would get another one."""
    while True:
        said, taken = set(named), named | apart
        for step in steps:
            if step.id not in taken:
                if step.type in said or free_id(step.type, taken) != step.id:
                    said.add(step.id)
                taken.add(step.id)
        if said == named:
            return named
        named = said
