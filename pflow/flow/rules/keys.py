"""PF05 and PF10: `stdin` is reserved, and the keys that a flow makes are plain snake_case words."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.findings import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.wired import WiredFlow
    from pflow.paths import Path


def check_reserved(flow: WiredFlow) -> Iterator[Finding]:
    for place, path in _made_keys(flow):
        root = str(path[0])
        if root == "stdin" or root.startswith("$"):
            remedy = "stdin is what comes through the pipe" if root == "stdin" else "a key does not begin with $"
            yield Finding("PF05", place, f"'{root}' is reserved", remedy)
    for step in flow.flow.steps:
        if step.id == "stdin":
            yield Finding("PF05", (*step.place, "id"), "'stdin' is reserved", "call the step something else")
    takers = [name for name, given in flow.flow.inputs.items() if given.pipe]
    for name in takers[1:]:
        message = f"what comes through the pipe goes to '{takers[0]}' already"
        yield Finding("PF05", ("inputs", name, "pipe"), message, 'one input is "pipe": true')


def check_words(flow: WiredFlow) -> Iterator[Finding]:
    warned = set()
    for place, path in _made_keys(flow):
        steps = path[1:] if path[0] in flow.steps else path
        odd = [step for step in steps if isinstance(step, str) and not _is_plain_word(step)]
        if odd and not str(path[0]).startswith("$") and path not in warned:
            warned.add(path)
            message = f"'{odd[0]}' is no plain snake_case word"
            yield Finding("PF10", place, message, "small letters, digits and _ make one", is_warning=True)


def _made_keys(flow: WiredFlow) -> Iterator[tuple[Path, Path]]:
    """Every place of a store that the flow itself names and makes: where, and the path."""
    for kind, names in (("inputs", flow.flow.inputs), ("outputs", flow.flow.outputs)):
        yield from (((kind, name), (name,)) for name in names)
    for wired in flow.steps.values():
        step = wired.step
        if step.batch is not None:
            yield (*step.place, "batch", "as"), (step.batch.item,)
        for key in step.output_mappings:
            if key in wired.targets:  # else it is no path, and PF14 says so
                yield ("mappings", step.id, "output_mappings", key), wired.targets[key]
    for reference in flow.references:
        given = flow.inputs.get(reference.input or "")
        if given is not None and not given.declared:
            yield reference.place, reference.path[:1]


def _is_plain_word(name: str) -> bool:
    return name.isascii() and name.isidentifier() and name == name.lower()


RULES = (
    Rule("PF05", "stdin is reserved: no step writes it; piped bytes need a step", check_reserved),
    Rule("PF10", "keys are plain snake_case words", check_words, otherwise="warning"),
)
