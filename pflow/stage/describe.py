"""What a stage tells other programs of itself: --describe, its interface as JSON."""

from __future__ import annotations

from pflow.jsontext import encode
from pflow.node import version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Interface, Item


def describe(name: str, node_class: Any, interface: Interface) -> str:
    """The interface as one line of JSON, for other programs."""
    about = {
        "name": name,
        "version": version_of(node_class),
        "summary": interface.summary,
        "description": interface.description,
        "reads": {key: _described(item) for key, item in interface.reads.items()},
        "writes": {key: _described(item) for key, item in interface.writes.items()},
        "params": {key: _described(item) for key, item in interface.params.items()},
        "actions": interface.actions,
        "effects": interface.effects,
        "flow_safe": bool(getattr(node_class, "flow_safe", False)),
        "open": interface.open,
    }
    return str(encode(about), "utf-8") + "\n"


def _described(item: Item) -> dict[str, Any]:
    about: dict[str, Any] = {"type": str(item.type), "doc": item.doc}
    if item.kind != "write":
        about["required"] = item.required
        if "secret" not in item.marks:
            about["flag"] = item.flag
    if not item.required:
        about["default"] = item.default
    if item.marks:
        about["marks"] = sorted(item.marks)
    if item.flags:
        about["flags"] = item.flags
    if item.env:
        about["env"] = item.env
    return about
