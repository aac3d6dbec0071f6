"""The stdout of a map: its rows, and behind them, for a stage of pflow, how the map failed."""

from __future__ import annotations

import os

from pflow.errors import Ignoring, PflowError
from pflow.process.children import feeds_pflow
from pflow.process.signals import ClosedPipe
from pflow.process.streams import write_pieces
from pflow.stage.document import Document
from pflow.stage.output import DOCUMENT, NOTHING, Output
from pflow.terminal.messages import clear


class MapOutput(Output):
    """The output of a map, which writes its rows as they come."""

    is_torn = False
    """True while the last row is not whole."""

    def write_rows(self, data: bytes) -> None:
        """Write rows. Raises ClosedPipe, and PflowError (73)."""
        if self.form == NOTHING:
            return
        if os.isatty(self.fd):
            clear()
        self.has_begun = self.is_torn = True
        write_pieces(self.fd, [data])
        self.is_torn = False

    def write_document(self, document: Document) -> None:
        """Write a store if a stage of pflow reads it, behind rows without its members; without any it is one line."""
        if self.form != DOCUMENT or not feeds_pflow(self.fd):
            return
        document = Document(document.header) if self.has_begun else document
        pieces = document.pieces()
        if not document.keys():
            pieces = [b"\n" * self.is_torn, b"".join(pieces).replace(b"\n", b""), b"\n"]
        with Ignoring(ClosedPipe, PflowError):  # without a reader the exit code is enough
            write_pieces(self.fd, pieces)

    def note_failed(self, count: int) -> None:
        """Write how many items failed, of a map that has run them all; the rows stay good."""
        if self.has_begun:
            self.write_document(Document({"failed": count}))
        else:
            self.hand_on_error("map", PflowError(f"{count:,} items failed"))
