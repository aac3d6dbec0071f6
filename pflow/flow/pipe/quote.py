"""Words as a POSIX shell would quote them."""

from __future__ import annotations

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%")


def quote(text: str) -> str:
    """The text as one word: as it is where that is safe, else in the quotes that need the fewest more."""
    if text and set(text) <= _SAFE and text != "::":
        return text
    if "'" in text and not set(text) & set('"$`\\!'):
        return f'"{text}"'
    return "'" + text.replace("'", "'\\''") + "'"
