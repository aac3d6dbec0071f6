"""Questions at the terminal, and answers of a line."""

from __future__ import annotations

import os

from pflow.process.signals import Interrupted
from pflow.terminal.tty import open_terminal


class Terminal:
    """/dev/tty."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def ask(self, question: str) -> str | None:
        """The line that answers; None at the end of the file."""
        self.say(question)
        try:
            line = os.read(self.fd, 1 << 16)
        except Interrupted:
            self.say("\n")
            raise
        except OSError:  # the terminal is gone, or we are not allowed to read
            return None
        if not line:
            self.say("\n")
            return None
        return line.decode("utf-8", "replace").strip()

    def forget_typed(self) -> None:
        """Take nothing for an answer that was typed before the question could be seen."""
        import termios

        try:
            termios.tcflush(self.fd, termios.TCIFLUSH)
        except (termios.error, OSError):
            return

    def say(self, text: str) -> None:
        try:
            os.write(self.fd, text.encode("utf-8", "replace"))
        except OSError:
            return


def find_terminal() -> Terminal | None:
    """The terminal, where anybody sees what is asked."""
    fd = open_terminal()
    return Terminal(fd) if fd is not None else None
