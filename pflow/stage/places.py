"""What a stage's outcome needs of the store, looked for before its node does anything."""

from __future__ import annotations

import os

from pflow.errors import PflowError
from pflow.paths import meet, parse_path, write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.binding.stage_sources import Inputs
    from pflow.interface import Interface, Item
    from pflow.paths import Path
    from pflow.stage.document import Document
    from pflow.stage.flags import Flags


def check_places(document: Document, interface: Interface, flags: Flags, inputs: Inputs) -> None:
    """Refuse a place that cannot be written (65), and a carried value that --raw could not print.

    What a dry stage would have written stands in nobody's way.
    """
    pretended = _paths(document.header.get("dry", []))
    places = _places(interface, flags, inputs)
    for place in places:
        if not _is_met(place, pretended):
            document.check_place(place)
    carried = _paths([document.header["last"]] if "last" in document.header else [])
    hands_on = interface.pipe_write is None and not interface.open
    if flags.raw and hands_on and carried and not _is_met(carried[0], [*pretended, *places]):
        value_to_print(document, carried[0])


def value_to_print(document: Document, carried: Path) -> Any:
    """What the pipe carries. Raises PflowError: 66 where it is gone, 65 where it does not parse."""
    try:
        return document.look_up(carried)
    except PflowError as error:
        error = error.within(f"cannot print '{write_path(carried)}'")
        error.hint = error.hint or "-q prints nothing"
        raise error from None


def _places(interface: Interface, flags: Flags, inputs: Inputs) -> list[Path]:
    """Where writes and data flags go. What a node without an interface writes is known as far as it is mapped."""
    writes = [flags.place_of(key) for key in {**interface.writes, **flags.map_out}]
    return writes + [flags.own_place(key) for key in inputs.stored]


def _paths(texts: list[str]) -> list[Path]:
    return [parse_path(text) for text in texts]


def _is_met(path: Path, others: list[Path]) -> bool:
    return any(meet(path, other) for other in others)


def as_stored(item: Item, value: Any) -> Any:
    """A data flag's value as the store holds it: a path whose bytes are not UTF-8 as those bytes."""
    if item.type.name == "path" and isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return os.fsencode(value)
    return value
