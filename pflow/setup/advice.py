"""What a user still has to do so that man and the shells find what was put below a prefix."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from pflow.errors import PflowError
from pflow.setup.places import Places
from pflow.setup.zshrc import read_zshrc, zshrc_lines, zshrc_path

_SYSTEM = ("/usr/local/share", "/usr/share")
_LOADERS = [f"{each}/bash-completion/bash_completion" for each in ("/usr/share", "/usr/local/share", "/opt/homebrew")]

Advice = tuple[str, list[str]]
"""The file, and the lines that it needs."""


def advise(places: Places) -> dict[str, Advice | None]:
    """For man and each shell that is installed, what its user has to add; None where it finds everything by itself."""
    finders = {"man": _man, "bash": _bash, "zsh": _zsh, "fish": _fish}
    return {program: find(places) for program, find in finders.items() if shutil.which(program)}


def _man(places: Places) -> Advice | None:
    share, pages = str(places.share), str(places.folder("man"))
    listed = os.environ.get("MANPATH", "").split(":")
    is_beside_path = share.endswith("/share") and f"{share[:-6]}/bin" in os.environ.get("PATH", "").split(":")
    # An empty entry is where man looks by itself: man-db also into the share/man beside a bin/ on PATH.
    is_default = "" in listed and (share in _SYSTEM or (is_beside_path and shutil.which("manpath")))
    if pages in listed or is_default:
        return None
    return "your shell's profile", [f"export MANPATH={shlex.quote(':'.join([pages, *listed]))}"]


def _bash(places: Places) -> Advice | None:
    loader = next(filter(os.path.isfile, _LOADERS), None)
    if loader is None:
        return "~/.bashrc", [f". {shlex.quote(str(places.folder('bash') / 'pflow'))}"]
    lines = [] if _loads_completion() else [f". {loader}"]
    is_searched = places.is_users and not os.environ.get("BASH_COMPLETION_USER_DIR")
    if not is_searched and str(places.share) not in _data_directories():
        others = f'"${{XDG_DATA_DIRS:-{":".join(_SYSTEM)}}}"'
        lines.append(f"export XDG_DATA_DIRS={shlex.quote(str(places.share))}:{others}")
    return ("~/.bashrc", lines) if lines else None


def _loads_completion() -> bool:
    """Whether a new bash loads bash-completion, as far as its start-up files name it."""
    texts = [_text(file) for file in ("/etc/bash.bashrc", "/etc/bashrc", os.path.expanduser("~/.bashrc"))]
    return any("bash_completion" in line.partition("#")[0] for text in texts for line in text.split("\n"))


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _zsh(places: Places) -> Advice | None:
    if str(places.share) in _SYSTEM or str(places.folder("zsh")) in os.environ.get("FPATH", "").split(":"):
        return None
    try:
        text = read_zshrc(zshrc_path())
    except (PflowError, OSError):
        text = ""
    lines = zshrc_lines(places, text)
    before = ", before compinit" * (len(lines) == 1)
    return (f"{os.environ.get('ZDOTDIR') or '~'}/.zshrc{before}", lines) if lines else None


def _fish(places: Places) -> Advice | None:
    is_named = "XDG_DATA_DIRS" in os.environ and str(places.share) in _data_directories()
    if places.is_users or str(places.share) == "/usr/share" or is_named:
        return None
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    file = f"{places.folder('fish')}/pflow.fish".replace("\\", "\\\\").replace("'", "\\'")
    return f"{config}/fish/config.fish", [f"source '{file}'"]


def _data_directories() -> list[str]:
    """Where shared data is, as XDG says."""
    listed = [os.path.normpath(each) for each in os.environ.get("XDG_DATA_DIRS", "").split(":") if each]
    return listed or list(_SYSTEM)
