"""Exporters: each file here whose name does not begin with _ writes a wired flow in another form.

Its `export(wired)` returns the text, or raises PflowError (65) if the target cannot express the flow; a target that is
a directory has `export_to(wired, directory)` instead. The first line of the file is its line in the help; IS_PROGRAM
says that its text is a program.
"""

from importlib import import_module
from typing import Any

from pflow.catalog.registry import names_in


def targets() -> list[str]:
    return sorted(name for path in __path__ for name in names_in(path))


def exporter(target: str) -> Any:
    return import_module(f"pflow.export.{target}")
