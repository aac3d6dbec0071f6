"""A text cut into chunks of a size, where a paragraph, a line, a sentence or a word ends."""

from __future__ import annotations

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDS = {
    "paragraph": ("\n\n", "\r\n\r\n"),
    "line": ("\n",),
    "sentence": (". ", "! ", "? ", ".\n", "!\n", "?\n", "。", "！", "？"),
    "word": (" ", "\n", "\t"),
}
"""What a part of each kind ends with, from the largest kind to the smallest."""


def chunks(text: str, size: int, by: str, overlap: int = 0) -> Iterator[str]:
    """The chunks of a text, in order; without an overlap they are the text when they are joined.

    None is longer than `size` characters. Each ends where a part of the kind `by` ends, else, where none ends in it,
    one of the next smaller kind, or anywhere. Each but the first begins with the last `overlap` characters of the one
    before, or the whole words in them. `overlap` is less than `size`.
    """
    kinds = list(ENDS)[list(ENDS).index(by) :] if by in ENDS else []
    start = 0
    while len(text) - start > size:
        high = start + size
        end = next((cut for kind in kinds if (cut := _last_end(text, kind, start + overlap, high))), high)
        yield text[start:end]
        start = end - overlap
        if overlap and kinds and not text[start - 1].isspace():
            blanks = [at + 1 for blank in ENDS["word"] if (at := text.find(blank, start, end - 1)) >= 0]
            start = min(blanks, default=start)
    if start < len(text):
        yield text[start:]


def parts(text: str, by: str) -> Iterator[str]:
    """Each paragraph, line, sentence, word or character by itself, with what ends it and the blanks behind that."""
    start = 0
    for end in _ends(text, by) if by in ENDS else range(1, len(text)):
        while by not in ("line", "character") and end < len(text) and text[end].isspace():
            end += 1
        if end > start:
            yield text[start:end]
            start = end
    if start < len(text):
        yield text[start:]


def _last_end(text: str, kind: str, low: int, high: int) -> int | None:
    """The last place after `low`, up to `high`, where a part of a kind ends."""
    return max((at + len(end) for end in ENDS[kind] if (at := text.rfind(end, low, high)) >= 0), default=None)


def _ends(text: str, kind: str) -> Iterator[int]:
    """Every place where a part of a kind ends."""
    found = {end: text.find(end) for end in ENDS[kind]}
    while found := {end: at for end, at in found.items() if at >= 0}:
        cut = min(at + len(end) for end, at in found.items())
        yield cut
        found = {end: at if at >= cut else text.find(end, cut) for end, at in found.items()}
