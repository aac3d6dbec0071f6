"""What a saved flow may be called, and where it is kept."""

from __future__ import annotations

import os

from pflow.catalog.discovery import is_node_name
from pflow.catalog.registry import bundled_names, data_directory, names_in, tool_names
from pflow.catalog.source import plain
from pflow.errors import BAD_CONFIG, BAD_DATA, PflowError
from pflow.flow.subflow import SUFFIX, flow_name

LONGEST = 100
"""Letters of a name: with what old versions and drafts add, it is still a file's name everywhere."""


def check_name(name: str) -> None:
    """Raise PflowError (65) for what no saved flow can be called, or what would never be found under its name."""
    from pflow.errors import shorten

    act = f"cannot call a flow '{shorten(name)}'"
    if not is_node_name(name):
        raise PflowError(act, hint="letters, digits, - and _ make a name: fix-issue", exit=BAD_DATA)
    if len(name) > LONGEST:
        raise PflowError(f"{act}: {len(name)} letters", hint=f"{LONGEST} at most", exit=BAD_DATA)
    if plain(name).startswith("pflow") and name[5:6] in ("", "-", "_"):
        hint = f"its name is what follows pflow-: {name[6:]}" if name[6:] else "choose another name"
        raise PflowError(act, hint=hint, exit=BAD_DATA)
    kind = _taken_by(plain(name))
    if kind:
        raise PflowError(f"{act}: {kind} of pflow's has this name", hint="choose another name", exit=BAD_DATA)


def _taken_by(name: str) -> str:
    """What of pflow's own has this name: `pflow NAME` would be that, and never the flow."""
    own = {
        "a command": [*names_in("commands"), "help", "flow"],
        "a node": bundled_names(),
        "a tool": tool_names(),
    }
    return next((kind for kind, names in own.items() if name in map(plain, names)), "")


def library_folder() -> str:
    """Where saved flows are. Raises PflowError (78) where the environment names no place."""
    folder = data_directory("flows")
    if folder is None:
        what = "cannot find the place of saved flows: neither XDG_DATA_HOME nor HOME names one"
        raise PflowError(what, hint="set HOME", exit=BAD_CONFIG)
    return folder


def file_of(name: str) -> str:
    return os.path.join(library_folder(), name + SUFFIX)


def saved_name(type: str, directory: str) -> str:
    """The saved flow that a step's type means: `flow:NAME`, or a path, from `directory` where it is relative.

    Empty for any other type. Raises PflowError as `library_folder` does.
    """
    if type.startswith("flow:"):
        return type.removeprefix("flow:")
    folder, file = os.path.split(os.path.abspath(os.path.join(directory, type)))
    return flow_name(file) if folder == os.path.abspath(library_folder()) else ""
