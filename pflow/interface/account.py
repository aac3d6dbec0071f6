"""An interface as data, which --describe and --json print, and which the planner and MCP clients are shown."""

from __future__ import annotations

from pflow import Any, Callable
from pflow.interface.interface import Field, Interface


def account_of(interface: Interface, leaves_out: Callable[[Field], bool] = lambda field: False) -> dict[str, Any]:
    """Return what an interface declares, without the fields that are left out."""

    def described(fields: dict[str, Field]) -> dict[str, dict[str, Any]]:
        return {key: _described(field) for key, field in fields.items() if not leaves_out(field)}

    return {
        "summary": interface.summary,
        "description": interface.description,
        "reads": described(interface.reads),
        "writes": described(interface.writes),
        "params": described(interface.params),
        "actions": list(interface.actions),
        "effects": list(interface.effects),
        "repeats": interface.repeats,
        "flow_safe": interface.flow_safe,
        "open": interface.open,
        "inferred": interface.inferred,
    }


def _described(field: Field) -> dict[str, Any]:
    about: dict[str, Any] = {"type": str(field.type), "doc": field.doc}
    if field.kind != "write":
        about["required"] = field.required
        if not field.is_secret:
            about["flag"] = field.flag
    if not field.required:
        about["default"] = field.default
    more = {"marks": sorted(field.marks), "flags": field.flags, "short": field.letter, "env": field.env}
    return {**about, **{name: value for name, value in more.items() if value}}


def inferred_in_words(interface: Interface) -> str:
    """Return the inferred parts of an interface: its [pipe] marks, or all of it; "" if nothing was inferred."""
    parts = []
    for kind in ("reads", "writes", "params") if interface.inferred else ():
        marks = {key: " [pipe]" * ("pipe" in field.marks) for key, field in getattr(interface, kind).items()}
        if names := [key + mark for key, mark in marks.items() if interface.open or mark]:
            parts.append(f"{kind} {', '.join(names)}")
    return "; ".join(parts)
