"""The terminal that a person sits at, whatever stdin and stdout are."""

from __future__ import annotations

import os


def open_terminal() -> int | None:
    """A descriptor of /dev/tty, where stderr is a terminal too: else nobody would see what is asked. None for none."""
    if not os.isatty(2):
        return None
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
