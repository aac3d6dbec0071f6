"""Exporters: each file here that has no _ before its name writes a wired flow as something else, by `export`.

`export(wired)` gives the text, or raises PflowError (65) where the target cannot say what the flow says. The first line
of the file is its line in the help; IS_PROGRAM says that its text is a program.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def targets() -> list[str]:
    return sorted(each.name for each in iter_modules(__path__) if not each.name.startswith("_"))


def exporter(target: str) -> Any:
    """The module of a target."""
    return import_module(f"pflow.export.{target}")
