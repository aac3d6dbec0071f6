"""The block in a start-up file of zsh's that says where the completions are; only where it was asked for."""

from __future__ import annotations

import os
import shlex

from pflow.atomic import replace
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.setup.places import Places
    from pflow.setup.record import Record

ADD, REMOVE, KEEP, CHANGED = "add", "remove", "keep", "changed"

_BEGIN = "# >>> pflow setup (pflow setup --undo takes this block away)\n"
_END = "# <<< pflow setup\n"


def zshrc_path() -> str:
    """The start-up file of an interactive zsh. Raises PflowError (78) where the environment names none."""
    home = os.environ.get("ZDOTDIR") or os.environ.get("HOME", "")
    if not os.path.isabs(home):
        raise PflowError("cannot find .zshrc: HOME is not set", exit=BAD_CONFIG)
    return os.path.join(home, ".zshrc")


def fpath_line(places: Places) -> str:
    return f"fpath=({shlex.quote(places.folder('zsh'))} $fpath)"


def starts_completion(text: str) -> bool:
    """Whether a start-up file does so itself: then our line has only to come before."""
    return "compinit" in text


def find_change(places: Places, record: Record, path: str | None) -> str:
    """What becomes of the start-up file: ADD, KEEP, CHANGED (somebody edited the block), or nothing."""
    if path is None:
        return ""
    if not record.zshrc:
        return KEEP if fpath_line(places) in _read(path) else _addable(path)
    path = record.zshrc["path"]
    if record.zshrc["block"] in _read(path):
        return KEEP
    return CHANGED if _BEGIN in _read(path) else _addable(path)


def _addable(path: str) -> str:
    """ADD. Raises PflowError (73) where the file's directory is not there, for --undo does not know of one."""
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise PflowError(f"cannot write '{path}': its directory is not there", exit=CANNOT_WRITE)
    return ADD


def plan(places: Places, record: Record, path: str) -> None:
    """Note in the record what is about to be added."""
    start = "" if starts_completion(_read(path)) else "autoload -Uz compinit && compinit\n"
    block = f"{_BEGIN}{fpath_line(places)}\n{start}{_END}"
    record.zshrc = {"path": path, "block": block, "made": not os.path.exists(path)}


def add(record: Record) -> None:
    """Put the block where it comes before everything that starts completion: at the top."""
    path = record.zshrc["path"]
    _write(path, record.zshrc["block"] + _read(path))


def find_removal(record: Record) -> str:
    if not record.zshrc:
        return ""
    text = _read(record.zshrc["path"])
    if record.zshrc["block"] in text:
        return REMOVE
    return CHANGED if _BEGIN in text else ""


def remove(record: Record) -> None:
    """Take the block out again; a file that was made for it goes with it."""
    path = record.zshrc["path"]
    rest = _read(path).replace(record.zshrc["block"], "", 1)
    if rest or not record.zshrc.get("made"):
        _write(path, rest)
    else:
        os.unlink(os.path.realpath(path))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _write(path: str, text: str) -> None:
    replace(path, text.encode("utf-8", "surrogateescape"), mode=0o644)
