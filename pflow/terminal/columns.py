"""Text for a terminal: colour, widths, wrapped lines, tables."""

from __future__ import annotations

import os

from pflow import Callable, Mapping, Sequence
from pflow.errors import result_of, shorten
from pflow.text.printable import clean

AUTO, ALWAYS, NEVER = "auto", "always", "never"

WHEN = (AUTO, ALWAYS, NEVER)
"""The values of --color."""


def _painter(code: str) -> Callable[[Colour, str], str]:
    def paint(self: Colour, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on and text else text

    return paint


class Colour:
    """Paints words by their meaning, or leaves them plain. Paint a text last: its length is then not its width."""

    __slots__ = ("is_on",)

    def __init__(self, *, is_on: bool) -> None:
        self.is_on = is_on

    heading = _painter("1")
    name = _painter("36")
    good = _painter("32")
    warning = _painter("33")
    fault = _painter("1;31")
    dim = _painter("2")


PLAIN = Colour(is_on=False)


def colour_of(fd: int, when: str = AUTO) -> Colour:
    """Return the colour for a stream: --color (`when`) decides, then NO_COLOR, CLICOLOR_FORCE, and the terminal."""
    if when != AUTO:
        return Colour(is_on=when == ALWAYS)
    is_forced = os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0")
    is_shown = is_forced or (os.isatty(fd) and os.environ.get("TERM", "") not in ("", "dumb"))
    return Colour(is_on=is_shown and not os.environ.get("NO_COLOR"))


_ASCII = str.maketrans("─│╭╮╰╯├┤┼○◀←→…·×", "-|++++++|o<<>~-x")
"""The characters that pflow draws with, and ASCII of the same width."""

_GAP = 2


def is_utf8(environment: Mapping[str, str]) -> bool:
    """Return True if the locale says that the terminal shows UTF-8."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "C")
    return "utf8" in locale.lower().replace("-", "")


def terminal_width(*, otherwise: int = 80) -> int:
    """Return the width of the terminal on stdout, from 60 to 100 columns; `otherwise` without a terminal.

    COLUMNS comes before the terminal's own width, as in shutil, which is slow to import.
    """
    columns = os.environ.get("COLUMNS", "")
    try:
        found = int(columns) if columns.isdecimal() and int(columns) else os.get_terminal_size(1).columns
    except OSError:
        return otherwise
    return min(max(found, 60), 100)


def stderr_width() -> int:
    """Return the width of the terminal on stderr; 80 if it is unknown."""
    return result_of(lambda: os.get_terminal_size(2).columns or 80, otherwise=80)


def for_locale(text: str) -> str:
    """Return a text with our drawn characters in ASCII, unless the locale is UTF-8."""
    return text if is_utf8(os.environ) else text.translate(_ASCII)


def duration(ms: float) -> str:
    """Format milliseconds for a person: `350 ms`, `1.2 s`."""
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms:.0f} ms"


def rough_time(seconds: float) -> str:
    """Format a time to wait: `45s`, `1m20s`, `2h05m`."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
    return f"{minutes // 60}h{minutes % 60:02}m"


def value_text(value: object) -> str:
    """Format a value as JSON, cut to 60 columns."""
    from pflow.values.jsontext import encode

    return shorten(clean(str(encode(value, escape=False), "utf-8")), 60)


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines at spaces; break a word only if it is longer than a line."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if len(joined) <= width:
            lines[-1] = joined
            continue
        parts = [word[at : at + width] for at in range(0, len(word), width)]
        lines[-1:] = [lines[-1], *parts] if lines[-1] else parts
    return [line.rstrip() for line in lines]


def table(
    rows: Sequence[Sequence[str]], width: int, *, indent: int = 2, first: Callable[[str], str] | None = None
) -> list[str]:
    """Format rows as columns; long cells wrap within their column, and empty columns are left out.

    `first` paints the first column.
    """
    kept = [n for n in range(len(rows[0]) if rows else 0) if any(row[n] for row in rows)]
    widths = _fitted([[len(row[n]) for row in rows] for n in kept], width - indent)
    lines = []
    for row in rows:
        parts = [wrap(row[n], size) for n, size in zip(kept, widths, strict=True)]
        for line in range(max(map(len, parts), default=0)):
            columns = [part[line] if line < len(part) else "" for part in parts]
            padded = [column.ljust(size) for column, size in zip(columns, widths, strict=True)]
            text = (" " * indent + (" " * _GAP).join(padded)).rstrip()
            lines.append(text.replace(columns[0], first(columns[0]), 1) if first and columns[0] else text)
    return lines


def _fitted(columns: list[list[int]], width: int) -> list[int]:
    """Return the widths of columns: those of their widest cells. If they do not fit, the widest columns shrink."""
    widths = [max(column) for column in columns]
    room = width - _GAP * (len(widths) - 1)
    while sum(widths) > room and max(widths, default=0) > 8:
        widest = widths.index(max(widths))
        widths[widest] -= 1
    return widths
