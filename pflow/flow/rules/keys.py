"""PF02, PF05, PF07 and PF10: inputs have flags of their own, `stdin` is reserved, keys are plain snake_case words."""

from __future__ import annotations

from pflow import Iterator
from pflow.flow.findings import Finding, Rule
from pflow.flow.rules.reads import without_source
from pflow.flow.wired_flow import WiredFlow
from pflow.interface.common import OF_FLOWS, OF_RUNS
from pflow.interface.interface import spell_flag
from pflow.values.jsontext import texts_in
from pflow.values.paths import Path, write_path
from pflow.values.templates import unfilled_references


def check_reserved(flow: WiredFlow) -> Iterator[Finding]:
    for location, path in _made_keys(flow):
        root = str(path[0])
        if root == "stdin" or root.startswith("$"):
            remedy = "stdin is the data from the pipe" if root == "stdin" else "a key does not begin with $"
            yield Finding("PF05", location, f"'{root}' is reserved", remedy)
    for step in flow.flow.steps:
        if step.id == "stdin":
            yield Finding("PF05", (*step.location, "id"), "'stdin' is reserved", "rename the step")
    takers = [name for name, given in flow.flow.inputs.items() if given.pipe]
    for name in takers[1:]:
        message = f"'{takers[0]}' already takes the data from the pipe"
        yield Finding("PF05", ("inputs", name, "pipe"), message, 'only one input may be "pipe": true')


def check_words(flow: WiredFlow) -> Iterator[Finding]:
    warned = set()
    for location, path in _made_keys(flow):
        steps = path[1:] if path[0] in flow.steps else path
        if location[-2] == "output_mappings" and steps[-1:] == location[-1:]:
            steps = steps[:-1]  # the node's author chose this name, not the flow's author
        names = [step for step in steps if isinstance(step, str)]
        odd = [name for name in names if not (name.isascii() and name.isidentifier() and name == name.lower())]
        # Scripts have capitals for variables, and `pflow import` keeps their names.
        is_variable = location == ("inputs", *path) and str(path[0]).isupper()
        if odd and not is_variable and not str(path[0]).startswith("$") and path not in warned:
            warned.add(path)
            message = f"'{odd[0]}' is not a plain snake_case word"
            yield Finding("PF10", location, message, "use lower-case letters, digits and _", is_warning=True)


def _made_keys(flow: WiredFlow) -> Iterator[tuple[Path, Path]]:
    """Yield each place in the store that the flow itself names, after its location in the file."""
    for kind, names in (("inputs", flow.flow.inputs), ("outputs", flow.flow.outputs)):
        yield from (((kind, name), (name,)) for name in names)
    for wired in flow.steps.values():
        step = wired.step
        if step.batch is not None:
            yield (*step.location, "batch", "as"), (step.batch.item,)
        for key in step.output_mappings:
            if key in wired.targets:  # PF14 reports a target that is no path
                yield ("mappings", step.id, "output_mappings", key), wired.targets[key]
    for reference in flow.references:
        given = flow.inputs.get(reference.input or "")
        if given is not None and not given.declared:
            yield reference.location, reference.path[:1]


def check_inputs(flow: WiredFlow) -> Iterator[Finding]:
    first: dict[str, str] = {}
    is_map = bool(flow.flow.item_names)  # in a map, the items give the inputs, so they need no flags
    named = {} if is_map else {reference.input: reference.location for reference in flow.references}
    for name, given in flow.inputs.items():
        flag, plain = spell_flag(name), name.replace("-", "_")
        location = ("inputs", name) if given.declared else named.get(name)
        if location and (plain in OF_RUNS or (given.declared and plain in OF_FLOWS)):
            of_steps = "a step in pipe syntax, and does not give this input there"
            of_runs = "pflow run, and does not give this input"
            message = f"{flag} is a flag of {of_runs if plain in OF_RUNS else of_steps}"
            remedy = f"use {given.flag}" if "." in given.flag else "rename the input"
            yield Finding("PF02", location, message, remedy, is_warning=True, is_said_by_run=not given.declared)
        elif given.declared and (other := first.setdefault(given.flag, name)) != name:
            message = f"{given.flag} is the flag of '{other}' too, so it gives neither"
            yield Finding("PF02", ("inputs", name), message, "rename one of them", is_warning=True)
    yield from _check_use(flow)


def _check_use(flow: WiredFlow) -> Iterator[Finding]:
    """Warn of an input that nothing uses, if all reads are known. A misspelt name is reported at its own location."""
    is_known = all(step.is_known for step in flow.steps.values()) and not flow.is_uncertain
    expressions = [expr for several in flow.expressions.values() for expr in several]
    is_faulty = any(each.trouble for each in flow.references) or any(expr.fault for expr in expressions)
    if not is_known or is_faulty or any(without_source(flow)):
        return
    named: set[object] = {"stdin", *(reference.input for reference in flow.references)}
    named |= {write.target[0] for writes in flow.writes.values() for write in writes}  # PF07 reports these
    texts = texts_in([expr.written for expr in expressions if not expr.is_template])
    named |= {paths[0][0] for text in texts for paths in unfilled_references(text)}  # PF14 reports these
    for name in [name for name in flow.flow.inputs if name not in named and not flow.inputs[name].readers]:
        remedy = "take it in a mapping or a template, or leave it out"
        yield Finding("PF02", ("inputs", name), f"nothing uses the input '{name}'", remedy, is_warning=True)


def check_injection(flow: WiredFlow) -> Iterator[Finding]:
    """Refuse an input that a step replaces before another step takes it, and a write into an input without keys."""
    writes = [write for each in flow.writes.values() for write in each]
    taken = {reference.input for reference in flow.references}
    for name, given in flow.inputs.items():
        if given.declared and name != "stdin":
            is_text, is_taken = given.type.name not in ("dict", "any"), given.readers or name in taken
            there = [write for write in writes if write.target[0] == name]
            wrong = [write for write in there if (len(write.target) > 1 and is_text) or not is_taken]
            for write in wrong[:1]:
                message = f"'{write.step}' writes '{write_path(write.target)}', the location of the input '{name}'"
                yield Finding("PF07", ("inputs", name), message, "rename the input, or leave it out")


RULES = (
    Rule("PF01", "the command line cannot change nodes, edges or mappings"),
    Rule("PF02", "every flag is a read or param of a step, or a flow input, and fits only one", check_inputs),
    Rule("PF04", "a param given on the command line overrides the flow's", otherwise="noted in the run's snapshot"),
    Rule("PF07", "a flag cannot inject a key that an earlier step writes", check_injection),
    Rule("PF05", "stdin is reserved: no step writes it; piped bytes need a step that takes them", check_reserved),
    Rule("PF10", "keys are plain snake_case words", check_words, otherwise="warning"),
)
