"""The block in .zshrc that tells zsh where the completions are; setup adds it only with --zshrc."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from pflow.atomic import replace
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, PflowError
from pflow.setup.places import Places

_BEGIN = "# >>> pflow setup (pflow setup --undo takes this block away)"
_END = "# <<< pflow setup"


def zshrc_path() -> Path:
    """The start-up file of an interactive zsh. Raises PflowError (78) where the environment names no directory."""
    home = os.environ.get("ZDOTDIR") or os.environ.get("HOME", "")
    if not os.path.isabs(home):
        raise PflowError("cannot find .zshrc: HOME is not set", exit=BAD_CONFIG)
    return Path(home, ".zshrc")


def read_zshrc(path: Path) -> str:
    """The text of a start-up file, empty where there is no file; surrogates stand for bytes that are not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""


def zshrc_lines(places: Places, text: str) -> list[str]:
    """The lines that a start-up file with this text lacks."""
    line = f"fpath=({shlex.quote(str(places.folder('zsh')))} $fpath)"
    start = [] if "compinit" in text else ["autoload -Uz compinit && compinit"]
    return [] if line in text else [line, *start]


def find_block(places: Places, path: Path) -> str:
    """The block that is to be added; empty where the file lacks nothing. Raises PflowError (73)."""
    lines = zshrc_lines(places, read_zshrc(path))
    if lines and not path.resolve().parent.is_dir():
        raise PflowError(f"cannot write '{path}': its directory does not exist", exit=CANNOT_WRITE)
    return "\n".join([_BEGIN, *lines, _END, ""]) if lines else ""


def add_block(path: Path, block: str) -> None:
    """Put the block at the top, before everything that may start completion."""
    _write(path, block + read_zshrc(path))


def remove_block(path: Path, block: str, *, was_made: bool) -> None:
    """Take the block out. A file that was made for it goes when nothing else is in it."""
    rest = read_zshrc(path).replace(block, "", 1)
    if rest or not was_made:
        _write(path, rest)
    else:
        path.resolve().unlink()


def _write(path: Path, text: str) -> None:
    replace(str(path), text.encode("utf-8", "surrogateescape"), mode=0o644)
