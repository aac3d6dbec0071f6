"""Colour: whether a stream gets it, and how each kind of word looks in it."""

from __future__ import annotations

import os

AUTO, ALWAYS, NEVER = "auto", "always", "never"

WHEN = (AUTO, ALWAYS, NEVER)
"""What --color may say."""


class Colour:
    """Paints words by what they are, or leaves them plain. Paint last: what is painted has no width any more."""

    __slots__ = ("is_on",)

    def __init__(self, *, is_on: bool) -> None:
        self.is_on = is_on

    def heading(self, text: str) -> str:
        return self._paint("1", text)

    def name(self, text: str) -> str:
        return self._paint("36", text)

    def good(self, text: str) -> str:
        return self._paint("32", text)

    def warning(self, text: str) -> str:
        return self._paint("33", text)

    def fault(self, text: str) -> str:
        return self._paint("1;31", text)

    def dim(self, text: str) -> str:
        return self._paint("2", text)

    def _paint(self, how: str, text: str) -> str:
        return f"\x1b[{how}m{text}\x1b[0m" if self.is_on and text else text


PLAIN = Colour(is_on=False)


def colour_of(fd: int, when: str = AUTO) -> Colour:
    """The colour for a stream, `when` being what --color said."""
    return Colour(is_on=is_wanted(fd, when))


def is_wanted(fd: int, when: str = AUTO) -> bool:
    """Whether a stream gets colour: --color decides, else NO_COLOR, else CLICOLOR_FORCE, else what it goes to."""
    if when != AUTO:
        return when == ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return os.isatty(fd) and os.environ.get("TERM", "") not in ("", "dumb")
