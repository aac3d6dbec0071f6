"""A saved flow that already does what a sentence asks, found by its description, filled from the sentence."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.flow.subflow import FlowCatalog
from pflow.library.named import NUMBER, values_in
from pflow.plan.saved import saved_flows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.library.named import Named
    from pflow.library.saved import Saved


class Offer:
    """A saved flow, the `values` for its inputs, and whether the sentence is its own, apart from those (`is_same`)."""

    def __init__(self, saved: Saved, values: dict[str, Any], *, is_same: bool) -> None:
        self.saved = saved
        self.values = values
        self.is_same = is_same

    @property
    def command(self) -> str:
        """What a person would type for it."""
        import shlex

        from pflow.jsontext import text_of

        flags = self._flags()
        return shlex.join(
            ["pflow", self.saved.name, *(f"{flags[name]}={text_of(value)}" for name, value in self.values.items())]
        )

    def _flags(self) -> dict[str, str]:
        """The flag of each input."""
        from pflow.flow.load import load_file
        from pflow.flow.wiring import wire

        flags = {name: "--" + name.replace("_", "-") for name in self.values}
        try:
            inputs = wire(load_file(self.saved.file, FlowCatalog()).flow).inputs
        except PflowError:
            return flags
        return {name: inputs[name].flag if name in inputs else flag for name, flag in flags.items()}


def find_offer(sentence: str) -> Offer | None:
    """The saved flow that does this, or one that is meant by it as far as words tell; None where there is none."""
    there = [saved for saved in saved_flows() if saved.description]
    for saved in there:
        values = _same_but_for_values(sentence, saved)
        if values is not None:
            return Offer(saved, values, is_same=True)
    return _meant(sentence, there)


def _meant(sentence: str, there: list[Saved]) -> Offer | None:
    from pflow.library.fill import fill
    from pflow.library.nearest import About, nearest

    abouts = [About(saved.name, saved.description) for saved in there]
    if not abouts:
        return None
    name = next((match.about.name for match in nearest(sentence, abouts) if match.score > 0.65), None)
    if name is None:
        return None
    saved = next(saved for saved in there if saved.name == name)
    found = fill(saved.inputs, sentence)
    known = {named.text for named in values_in(saved.description)}
    if any(named.text not in known for named in found.unused):
        return None  # the flow does nothing with what the sentence names
    return Offer(saved, found.values, is_same=False)


def _same_but_for_values(sentence: str, saved: Saved) -> dict[str, Any] | None:
    """What the inputs are where the sentence is the flow's description but for the values in it; None where it is not.

    A value that differs must be an input's: one that stands in the flow for good cannot be another. One that is no
    input's must stand there: a flow that was changed may still be described as what it was.
    """
    said, known = values_in(sentence), values_in(saved.description)
    if _frame(sentence, said) != _frame(saved.description, known):
        return None
    values: dict[str, Any] = {}
    for named, before in zip(said, known, strict=True):
        names = [name for name, given in saved.inputs.items() if _is_value(given.get("default"), before)]
        if not names and (named.text != before.text or not _stands(before, saved)):
            return None
        for name in names:
            value = _typed(saved.inputs[name], named)
            if value is None or values.setdefault(name, value) != value:
                return None
    return values


def _stands(named: Named, saved: Saved) -> bool:
    """Whether a value stands in a step of a saved flow, by itself or among words."""
    from pflow.flow.load import load_file
    from pflow.flow.unload import flow_to_ir

    try:
        ir = flow_to_ir(load_file(saved.file, FlowCatalog()).flow)
    except PflowError:
        return False
    return _holds([ir.get("nodes"), ir.get("mappings")], named)


def _holds(value: Any, named: Named) -> bool:
    if isinstance(value, dict | list):
        return any(_holds(each, named) for each in (value.values() if isinstance(value, dict) else value))
    if _is_value(value, named):
        return True
    return isinstance(value, str) and any(each.text == named.text for each in values_in(value))


def _frame(text: str, named: list[Named]) -> tuple[object, ...]:
    """A text without its values: what stands between them, and which of them are numbers."""
    ends = [0, *(each.end for each in named)]
    starts = [*(each.start for each in named), len(text)]
    between = [" ".join(text[end:start].casefold().split()) for end, start in zip(ends, starts, strict=True)]
    return (*between, *(each.kind == NUMBER for each in named))


def _is_value(value: Any, named: Named) -> bool:
    if isinstance(value, bool):
        return False
    is_number = isinstance(value, int | float) and named.kind == NUMBER
    return bool(value == named.number) if is_number else value in (named.text, named.expanded)


def _typed(given: dict[str, Any], named: Named) -> Any:
    """The value in the type that the input has; None where it does not fit."""
    from pflow.types import from_text, parse_type

    try:
        return from_text(parse_type(given.get("type", "any"))[0], named.expanded)
    except ValueError:
        return None
