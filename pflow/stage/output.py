"""A stage's output: which form it has, and writing it."""

from __future__ import annotations

import os

from pflow.binding.places import find
from pflow.errors import PflowError
from pflow.interface import LETTERS
from pflow.paths import parse_path, write_path
from pflow.process.signals import ClosedPipe, die_of_closed_pipe
from pflow.process.streams import as_it_is, divert_prints, secure_standard_files, write_pieces
from pflow.terminal.messages import write_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.paths import Path
    from pflow.stage.document import Document
    from pflow.stage.layout import Piece

DOCUMENT, RAW, TERMINAL, NOTHING = "document", "raw", "terminal", "nothing"


class Output:
    """The real stdout, the form of what goes there, and whether any of it has gone; prints go to stderr."""

    def __init__(self, words: list[str]) -> None:
        self.is_closed = 1 in secure_standard_files()
        self.fd = divert_prints()
        self.form = NOTHING
        self.has_begun = False
        self.is_mid_line = False
        self._guess_form(words)

    def _guess_form(self, words: list[str]) -> None:
        """Choose the form for the case that the flags are wrong, as far as it can be told from the words then."""
        letters = [word[1:] for word in words if word[:1] == "-" and set(word[1:]) <= set(LETTERS)]
        names = {word[2:].removesuffix("=true") for word in words if word.startswith("--")}
        names |= {LETTERS[letter] for letter in "".join(letters)}
        self.choose_form(quiet="quiet" in names, raw="raw" in names, json="json" in names)

    def choose_form(self, *, quiet: bool, raw: bool, json: bool) -> None:
        if quiet or self.is_closed:
            self.form = NOTHING
        elif raw:
            self.form = RAW
        else:
            self.form = TERMINAL if os.isatty(self.fd) and not json else DOCUMENT

    @property
    def is_streamed(self) -> bool:
        return self.form in (RAW, TERMINAL)

    def write(self, pieces: list[Piece]) -> None:
        self.has_begun = True
        write_pieces(self.fd, pieces)

    def emit(self, part: str | bytes) -> None:
        """Show a part of the node's `[pipe]` write as it arrives."""
        data = part.encode("utf-8", "replace") if isinstance(part, str) else part
        self.write([data])
        if data:
            self.is_mid_line = not data.endswith(b"\n")

    def write_document(self, document: Document) -> None:
        """The store, where that is the form."""
        if self.form == DOCUMENT:
            self.write(document.pieces())

    def write_error(self, document: Document, step: str, node: str, error: PflowError) -> None:
        """Write the store as an error document, where documents are the form; a stdout that fails changes nothing."""
        mark_failed(document, step, node, error)
        try:
            self.write_document(document)
        except ClosedPipe:
            die_of_closed_pipe()
        except PflowError:
            pass

    def finish(self, document: Document, *, shows: bool) -> None:
        """Print what was not emitted, in the form that was chosen; on a terminal only what was made here (`shows`)."""
        if self.form in (NOTHING, DOCUMENT):
            self.write_document(document)
        elif self.has_begun:
            if self.form == TERMINAL:
                self.end_line()
        elif "last" in document.header and (shows or self.form == RAW):
            text = as_it_is(value_to_print(document, parse_path(document.header["last"])))
            self.write([text, b"" if self.form == RAW or text.endswith(b"\n") else b"\n"])

    def end_line(self) -> None:
        """End the line that the parts have begun, before something else is said on the same terminal."""
        if self.is_mid_line and os.isatty(self.fd):
            self.is_mid_line = False
            if self.form == TERMINAL:
                self.write([b"\n"])
            else:
                write_stderr("\n")


def value_to_print(document: Document, carried: Path) -> Any:
    """What the pipe carries. Raises PflowError: 66 where it is gone, 65 where it does not parse."""
    try:
        return find(document, carried)
    except PflowError as error:
        why = error.message.removeprefix(f"cannot find '{write_path(carried)}': ")
        hint = error.hint or "-q prints nothing"
        raise PflowError(f"cannot print '{write_path(carried)}': {why}", hint=hint, exit=error.exit) from None


def mark_failed(document: Document, step: str, node: str, error: PflowError) -> None:
    """Turn a store into an error document: later stages pass it on and do nothing."""
    from pflow.terminal.columns import encodable

    document.start()
    document.header["error"] = {"step": step, "node": node, "exit": error.exit, "message": encodable(error.message)}
