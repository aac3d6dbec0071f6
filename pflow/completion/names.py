"""What there is to offer by name: nodes, saved flows, runs, models, files. None of it is run."""

from __future__ import annotations

import os

from pflow.catalog.registry import data_directory
from pflow.jsontext import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SUFFIX = ".pflow.json"
_MOST_RUNS = 99
"""As many as readline lists without a question."""


def nodes() -> Iterator[tuple[str, str]]:
    from pflow.catalog.lines import node_lines

    for line in node_lines():
        if line.is_there:
            yield line.name, line.summary


def flows() -> Iterator[tuple[str, str]]:
    """The saved flows, by the names of their files."""
    folder = data_directory("flows") or ""
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if file.endswith(SUFFIX) and not file.startswith("."):
            yield file.removesuffix(SUFFIX), str(read_flow(f"{folder}/{file}").get("description") or "")


def find_flow(name: str) -> str:
    """The file of a saved flow; empty where no flow has this name."""
    folder = data_directory("flows")
    plain = name.replace("-", "").replace("_", "").lower()
    spelled = (each for each, _ in flows() if each.replace("-", "").replace("_", "").lower() == plain)
    found = next(spelled, "")
    return f"{folder}/{found}{SUFFIX}" if found else ""


def read_flow(file: str) -> dict[str, Any]:
    """The document in a flow's file; an empty one where it cannot be read."""
    try:
        with open(file, "rb") as source:
            document = decode(source.read())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def runs() -> Iterator[tuple[str, str]]:
    """The newest runs, the newest first."""
    import time

    from pflow.run.runs import list_runs

    for run in list_runs(_MOST_RUNS):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.begun))
        yield run.id, f"{when}  {run.status}  {run.name}".rstrip()


def models() -> Iterator[tuple[str, str]]:
    """The models of the list that runs of the `llm` library keep."""
    from pflow.catalog.offered import read_models

    return read_models()


def files(typed: str, wanted: str) -> list[str]:
    """The names of the files in the directory that is typed, those of directories with a / at the end.

    `wanted` is how the names of files end, or `/` for directories alone.
    """
    folder, _, begun = typed.rpartition("/")
    folder = os.path.expanduser(folder) or ("/" if typed.startswith("/") else ".")
    try:
        with os.scandir(folder) as entries:
            found = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
    except OSError:
        return []
    shown = [name for name in found if name.startswith(begun) and (begun or not name.startswith("."))]
    return [name for name in shown if name.isprintable() and name.endswith((wanted, "/"))]
