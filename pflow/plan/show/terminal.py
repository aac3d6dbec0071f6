"""The terminal that a person sits at, whatever stdin and stdout are: questions, and answers of a line."""

from __future__ import annotations

import os

from pflow.stage.signals import Interrupted


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


def open_terminal() -> Terminal | None:
    """The terminal, where stderr is one too: else nobody would see what is asked."""
    if not os.isatty(2):
        return None
    try:
        return Terminal(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return None
