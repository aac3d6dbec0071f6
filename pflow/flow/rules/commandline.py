"""PF02 and PF07 in the flow itself: an input has a flag of its own, and does not stand where a step writes."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.common import OF_RUNS
from pflow.flow.findings import Finding, Rule
from pflow.paths import write_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.wired import WiredFlow


def check_flags(flow: WiredFlow) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for name, given in flow.inputs.items():
        if given.declared and name.replace("-", "_") in OF_RUNS:
            message = f"--{name.replace('_', '-')} is a flag of pflow run: it does not give this input"
            remedy = f"{given.flag} does" if "." in given.flag else "call the input something else"
            yield Finding("PF02", ("inputs", name), message, remedy, is_warning=True)
        elif given.declared and (other := first.setdefault(given.flag, name)) != name:
            message = f"{given.flag} is the flag of '{other}' too: it gives neither"
            yield Finding("PF02", ("inputs", name), message, "call one of them something else", is_warning=True)


def check_injection(flow: WiredFlow) -> Iterator[Finding]:
    """An input that a step writes is of no use, unless a step before takes it; below a text nothing can be written."""
    writes = [write for each in flow.writes.values() for write in each]
    taken = {reference.input for reference in flow.references}
    for name, given in flow.inputs.items():
        if given.declared and name != "stdin":
            is_text, is_taken = given.type.name not in ("dict", "any"), given.readers or name in taken
            there = [write for write in writes if write.target[0] == name]
            wrong = [write for write in there if (len(write.target) > 1 and is_text) or not is_taken]
            for write in wrong[:1]:
                message = f"'{write.step}' writes '{write_path(write.target)}', where the input '{name}' stands"
                yield Finding("PF07", ("inputs", name), message, "call the input something else, or leave it out")


RULES = (
    Rule("PF01", "the command line cannot change nodes, edges or mappings"),
    Rule("PF02", "every flag is a read or param of a step, or a flow input, and fits only one", check_flags),
    Rule("PF04", "a param given on the command line overrides", otherwise="noted in the run's snapshot"),
    Rule("PF07", "a flag cannot inject a key that an earlier step writes", check_injection),
)
