"""What a stage leaves in the store: checked before its node runs, put there after it, only said in a dry run."""

from __future__ import annotations

from pflow.binding.places import check_place, has
from pflow.binding.store import REMOVED
from pflow.errors import PflowError
from pflow.paths import meet, parse_path, write_path
from pflow.stage.output import value_to_print
from pflow.terminal.messages import write_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pflow.binding.resolve import Binding
    from pflow.binding.store import NodeStore
    from pflow.paths import Path
    from pflow.stage.document import Document
    from pflow.stage.flags import Flags

_TELLING = ("path", "directory", "command")
"""Reads whose values say what a stage would touch."""


class Outcome:
    """Where the data flags and the writes of one stage go; `view` is the store as its node sees it."""

    def __init__(self, document: Document, flags: Flags, binding: Binding, view: NodeStore) -> None:
        self.document = document
        self.flags = flags
        self.interface = flags.interface
        self.binding = binding
        self.view = view
        self.data = binding.data(view.found)
        unknown = [key for key in binding.stored if binding.is_pretended(binding.sources[key].paths)]
        self.data_places = [flags.own_place(key) for key in [*self.data, *unknown]]

    def check(self) -> None:
        """Refuse a place that cannot be written (65), and a carried value that --raw could not print.

        What a dry stage would have written is in nobody's way. What a node without an interface writes is known as far
        as it is mapped.
        """
        writes = [self.flags.place_of(key) for key in {**self.interface.writes, **self.flags.map_out}]
        places = [*writes, *self.data_places]
        for place in places:
            if not self.binding.is_pretended([place]):
                check_place(self.document, place)
        hands_on = self.interface.pipe_write is None and not self.interface.open
        if self.flags.raw and hands_on and "last" in self.document.header:
            carried = parse_path(self.document.header["last"])
            if not self.binding.is_pretended([carried]) and not any(meet(carried, place) for place in places):
                value_to_print(self.document, carried)

    def put(self, changes: Mapping[str, Any]) -> tuple[Document, dict[str, str]]:
        """A copy of the store with data flags and changes in it, and the place of each write."""
        document = self.document.copy()
        for key, value in self.data.items():
            place = self.flags.own_place(key)
            if not has(document, place):
                document.put(place, value)
        writes = {}
        for key, value in changes.items():
            place = self.flags.place_of(key)
            if value is REMOVED:
                document.remove(place)
                continue
            try:
                document.put(place, value)
            except PflowError as error:
                raise error.within(f"cannot store '{key}'") from None
            writes[key] = write_path(place)
        self._note_carried(document, writes)
        return document, writes

    def pretend(self, step: str, origins: dict[str, str]) -> dict[str, Any]:
        """Say on stderr what would be done, and mark every place that would be written. What the trace says of it."""
        places = {key: write_path(self.flags.place_of(key)) for key in self.interface.writes}
        write_stderr(self._report(step, origins, list(places.values())))
        header = self.document.header
        stored = map(write_path, self.data_places)
        header["dry"] = list(dict.fromkeys([*header.get("dry", []), *stored, *places.values()]))
        self._note_carried(self.document, places)
        return {"writes": places, "dry": True}

    def _note_carried(self, document: Document, writes: dict[str, str]) -> None:
        carried = self.interface.pipe_write
        if carried is not None and carried.name in writes:
            document.header["last"] = writes[carried.name]

    def _report(self, step: str, origins: dict[str, str], places: list[str]) -> str:
        reads = ", ".join(f"{name} from {origin}" for name, origin in origins.items()) or "nothing"
        lines = [
            f"{step} (dry run)",
            f"    ← would read: {reads}",
            f"    → would write: {', '.join(places) or 'nothing'}",
            f"    would touch: {', '.join(self.interface.effects) or 'nothing'}",
        ]
        told = [name for name in _TELLING if name in self.interface.reads and name in self.view]
        lines += [f"    {name}: {self.view[name]}" for name in told]
        return "\n".join(lines) + "\n"


def pretended_places(document: Document) -> list[Path]:
    """The places that dry stages before this one would have written."""
    return [parse_path(path) for path in document.header.get("dry", [])]
