"""A description as help has it, in mdoc: paragraphs, and indented lines, which are a table or stay as they are."""

from __future__ import annotations

from pflow.docs.man import mdoc

_LONGEST = 16
"""Letters of a tag that stands beside its text."""


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each after the first with a space before it."""
    made: list[str] = []
    for each in filter(None, (part.strip("\n") for part in text.split("\n\n"))):
        prose, block = _split(each.split("\n"))
        if prose:
            made += [".Pp"] * bool(made) + mdoc.lines(" ".join(prose))
        if block:
            made += _block(block, [".Pp"] * bool(made))
    return made


def _split(rows: list[str]) -> tuple[list[str], list[str]]:
    """A paragraph's lines, and those indented ones that it ends with."""
    start = next((n for n in range(len(rows)) if all(row.startswith("  ") for row in rows[n:])), len(rows))
    return rows[:start], rows[start:]


def _block(rows: list[str], space: list[str]) -> list[str]:
    pairs = [tuple(map(str.strip, row.strip().partition("  ")))[::2] for row in rows]
    if not all(tag and text for tag, text in pairs):
        return mdoc.literal([row[2:] for row in rows], offset=True)
    width = max(len(tag) for tag, _ in pairs)
    shape = f"{width + 2}n" if width <= _LONGEST else "Ds"
    return [*space, *mdoc.listing([(f"Sy {mdoc.word(tag)}", text) for tag, text in pairs], shape, compact=True)]
