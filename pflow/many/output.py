"""The stdout of a map: its rows, and behind them, for a stage of pflow, how the map failed."""

from __future__ import annotations

import os
from typing import Any

from pflow.driver.arguments import RunFlags
from pflow.errors import FAILED, Ignoring, PflowError
from pflow.process.readers import feeds_pflow
from pflow.process.signals import ClosedPipe
from pflow.process.streams import divert_prints, write_pieces
from pflow.stage import VERSION, WRITER
from pflow.stage.document import Document
from pflow.stage.output import note_error
from pflow.terminal.messages import clear
from pflow.values.jsontext import encode


class MapOutput:
    """The real stdout; what others print goes to stderr from here on."""

    def __init__(self, flags: RunFlags) -> None:
        self.fd = divert_prints()
        self.is_quiet, self.is_raw = flags.quiet, flags.raw
        self.has_begun = self.is_torn = False

    def write(self, data: bytes) -> None:
        """Write rows. Raises ClosedPipe, and PflowError (73)."""
        if self.is_quiet:
            return
        if os.isatty(self.fd):
            clear()
        self.has_begun = self.is_torn = True
        write_pieces(self.fd, [data])
        self.is_torn = False

    def fail(self, error: PflowError) -> None:
        """Write an error document: the one that came in, else the map's own."""
        if (document := error.store) is None:
            document = Document()
            document.add_step({"id": "map", "node": "map", "exit": error.exit})
            note_error(document, "map", "map", error)
        self.hand_on(document)

    def note_failed(self, count: int) -> None:
        """Write how many items failed, of a map that has run them all; the rows stay good."""
        if self.has_begun:
            self.hand_on(Document({"failed": count}))
        else:
            self.fail(PflowError(f"{count:,} items failed", exit=FAILED))

    def hand_on(self, document: Document) -> None:
        """Write a document: its header behind rows, or without rows all of it."""
        if self.is_quiet or self.is_raw or not feeds_pflow(self.fd):
            return
        header: dict[str, Any] = {"v": VERSION, "by": WRITER, **document.header}
        header.pop("members", None)
        mark = b"\n" * self.is_torn + encode({"$pflow": header}, escape=False) + b"\n"
        with Ignoring(ClosedPipe, PflowError):  # without a reader the exit code is enough
            write_pieces(self.fd, [mark] if self.has_begun or not document.keys() else document.pieces())
