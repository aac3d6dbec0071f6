"""What is heard of a program while it runs: its answer, and the end of what it says on stderr."""

from __future__ import annotations

import os

from pflow.errors import BAD_DATA, PflowError

_TAIL = 400
_PATIENCE = 1 << 20
"""Bytes that may come without a sign of a store, before who writes them is ended."""


class Heard:
    """The parts of a program's answer, and of its stderr, which is shown as it comes, the last bytes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.answer: list[bytes] = []
        self._size = 0
        self._said = b""

    def take(self, part: bytes) -> None:
        """Take a part of its answer. Raises PflowError (65) where it can be no store, however much more comes."""
        self.answer.append(part)
        self._size += len(part)
        if self._size > _PATIENCE and not self.answer[0].startswith(b"{"):
            raise self.no_store()

    def show(self, part: bytes) -> None:
        self._said = (self._said + part)[-_TAIL:]
        try:
            os.write(2, part)
        except OSError:
            pass

    def no_store(self) -> PflowError:
        return PflowError(
            f"cannot take the answer of {self.name}: its {self._size:,} bytes are no store",
            hint="it is given a store document on stdin and answers with one",
            exit=BAD_DATA,
        )

    def ended(self, code: int) -> PflowError:
        lines = str(self._said, "utf-8", "replace").strip().splitlines()
        why = f": {lines[-1]}" if lines else ""
        return PflowError(f"cannot run {self.name}: it ended with {code}{why}", exit=code)
