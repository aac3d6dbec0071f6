"""What libraries and nodes print on stderr: without the frames of tracebacks, and masked. All of it passes here.

Logs, warnings, and exceptions of threads, of destructors and of asyncio end in `sys.stderr`; pflow itself writes to the
descriptor.
"""

from __future__ import annotations

import os
import sys

from pflow import Any, Iterable
from pflow.terminal.messages import for_terminal

_BETWEEN = ("During handling of the above", "The above exception was the direct cause")
_KEYS = r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}"


def tame_stderr() -> None:
    """Let all that is printed on `sys.stderr` from now on pass here."""
    if sys.stderr is not None and not isinstance(sys.stderr, ForeignText):
        sys.stderr = ForeignText(sys.stderr)


def silence(*names: str) -> None:
    """Drop the logs of these libraries: an error or an event of ours says the same."""
    import logging

    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class ForeignText:
    """A stream of lines. With --debug among the command's words it keeps the frames."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._rest = ""
        self._is_trace = self._is_after = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            if self._is_shown(line):
                self._write(line + "\n")
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def flush(self) -> None:
        """Write a line that is not ended, such as a question or a bar of progress."""
        if self._rest and not (self._is_trace and self._rest[0] == " "):
            self._write(self._rest)
            self._rest = ""
        self._stream.flush()

    def _is_shown(self, line: str) -> bool:
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
        import re

        from pflow.values.masks import everything, is_secret_name

        everything.add([value for name, value in os.environ.items() if len(value) > 5 and is_secret_name(name)])
        masked = re.sub(_KEYS, r"\1 ***", everything.mask(text))
        self._stream.write(str(for_terminal(2, masked.encode("utf-8", "surrogatepass")), "utf-8", "surrogatepass"))
