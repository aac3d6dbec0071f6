"""--dry-run: saying what a stage would read, do and write, and handing the store on marked."""

from __future__ import annotations

from pflow.paths import write_path
from pflow.terminal.messages import write_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.binding.stage_sources import Inputs
    from pflow.interface import Interface
    from pflow.stage.document import Document
    from pflow.stage.flags import Flags

_TELLING = ("path", "directory", "command")
"""Reads whose values say what a stage would touch."""


def pretend(document: Document, step: str, interface: Interface, flags: Flags, inputs: Inputs) -> dict[str, Any]:
    """Tell on stderr, and mark every place that would have been written. Returns what the trace says of it."""
    places = {key: write_path(flags.place_of(key)) for key in interface.writes}
    write_stderr(_report(step, interface, inputs, list(places.values())))
    header = document.header
    stored = [write_path(flags.own_place(key)) for key in inputs.stored]
    header["dry"] = list(dict.fromkeys([*header.get("dry", []), *stored, *places.values()]))
    if interface.pipe_write:
        header["last"] = places[interface.pipe_write.name]
    return {"writes": places, "dry": True}


def _report(step: str, interface: Interface, inputs: Inputs, places: list[str]) -> str:
    reads = ", ".join(f"{name} from {origin}" for name, origin in inputs.origins.items()) or "nothing"
    lines = [
        f"{step} (dry run)",
        f"    ← would read: {reads}",
        f"    → would write: {', '.join(places) or 'nothing'}",
        f"    would touch: {', '.join(interface.effects) or 'nothing'}",
    ]
    lines += [f"    {name}: {inputs.values[name]}" for name in _TELLING if name in inputs.values]
    return "\n".join(lines) + "\n"
