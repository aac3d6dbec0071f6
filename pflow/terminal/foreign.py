"""What libraries and nodes print on stderr: without the frames of tracebacks, and masked. All of it passes here.

Logs, warnings, and exceptions of threads, of destructors and of asyncio end in `sys.stderr`; pflow itself writes to the
descriptor.
"""

from __future__ import annotations

import _thread
import os
import sys

from pflow import Any, Iterable
from pflow.words.printable import harmless

_BETWEEN = ("During handling of the above", "The above exception was the direct cause")
_LONGEST = 8192


def tame_stderr() -> None:
    """Pass all that is printed on `sys.stderr` from now on through a ForeignText."""
    if sys.stderr is not None and not isinstance(sys.stderr, ForeignText):
        sys.stderr = ForeignText(sys.stderr)


def silence(*names: str) -> None:
    """Drop the logs of these libraries: an error or an event of ours says the same."""
    import logging

    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class ForeignText(_thread._local):
    """A stream of lines: each thread writes lines of its own. With --debug among the command's words, frames stay."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._rest = ""
        self._environment: dict[str, str] = {}
        self._is_trace = self._is_after = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> ForeignText:
        return self

    def __exit__(self, *error: object) -> None:
        """Write what is left; stderr stays open for others."""
        self.flush()

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        self._write("".join([line + "\n" for line in lines if self._is_shown(line)]))
        if "\r" in self._rest or len(self._rest) > _LONGEST:  # as a text file of Python's does
            self.flush()
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def flush(self) -> None:
        """Write a line that is not ended, such as a question or a bar of progress."""
        if not (self._is_trace and self._rest[:1] == " "):
            self._write(self._rest)
            self._rest = ""
        self._stream.flush()

    def _is_shown(self, line: str) -> bool:
        """Return False for the frames of a traceback, and for the lines between two of them."""
        if "--debug" in sys.argv:
            return True
        if "Traceback (most recent call last):" in line:
            self._is_trace = True
            return False
        if self._is_trace and line[:1] in ("", " "):
            return False
        if self._is_after and (not line or line.startswith(_BETWEEN)):
            return False
        self._is_trace, self._is_after = False, self._is_trace
        return True

    def _write(self, text: str) -> None:
        if not text:
            return
        from pflow.values.secrets import everything, mask_logins, of_environment

        if (environment := dict(os.environ)) != self._environment:
            self._environment = environment
            everything.add(of_environment())
        masked = mask_logins(everything.mask(text))
        self._stream.write(harmless(masked) if os.isatty(2) else masked)
