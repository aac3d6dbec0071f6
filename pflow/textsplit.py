"""A text cut into chunks, where a reader would cut it: after a paragraph, else a line, a sentence, a word."""

from __future__ import annotations

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BOUNDARIES = ("\n\n", "\n", ". ", " ")


def split_text(text: str, size: int, overlap: int = 0) -> Iterator[str]:
    """The chunks of a text, each of at most `size` characters; one begins with the last `overlap` of the one before.

    Without an overlap they are the text when they are joined. The overlap is at most half the size.
    """
    start = 0
    while start < len(text):
        end = _end(text, start, start + size)
        yield text[start:end]
        start = end - overlap if end < len(text) else end


def _end(text: str, start: int, end: int) -> int:
    """After the last boundary of the best kind, in the second half of a chunk."""
    if end >= len(text):
        return len(text)
    middle = start + (end - start + 1) // 2
    found = ((text.rfind(mark, middle, end), mark) for mark in BOUNDARIES)
    return next((place + len(mark) for place, mark in found if place >= 0), end)
