"""The saved flows: what each is for, what it takes and which nodes it uses, from its file alone."""

from __future__ import annotations

from pflow.flow.subflow import saved_flow, saved_flows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Saved:
    """A saved flow as far as its JSON tells: nothing of it is loaded, wired or checked.

    `inputs` is the IR's member; `types` are its steps' types; `fault` says why the file could not be read.
    """

    __slots__ = ("description", "fault", "file", "inputs", "name", "outputs", "types")

    def __init__(self, name: str, file: str) -> None:
        self.name = name
        self.file = file
        self.description = ""
        self.inputs: dict[str, dict[str, Any]] = {}
        self.outputs: dict[str, str] = {}
        self.types: list[str] = []
        self.fault = ""


def list_saved() -> list[Saved]:
    """Every saved flow, by name."""
    return [read_saved(name) for name in saved_flows()]


def read_saved(name: str) -> Saved:
    """One saved flow."""
    import json

    saved = Saved(name, saved_flow(name) or "")
    with open(saved.file, encoding="utf-8") as file:
        ir = json.load(file)
    saved.description = ir.get("description", "")
    saved.inputs = ir.get("inputs", {})
    saved.outputs = ir.get("outputs", {})
    saved.types = [node.get("type") or node.get("name") or node.get("id") for node in ir.get("nodes", [])]
    return saved
