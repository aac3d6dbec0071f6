"""The place of a flow that is changed: its file or its saved name, and putting the changed flow there."""

from __future__ import annotations

import os

from pflow.errors import DENIED, MISSING, TRY_AGAIN, USAGE, PflowError, exit_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pflow.flow.flow import Flow


class Place:
    """Where a flow stands: its `file`, the `name` that it is saved under; None for what it has not.

    `content` is what the file held when it was read.
    """

    def __init__(self, file: str | None, name: str | None = None) -> None:
        self.file = file
        self.name = name
        self.content = _content(file) if file else b""

    def __str__(self) -> str:
        return self.name or self.file or "flow"


def place_of(words: Sequence[str]) -> Place:
    """The place of the flow that a command's words name; without a file for stdin and pipe syntax.

    Raises PflowError where one word is neither a flow nor pipe syntax.
    """
    from pflow.flow.take import find_file, take_flow

    if len(words) != 1 or words[0] == "-":
        return Place(None)
    word = words[0]
    is_file = not word.startswith("flow:") and "\0" not in word and os.path.isfile(word)
    file = find_file(word)
    if file is None:
        take_flow(words)  # says that it is not there
    return Place(file, None if is_file or not file else word.removeprefix("flow:"))


def check_writable(place: Place) -> None:
    """Raise PflowError for a place that cannot be written: 2 where it has no file, 77 where that may not be."""
    if place.file is None:
        hint = "without --write the flow goes to stdout"
        raise PflowError("cannot write the flow back: it has no file", hint=hint, exit=USAGE)
    if not os.access(place.file, os.W_OK):
        raise PflowError(f"cannot write '{place.file}': permission denied", exit=DENIED)


def put(place: Place, flow: Flow) -> str:
    """Put a flow there, whole or not at all. Returns what was done, in words.

    Raises PflowError: 75 where somebody else has changed the file since it was read, 73 and 77 where it is not written.
    """
    file = place.file or ""
    if _content(file) != place.content:
        hint = "nothing was written; run it again"
        raise PflowError(f"cannot write '{place}': it has changed since it was read", hint=hint, exit=TRY_AGAIN)
    if place.name is not None:
        from pflow.library.save import save_flow

        kept = save_flow(place.name, flow, replace=True)
        notes = [*kept.notes, *([f"what it was is in {kept.old}"] if kept.old else [])]
        return "; ".join([f"saved '{place.name}'", *notes])
    from pflow.atomic import replace
    from pflow.flow.unload import canonical_json, flow_to_ir

    try:
        replace(file, canonical_json(flow_to_ir(flow)))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PflowError(f"cannot write '{file}': {why}", exit=exit_code(error)) from None
    return f"wrote '{file}'"


def _content(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except FileNotFoundError:
        raise PflowError(f"cannot read the flow '{file}': it is gone", exit=MISSING) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PflowError(f"cannot read the flow '{file}': {why}", exit=exit_code(error)) from None
