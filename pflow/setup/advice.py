"""What a user still has to do so that man and the shells find what was put below a prefix."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pflow.errors import PflowError
from pflow.setup.places import Places
from pflow.setup.zshrc import read_zshrc, zshrc_lines, zshrc_path

_SYSTEM = ("/usr/local/share", "/usr/share")
_LOADERS = [
    f"{each}/bash-completion/bash_completion"
    for each in ("/usr/share", "/usr/local/share", "/opt/homebrew/share", "/etc")
]


@dataclass
class Advice:
    """What to do, and the lines for it."""

    what: str
    lines: list[str]


def advise(places: Places) -> dict[str, Advice | None]:
    """For man and each shell that is installed, what its user has to add; None where it finds everything by itself."""
    return {program: find(places) for program, find in _FINDERS.items() if shutil.which(program)}


def _man(places: Places) -> Advice | None:
    pages, listed = str(places.folder("man")), os.environ.get("MANPATH", "")
    if ":" in pages:
        return Advice("take another --prefix: a ':' ends the name of a directory in MANPATH.", [])
    is_extended = "" in listed.split(":")  # then man looks where it would without MANPATH, too
    is_default = str(places.share) in _SYSTEM or (shutil.which("manpath") and _is_beside_path(places.share))
    if pages in listed.split(":") or (is_extended and is_default):
        return None
    return Advice("add to your shell's profile:", [f"export MANPATH={shlex.quote(f'{pages}:{listed}')}"])


def _is_beside_path(share: Path) -> bool:
    """Whether the bin/ beside it is on PATH: man-db looks into the share/man beside such a one, except in /opt."""
    bin = str(share.parent / "bin")
    return share.name == "share" and bin != "/opt/bin" and bin in os.environ.get("PATH", "").split(":")


def _bash(places: Places) -> Advice | None:
    loader = next(filter(os.path.isfile, _LOADERS), None)
    if loader is None or ":" in str(places.share):
        return Advice("add to ~/.bashrc:", [f". {shlex.quote(str(places.folder('bash') / 'pflow'))}"])
    lines = [] if _loads_completion() else [f". {loader}"]
    is_searched = places.is_users and not os.environ.get("BASH_COMPLETION_USER_DIR")
    if not is_searched and str(places.share) not in _data_directories():
        others = f'"${{XDG_DATA_DIRS:-{":".join(_SYSTEM)}}}"'
        lines.append(f"export XDG_DATA_DIRS={shlex.quote(str(places.share))}:{others}")
    return Advice("add to ~/.bashrc:", lines) if lines else None


def _loads_completion() -> bool:
    """Whether a new bash loads bash-completion, as far as its start-up files name it."""
    texts = [_text(file) for file in ("/etc/bash.bashrc", "/etc/bashrc", os.path.expanduser("~/.bashrc"))]
    return any("bash_completion" in line.partition("#")[0] for text in texts for line in text.split("\n"))


def _zsh(places: Places) -> Advice | None:
    if str(places.share) in _SYSTEM or str(places.folder("zsh")) in os.environ.get("FPATH", "").split(":"):
        return None
    try:
        text = read_zshrc(zshrc_path())
    except (PflowError, OSError):
        text = ""
    lines = zshrc_lines(places, text)
    before = ", before compinit" * (len(lines) == 1)
    return Advice(f"add to {os.environ.get('ZDOTDIR') or '~'}/.zshrc{before}:", lines) if lines else None


def _fish(places: Places) -> Advice | None:
    is_named = "XDG_DATA_DIRS" in os.environ and str(places.share) in _data_directories()
    if places.is_users or str(places.share) == "/usr/share" or is_named:
        return None
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    file = f"{places.folder('fish')}/pflow.fish".replace("\\", "\\\\").replace("'", "\\'")
    return Advice(f"add to {config}/fish/config.fish:", [f"source '{file}'"])


def _data_directories() -> list[str]:
    """Where shared data is, as XDG says."""
    listed = [os.path.normpath(each) for each in os.environ.get("XDG_DATA_DIRS", "").split(":") if each]
    return listed or list(_SYSTEM)


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


_FINDERS: dict[str, Callable[[Places], Advice | None]] = {"man": _man, "bash": _bash, "zsh": _zsh, "fish": _fish}
