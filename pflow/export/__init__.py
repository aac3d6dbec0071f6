"""Exporters: each file here that has no _ before its name writes a wired flow as something else, by `export`.

`export(wired)` gives the text, or raises PflowError (65) where the target cannot say what the flow says. The first line
of the file is its line in the help; IS_PROGRAM says that its text is a program.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pflow.catalog.registry import names_in


def targets() -> list[str]:
    return names_in("export")


def exporter(target: str) -> Any:
    """The module of a target."""
    return import_module(f"pflow.export.{target}")
