"""The files of flows: the saved ones by name, and those that a step's type is a path to."""

from __future__ import annotations

import os

from pflow.catalog.registry import data_directory
from pflow.source import plain

SUFFIX = ".pflow.json"
"""What the name of a saved flow's file ends in."""


def is_flow_type(type: str) -> bool:
    """Whether a step's type names a flow: `flow:NAME`, or a path to a file."""
    return type.startswith("flow:") or "/" in type or type.endswith(SUFFIX)


def flow_file(type: str, directory: str = ".") -> str | None:
    """The file of the flow that a type names, a relative path from `directory`; None where there is none."""
    saved = type.startswith("flow:")
    file = saved_flow(type.removeprefix("flow:")) if saved else os.path.normpath(os.path.join(directory, type))
    return os.path.abspath(file) if file and os.path.isfile(file) else None


def saved_flow(name: str) -> str | None:
    """The file of a saved flow; None where there is none of that name. Case, `-` and `_` make no other name."""
    folder = data_directory("flows")
    if folder is None or "/" in name or not name or name.startswith("."):
        return None
    file = os.path.join(folder, name + SUFFIX)
    if os.path.isfile(file):
        return file
    wanted = plain(name)
    near = next((each for each in saved_flows() if plain(each) == wanted), None) if wanted else None
    return os.path.join(folder, near + SUFFIX) if near is not None else None


def saved_flows() -> list[str]:
    """The names of all saved flows."""
    try:
        with os.scandir(data_directory("flows") or "/dev/null") as files:
            return sorted(flow_name(file.name) for file in files if flow_name(file.name) and _is_file(file))
    except OSError:
        return []


def flow_name(file: str) -> str:
    """The name of the saved flow whose file is called so; empty where no flow's file is."""
    return file.removesuffix(SUFFIX) if file.endswith(SUFFIX) and not file.startswith(".") else ""


def _is_file(file: os.DirEntry[str]) -> bool:
    try:
        return file.is_file()
    except OSError:  # a link to itself
        return False
