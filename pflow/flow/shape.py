"""Wrong shapes: a finding for each part of a document that is not what a flow's JSON holds, and what is left of it."""

from __future__ import annotations

from pflow.jsontext import text_of
from pflow.paths import look_up
from pflow.templates import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.misfits import Misfit, Place

    Document = dict[str, Any]


def check_shape(document: Document) -> tuple[Document, list[Finding]]:
    """What has the right shape, and a finding for each part that has not, in the order of the file.

    A part that has not is left out; in a list, null stands for it. Where it is clear what was meant it is put right,
    so that no rule finds fault with what follows from it: a misspelt member gets its name, an id that is a number
    becomes its text, a node that is a text its type.
    """
    said: list[Misfit] = []
    while errors := _errors(document):
        from pflow.flow.misfits import misfits_of

        misfits = misfits_of(errors)
        misspelt = _misspelt(document, misfits)
        whole = {misfit.place: int(misfit.value) for misfit in misfits if _is_whole(misfit)}
        if not misspelt and not whole:
            said += misfits
            document = _changed(document, {misfit.place: _best_guess(misfit) for misfit in misfits})
            break
        said += misspelt
        document = _changed(_renamed(document, {misfit.place: misfit.meant for misfit in misspelt}), whole)
    return document, [misfit.finding() for misfit in sorted(said, key=lambda misfit: misfit.order)]


def _errors(document: Document) -> list[Any]:
    """What pydantic finds, and, as it would have it, an error for each node that nothing says what it is.

    Each has its `order`: where in the file it stands.
    """
    from pflow.flow.ir import errors

    found = errors(document)
    nodes = document.get("nodes")
    for at, node in enumerate(nodes if isinstance(nodes, list) else []):
        if isinstance(node, dict) and not {"id", "type", "name"} & node.keys():
            found.append({"type": "nameless", "loc": ("nodes", at), "input": node, "msg": ""})
    for error in found:
        error["order"] = _order(document, error["loc"])
    return found


def _order(document: Document, place: Place) -> list[int]:
    """Where in the file a place stands; what is missing, at the beginning of what it is missing in."""
    order = []
    value: Any = document
    for step in place:
        if isinstance(value, dict) and step in value:
            order.append(list(value).index(str(step)))
            value = value[step]
        elif isinstance(value, list) and isinstance(step, int):
            order.append(step)
            value = value[step]
    return order


def _misspelt(document: Document, misfits: list[Misfit]) -> list[Misfit]:
    """The unknown members that take the place of the one that was meant."""
    found: dict[Place, Misfit] = {}
    for misfit in misfits:
        meant = (*misfit.place[:-1], misfit.meant)
        if misfit.meant and misfit.meant not in look_up(document, misfit.place[:-1]):
            found.setdefault(meant, misfit)
    return list(found.values())


def _is_whole(misfit: Misfit) -> bool:
    """An integral number fits an int, however it is written."""
    return misfit.rule == "int_type" and isinstance(misfit.value, float) and misfit.value.is_integer()


_LEFT_OUT = object()


def _best_guess(misfit: Misfit) -> Any:
    """What goes on in place of a part with a wrong shape: what was meant, or what hides it from the rules."""
    part, last, value = misfit.part, misfit.place[-1], misfit.value
    if part in (("nodes", "id"), ("edges", "from"), ("edges", "to")) and isinstance(value, int | float):
        return text_of(value)
    if part == ("nodes", "type"):
        return ""
    if part == ("nodes",) and misfit.rule == "model_type" and isinstance(value, str):
        return {"type": value}
    if part == ("inputs",) and misfit.rule == "model_type":
        return {}
    if part == ("mappings", "input_mappings", last):
        return TEMPLATE
    return _LEFT_OUT


def _changed(value: Any, changes: dict[Place, Any], at: Place = ()) -> Any:
    """A copy with some places changed; what is left out of a list is null there."""
    if at in changes:
        return None if changes[at] is _LEFT_OUT else changes[at]
    if isinstance(value, list):
        return [_changed(each, changes, (*at, n)) for n, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    kept = [key for key in value if changes.get((*at, key)) is not _LEFT_OUT]
    return {key: _changed(value[key], changes, (*at, key)) for key in kept}


def _renamed(value: Any, names: dict[Place, str], at: Place = ()) -> Any:
    """A copy with some members renamed, each in its place."""
    if isinstance(value, list):
        return [_renamed(each, names, (*at, n)) for n, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    return {names.get((*at, key), key): _renamed(value[key], names, (*at, key)) for key in value}
