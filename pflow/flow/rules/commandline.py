"""PF02 and PF07 in the flow itself: an input has a flag of its own, and does not stand where a step writes."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.common import OF_RUNS
from pflow.flow.findings import Finding, Rule
from pflow.paths import write_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.rules._view import View
    from pflow.flow.wired import FlowInput


def check_flags(view: View) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for name, given in view.wired.inputs.items():
        if given.declared and name.replace("-", "_") in OF_RUNS:
            message = f"--{name.replace('_', '-')} is a flag of pflow run: it does not give this input"
            remedy = f"{given.flag} does" if "." in given.flag else "call the input something else"
            yield Finding("PF02", ("inputs", name), message, remedy, is_warning=True)
        elif given.declared and (other := first.setdefault(given.flag, name)) != name:
            message = f"{given.flag} is the flag of '{other}' too: it gives neither"
            yield Finding("PF02", ("inputs", name), message, "call one of them something else", is_warning=True)


def check_injection(view: View) -> Iterator[Finding]:
    for name, given in view.wired.inputs.items():
        if given.declared and name != "stdin":
            yield from _check_input(view, name, given)


def _check_input(view: View, name: str, given: FlowInput) -> Iterator[Finding]:
    """An input that a step writes is of no use, unless a step before takes it; below a text nothing can be written."""
    is_taken = bool(given.readers) or any(reference.input == name for reference in view.wired.references)
    for wired in view.steps.values():
        for target in [write.target for write in view.writes[wired.id]]:
            is_below = len(target) > 1 and given.type.name not in ("dict", "any")
            if target[0] == name and (is_below or not is_taken):
                message = f"'{wired.id}' writes '{write_path(target)}', where the input '{name}' stands"
                yield Finding("PF07", ("inputs", name), message, "call the input something else, or leave it out")
                return


RULES = (
    Rule("PF01", "the command line cannot change nodes, edges or mappings"),
    Rule("PF02", "every flag is a read or param of a step, or a flow input, and fits only one", check_flags),
    Rule("PF04", "a param given on the command line overrides", otherwise="noted in the run's snapshot"),
    Rule("PF07", "a flag cannot inject a key that an earlier step writes", check_injection),
)
