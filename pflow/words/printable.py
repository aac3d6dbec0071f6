"""Text that is safe to print: control characters and lone surrogates are escaped."""

from __future__ import annotations


def clean(text: str) -> str:
    """Put a text on one line and escape characters that would control the terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else " " if char.isspace() else char.encode("unicode_escape").decode()
        for char in text
    )


def clean_json(text: str) -> str:
    """Escape the same characters in JSON text, as JSON does."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _in_json(char) for char in text)


def _in_json(char: str) -> str:
    halves = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join([f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4)])


def encodable(text: str) -> str:
    """Escape lone surrogates, which file names may contain."""
    return text.encode("utf-8", "backslashreplace").decode()


LONGEST = 300
"""The most characters of another program's words in a message."""


def one_line(text: str) -> str:
    """Put another program's words on one line of a message."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= LONGEST else line[:LONGEST] + "…"


def clause(text: str) -> str:
    """Turn a sentence into a clause: lower-case first letter, no full stop."""
    return f"{text[:1].lower()}{text[1:].rstrip('.')}"
