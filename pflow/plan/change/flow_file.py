"""The file of a flow that is changed, or its saved name, and writing the changed flow back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pflow.atomic import replace
from pflow.errors import DENIED, MISSING, TRY_AGAIN, USAGE, PflowError, exit_code
from pflow.flow.flow import Flow
from pflow.flow.named import find_file, load_named
from pflow.flow.unload import canonical_json, flow_to_ir
from pflow.library.save import save_flow


class FlowFile:
    """The place of a flow: its `file`, and the `name` that it is saved under; each None where there is none.

    `content` is what the file held when it was read.
    """

    def __init__(self, file: str | None, name: str | None = None) -> None:
        self.file = file
        self.name = name
        self.content = _content(file) if file else b""

    def __str__(self) -> str:
        return self.name or self.file or "flow"

    def check_writable(self) -> None:
        """Raise PflowError where a flow cannot be written back: 2 for a place without a file, 77 for permissions."""
        if self.file is None:
            hint = "without --write the flow goes to stdout"
            raise PflowError("cannot write the flow back: it has no file", hint=hint, exit=USAGE)
        if not os.access(self.file, os.W_OK):
            raise PflowError(f"cannot write '{self.file}': permission denied", exit=DENIED)

    def write(self, flow: Flow) -> str:
        """Put a flow there, whole or not at all; what was done, in words.

        Raises PflowError: 75 where somebody else has changed the file since it was read, 73 and 77 where it is not
        written.
        """
        file = self.file or ""
        if _content(file) != self.content:
            hint = "nothing was written; run it again"
            raise PflowError(f"cannot write '{self}': it has changed since it was read", hint=hint, exit=TRY_AGAIN)
        if self.name is not None:
            saved = save_flow(self.name, flow, replace=True)
            notes = [*saved.notes, *([f"what it was is in {saved.old}"] if saved.old else [])]
            return "; ".join([f"saved '{self.name}'", *notes])
        try:
            replace(file, canonical_json(flow_to_ir(flow)))
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise PflowError(f"cannot write '{file}': {why}", exit=exit_code(error)) from None
        return f"wrote '{file}'"


def flow_file_of(words: Sequence[str]) -> FlowFile:
    """The file of the flow that a command's words name; without a file for stdin and pipe syntax.

    Raises PflowError where one word is neither a flow nor pipe syntax.
    """
    if len(words) != 1 or words[0] == "-":
        return FlowFile(None)
    word = words[0]
    is_file = not word.startswith("flow:") and "\0" not in word and os.path.isfile(word)
    file = find_file(word)
    if file is None:
        load_named(words)  # raises for a flow that is not there
    return FlowFile(file, None if is_file or not file else word.removeprefix("flow:"))


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except FileNotFoundError:
        raise PflowError(f"cannot read the flow '{file}': it is gone", exit=MISSING) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PflowError(f"cannot read the flow '{file}': {why}", exit=exit_code(error)) from None
