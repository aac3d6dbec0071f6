"""Rows as a table in Markdown."""

from __future__ import annotations

from typing import Any

from pflow.tables.rows import Row, cell, columns_of


def markdown_table(rows: list[Row], widest: int | None = None) -> str:
    """The table of rows, its numbers to the right; nothing for none. A longer cell than the `widest` is cut."""
    names = columns_of(rows)
    if not names:
        return ""
    marks = ["--:" if _is_numeric([row.get(name) for row in rows]) else "---" for name in names]
    cells = ([_escaped(row.get(name), widest) for name in names] for row in rows)
    lines = [[_escaped(name, widest) for name in names], marks, *cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _is_numeric(values: list[Any]) -> bool:
    kinds = {*map(type, values)} - {type(None)}
    return bool(kinds) and kinds <= {int, float}


def _escaped(value: Any, widest: int | None) -> str:
    text = f"{value:.10g}" if isinstance(value, float) else cell(value)
    if widest and len(text) > widest:
        text = text[: widest - 1] + "…"
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").replace("\r", "").split("\n"))
