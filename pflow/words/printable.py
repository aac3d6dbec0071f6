"""Text that may be shown: without what a terminal would obey, and what no file can hold."""

from __future__ import annotations


def clean(text: str) -> str:
    """A text on one line, with the escape of each character that a terminal would obey instead of show."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else " " if char.isspace() else char.encode("unicode_escape").decode()
        for char in text
    )


def clean_json(text: str) -> str:
    """JSON text with JSON's own escape of each such character."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _in_json(char) for char in text)


def _in_json(char: str) -> str:
    halves = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join([f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4)])


def encodable(text: str) -> str:
    """A text with the escape of each lone surrogate, which names of files may have."""
    return text.encode("utf-8", "backslashreplace").decode()


LONGEST = 300
"""Characters of somebody else's own words that a message shows."""


def one_line(text: str) -> str:
    """What somebody else said, on one line, for a message."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= LONGEST else line[:LONGEST] + "…"


def clause(text: str) -> str:
    """A sentence as a part of another: it begins small and ends without a full stop."""
    return f"{text[:1].lower()}{text[1:].rstrip('.')}"
