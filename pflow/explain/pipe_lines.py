"""Pipe syntax on several lines: a line too long is broken after a separator, which pipe syntax allows."""

from __future__ import annotations

from pflow.flow.pipe.scan import END, LINK, scan
from pflow.terminal.columns import cells

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def pipe_lines(text: str, width: int) -> list[str]:
    """The lines of a text in pipe syntax, each up to `width` where its separators allow.

    What is quoted is left alone: a line may hold a line feed of a value.
    """
    lines: list[str] = []
    line = ""
    for piece in _pieces(text):
        if line and (cells(line + piece.rstrip()) > width or line.endswith("\n")):
            lines.append(line)
            line = "" if line.endswith("\n") else "    "
        line += piece
    return [line.rstrip() for line in [*lines, line]]


def _pieces(text: str) -> Iterator[str]:
    """The parts that a line may be broken after: those that end in a separator and a space, or with their line."""
    start = 0
    for token in scan(text):
        end = token.at + len(token.text)
        is_link = token.kind == LINK and text.startswith(" ", end)
        if is_link or (token.kind == END and token.text == "\n"):
            end += is_link
            yield text[start:end]
            start = end
    yield text[start:]
