"""A question with yes and no, to the person at the terminal."""

from __future__ import annotations

import os

from pflow.terminal.tty import open_terminal


def confirm(question: str) -> bool | None:
    """Whether the answer is yes; the end of the file is no answer, and no. None where nobody is to be asked.

    It stands on the terminal itself, and stdin may be a pipe. Where stderr is none, nobody looks.
    """
    terminal = open_terminal()
    if terminal is None:
        return None
    try:
        os.write(terminal, f"{question} [y/N] ".encode("utf-8", "replace"))
        answer = os.read(terminal, 1 << 10)
        if not answer.endswith(b"\n"):
            os.write(terminal, b"\n")
        return answer.strip().lower() in (b"y", b"yes")
    except OSError:  # a process in the background may not read it
        return None
    finally:
        os.close(terminal)
