"""What the server says on stderr: short lines, and only while somebody reads them, so that it never waits for that."""

from __future__ import annotations

import select

from pflow.terminal import messages

_LONGEST = 4_000
"""Bytes of a line: a pipe that can be written to takes a page."""

_SIGNS = 390
"""Signs of a line, each of which may be written as ten."""


def tell(line: str) -> None:
    """A line that has no signs that a terminal would obey."""
    text = line.encode("utf-8", "backslashreplace")
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + "…".encode()
    if _is_read():
        messages.write_stderr(f"{str(text, 'utf-8', 'ignore')}\n")


def say(program: str, text: str) -> None:
    """One line, whatever is in the text."""
    if _is_read():
        messages.say(program, text if len(text) <= _SIGNS else f"{text[:_SIGNS]}…")


def _is_read() -> bool:
    poll = select.poll()
    poll.register(2, select.POLLOUT)
    return bool(poll.poll(0))
