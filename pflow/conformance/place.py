"""Where one run happens: a directory with the sample files, a home and a place for temporary files beside it."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN = {"work": "", "home": "$HOME/", "tmp": "$TMPDIR/"}
_PLACES = tuple(_SHOWN)
_DROPPED = ("PFLOW_NODE", "PFLOW_NODES", "PFLOW_TRACE", "TRACEPARENT", "LC_ALL")


def furnish(place: str, files: Mapping[str, str]) -> None:
    """Make the directories of a run, and the files in the one that it begins in."""
    for name in (*_PLACES, "xdg"):
        os.makedirs(os.path.join(place, name))
    for name, text in files.items():
        file = os.path.join(place, "work", name)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text)


def environment(place: str) -> dict[str, str]:
    """Ours, with a home and temporary directory in `place`; the settings of models stay what they are."""
    kept = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    config = kept.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    models = os.path.join(config, "io.datasette.llm")
    if "LLM_USER_PATH" not in kept and os.path.isdir(models):
        kept["LLM_USER_PATH"] = models
    if kept.get("LLM_USER_PATH"):
        kept["LLM_USER_PATH"] = os.path.abspath(kept["LLM_USER_PATH"])
    ours = [os.path.dirname(os.path.abspath(program)) for program in (sys.argv[0], sys.executable)]
    xdg = {f"XDG_{name}_HOME": os.path.join(place, "xdg") for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {
        **kept,
        **xdg,
        "PATH": os.pathsep.join([kept.get("PATH", os.defpath), *ours]),
        "HOME": os.path.join(place, "home"),
        "TMPDIR": os.path.join(place, "tmp"),
        "PWD": os.path.join(place, "work"),
    }


def remove(place: str) -> None:
    """Remove a directory, and what a node has locked in it."""
    shutil.rmtree(place, ignore_errors=True)
    for folder, folders, _ in os.walk(place):
        for name in folders:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(place, ignore_errors=True)


def snapshot(place: str) -> dict[str, str]:
    """Every file that a node could have touched, and what it is."""
    found = {}
    for top in _PLACES:
        for folder, folders, files in os.walk(os.path.join(place, top)):
            for name in [*folders, *files]:
                path = os.path.join(folder, name)
                found[_SHOWN[top] + os.path.relpath(path, os.path.join(place, top))] = _what(path)
    return found


def _what(path: str) -> str:
    mode = ""
    try:
        mode = f"{os.lstat(path).st_mode:o}"
        if not os.path.isfile(path) or os.path.islink(path):
            return mode
        with open(path, "rb") as file:
            return f"{mode} {hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError:  # it is gone again, or may not be read
        return mode
