"""Questions to the person at the terminal: a line, yes or no, one of several keys."""

from __future__ import annotations

import os


class Terminal:
    """The terminal that a person sits at: /dev/tty, whatever stdin and stdout are.

    An answer of None means that there is no more: the end of the file, or a terminal that is gone or not ours to read.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def ask(self, question: str) -> str | None:
        """The line that answers, stripped."""
        line = self.read_line(question)
        return line if line is None else line.strip()

    def confirm(self, question: str) -> bool:
        """Whether the answer is yes; anything else is no."""
        return (self.ask(f"{question} [y/N] ") or "").lower() in ("y", "yes")

    def choose(self, question: str, keys: dict[str, str], *, otherwise: str = "n") -> str:
        """The key that is typed, itself or as its word; `otherwise` without an answer, `?` for any other."""
        answer = self.ask(question)
        if answer is None:
            return otherwise
        return next((key for key, word in keys.items() if answer.lower() in (key, word)), "?")

    def read_line(self, prompt: str) -> str | None:
        """What is typed at a prompt, without the end of the line; bytes that are not UTF-8 as surrogates."""
        self.say(prompt)
        try:
            line = os.read(self.fd, 1 << 16)
        except OSError:
            return None
        except BaseException:  # a signal
            self.say("\n")
            raise
        if not line.endswith(b"\n"):
            self.say("\n")
        return os.fsdecode(line.rstrip(b"\r\n")) if line else None

    def forget_typed(self) -> None:
        """Take nothing for an answer that was typed before the question could be seen."""
        import termios

        try:
            termios.tcflush(self.fd, termios.TCIFLUSH)
        except (termios.error, OSError):
            return

    def say(self, text: str) -> None:
        try:
            os.write(self.fd, text.encode("utf-8", "backslashreplace"))
        except OSError:
            return

    def close(self) -> None:
        os.close(self.fd)


def open_terminal() -> Terminal | None:
    """The terminal. None without one, and where stderr is not one too: nobody would see the question."""
    if not os.isatty(2):
        return None
    try:
        return Terminal(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return None


def confirm(question: str) -> bool | None:
    """Ask one question with yes and no. None where nobody can be asked."""
    terminal = open_terminal()
    if terminal is None:
        return None
    try:
        return terminal.confirm(question)
    finally:
        terminal.close()
