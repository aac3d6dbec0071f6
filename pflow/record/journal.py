"""The journal of a run: a file beside its log that says after each step what it changed, for a process that goes on."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import CANNOT_WRITE, PflowError, reason_of
from pflow.files.atomic import failpoint, open_private, write_all
from pflow.process.signals import HeldSignals
from pflow.record.lines import JOURNAL, line_of, pieces_of, read_lines
from pflow.record.records import Records, compacted
from pflow.values.digest import keyed_digest

if TYPE_CHECKING:
    from typing import Any

    from pflow.record.lines import Record
    from pflow.values.masks import Secrets

_SMALL = 256 << 10
"""Bytes up to which it is never written anew."""

WITHOUT = "--no-journal runs without one, and nothing can resume it"


class Journal:
    """Takes the records of a run, one line each, in the process of its driver; `key` seals the secrets in them.

    `records` is what it held when it was opened: None for a new one, and where nothing in it is whole.
    """

    def __init__(self, directory: str, secrets: Secrets, key: bytes) -> None:
        """Open it, or make it. What a killed process left of its last line is cut off: whoever opens it has the lock.

        Raises PflowError: 73 where that fails, 65 where it is damaged.
        """
        self.path = os.path.join(directory, JOURNAL)
        self.secrets = secrets
        self.key = key
        self.records: Records | None = None
        self._has_begun = False
        self._fd = -1
        self._left(0)
        try:
            self._fd = open_private(self.path, os.O_APPEND)
            self._mend()
        except OSError as error:
            raise self._cannot_keep(error) from error

    def _mend(self) -> None:
        if not os.fstat(self._fd).st_size:
            return
        self._has_begun = True
        data = self._read()
        records, size = read_lines(data)
        self.records = Records(records) if records else None
        if size < len(data):
            os.ftruncate(self._fd, size)
        elif not data.endswith(b"\n"):
            write_all(self._fd, b"\n")
        self._left(os.fstat(self._fd).st_size)

    def _read(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read()

    def _left(self, size: int) -> None:
        """Note its size, and at which it is written anew."""
        self._size = size
        self._limit = max(2 * size, _SMALL)

    def write(self, record: Record) -> None:
        """Add a record. What is written, no kill -9 takes back. Raises PflowError (73), from then on each time."""
        if self.secrets and "changes" in record:
            record = {**record, "changes": [self._sealed(change) for change in record["changes"]]}
        pieces = pieces_of(record)
        name = f"journal.{next(iter(record))}"
        held = HeldSignals()
        try:
            failpoint(name)
            before = self._size
            for piece in pieces:
                write_all(self._fd, piece)
                self._size += len(piece)
            self._limit = max(self._limit, 3 * (self._size - before))  # one record alone replaces nothing
            failpoint(f"{name}.written")
            if "begin" in record:
                self._has_begun = True
                self._left(self._size)  # nothing of it is replaced yet, however large the store was
            elif self._size > self._limit:
                self._compact()
        except OSError as error:
            self._close()
            raise self._cannot_keep(error) from error
        finally:
            held.release()

    def _compact(self) -> None:
        """Write it anew, aside, without what later records have replaced; a full disk leaves it as it is."""
        draft = self.path + ".tmp"
        data = b"".join(map(line_of, compacted(read_lines(self._read())[0])))
        self._left(self._size)
        fd = -1
        try:
            fd = open_private(draft, os.O_TRUNC | os.O_APPEND)
            write_all(fd, data)
            failpoint("journal.compact")
            os.rename(draft, self.path)
        except OSError:
            unlink(draft)
            if fd >= 0:
                os.close(fd)
            return
        self._close()
        self._fd = fd
        self._left(len(data))
        failpoint("journal.compact.written")

    def _sealed(self, change: list[Any]) -> list[Any]:
        """A change; where a secret is in it, a digest in place of the value."""
        if len(change) == 1 or not self.secrets.are_in(change[1]):
            return change
        return [change[0], None, keyed_digest(self.key, change[1])]

    def _cannot_keep(self, error: OSError) -> PflowError:
        what = f"cannot keep the journal '{self.path}': {reason_of(error)}"
        run = os.path.basename(os.path.dirname(self.path))
        hint = f"make room, then pflow resume {run}" if self._has_begun else WITHOUT
        failure = PflowError(what, hint=hint, exit=CANNOT_WRITE)
        failure.ends_run = failure.is_cut = True
        return failure

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def finish(self, *, is_kept: bool) -> None:
        """The run has ended; without `is_kept` there is nothing to go on with."""
        self._close()
        if not is_kept:
            failpoint("journal.remove")
            unlink(self.path)
            failpoint("journal.remove.written")


def unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # who removed the run's directory has removed it
