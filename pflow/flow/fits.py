"""Which types fit which: can a read or param of one type take a value of another?"""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import PflowError
from pflow.values.types import Type, fit

if TYPE_CHECKING:
    from typing import Any

    from pflow.interface.interface import Item

NO, MAYBE, YES = 0, 1, 2

_TAKEN = {
    "str": ("str", "int", "float", "bool", "path", "bytes", "list", "dict", "choice"),
    "int": ("int",),
    "float": ("int", "float"),
    "bool": ("bool",),
    "path": ("str", "path", "bytes", "choice"),
    "bytes": ("str", "path", "bytes", "choice"),
    "list": ("list",),
    "dict": ("dict",),
    "choice": ("str", "path"),
}
"""For each type, the types whose every value fits it (for a choice: whose values may), by `pflow.values.types.fit`."""

_ALL_TAKING = ("any", "str")


def fits(there: Type, wanted: Type) -> int:
    """Return how one type fits another: NO, MAYBE (some values fit), YES (all fit, or only the value will tell)."""
    if wanted.name == "any":
        return YES
    if there.name == "any":
        return YES if wanted.name in _ALL_TAKING else MAYBE
    if there.choices and wanted.choices:
        common = set(there.choices) & set(wanted.choices)
        return YES if len(common) == len(set(there.choices)) else MAYBE if common else NO
    if there.name == "float" and wanted.name == "int":
        return MAYBE
    if there.name not in _TAKEN[wanted.name]:
        return NO
    return fits(there.items, wanted.items) if there.items and wanted.items else YES


def template_fits(there: Type, wanted: Type) -> int:
    """Return how a template that is one reference fits: text is read like a flag's, a list takes a single item."""
    if there.name in ("str", "choice", "any") and not (there.choices and wanted.choices):
        return YES
    if wanted.name == "list" and there.name != "list":
        return template_fits(there, wanted.items or Type("any"))
    return fits(there, wanted)


def misfit(item: Item, value: Any) -> str:
    """Say why a value in a flow does not fit a read or param; empty if it does. A null may mean unset."""
    if value is None and item.default is None:
        return ""
    try:
        fit(item.type, value)
    except ValueError as error:
        return str(error)
    except PflowError as error:
        return error.message
    return ""


def named(type: Type) -> str:
    """Name a type in words: `an int`, `a list[str]`, `plain or fancy`."""
    if type.choices:
        return " or ".join(type.choices)
    return "any value" if type.name == "any" else f"an {type}" if type.name == "int" else f"a {type}"
