"""Chunks of a text, cut at the ends of paragraphs, lines, sentences or words."""

from __future__ import annotations

from pflow import Iterator

ENDS = {
    "paragraph": ("\n\n", "\r\n\r\n"),
    "line": ("\n",),
    "sentence": (". ", "! ", "? ", ".\n", "!\n", "?\n", "。", "！", "？"),
    "word": (" ", "\n", "\t"),
}
"""The endings of each kind of part, from the largest kind to the smallest."""


def chunks(text: str, size: int, by: str, overlap: int = 0) -> Iterator[str]:
    """Yield the chunks of a text in order; joined, they are the text, unless they overlap.

    A chunk has at most `size` characters. It ends where a part of the kind `by` ends; if none does, at the end of a
    part of the next smaller kind, or anywhere. Each chunk but the first begins with the last `overlap` characters of
    the one before, cut to whole words. `overlap` is less than `size`.
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
    """Yield each paragraph, line, sentence, word or character, with its ending and the blanks behind it."""
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
    """Return the last place after `low`, up to `high`, where a part of a kind ends."""
    return max((at + len(end) for end in ENDS[kind] if (at := text.rfind(end, low, high)) >= 0), default=None)


def _ends(text: str, kind: str) -> Iterator[int]:
    """Yield every place where a part of a kind ends."""
    found = {end: text.find(end) for end in ENDS[kind]}
    while found := {end: at for end, at in found.items() if at >= 0}:
        cut = min(at + len(end) for end, at in found.items())
        yield cut
        found = {end: at if at >= cut else text.find(end, cut) for end, at in found.items()}
