"""What a user still has to do for man and the shells to find what was put below a prefix: nothing, or which line."""

from __future__ import annotations

import os
import shlex
import shutil

from pflow.setup.startup import fpath_line, starts_completion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pflow.setup.places import Places

    Advice = tuple[str, list[str]]
    """What to do, and the lines for it."""

_SYSTEM = ("/usr/local/share", "/usr/share")
_BASH_COMPLETION = ("/usr/share", "/usr/local/share", "/opt/homebrew/share", "/etc")


def advise(places: Places) -> list[tuple[str, Advice | None]]:
    """For man and for each shell that is installed, what its user has to add; None where it finds all by itself."""
    return [(program, find(places)) for program, find in _FINDERS.items() if shutil.which(program)]


def _man(places: Places) -> Advice | None:
    pages = places.folder("man")
    if ":" in pages:
        return "take another --prefix: a ':' ends the name of a directory in MANPATH.", []
    listed = os.environ.get("MANPATH", "")
    if pages in listed.split(":"):
        return None
    is_extended = "" in listed.split(":")
    if is_extended and shutil.which("manpath") and _is_beside_path(places.share):
        return None
    if is_extended and places.share in _SYSTEM:
        return None
    return "add to your shell's profile:", [f"export MANPATH={shlex.quote(f'{pages}:{listed}')}"]


def _bash(places: Places) -> Advice | None:
    folder = places.folder("bash")
    loaders = [f"{each}/bash-completion/bash_completion" for each in _BASH_COMPLETION]
    loader = next(filter(os.path.isfile, loaders), None)
    if ":" in places.share or loader is None:
        return "add to ~/.bashrc:", [f'for each in {shlex.quote(folder)}/pflow*; do . "$each"; done']
    lines = [] if _is_loaded_by_bash() else [f". {loader}"]
    is_searched = places.is_users and not os.environ.get("BASH_COMPLETION_USER_DIR")
    if not is_searched and places.share not in _data_directories():
        others = f'"${{XDG_DATA_DIRS:-{":".join(_SYSTEM)}}}"'
        lines.append(f"export XDG_DATA_DIRS={shlex.quote(places.share)}:{others}")
    return ("add to ~/.bashrc:", lines) if lines else None


def _is_loaded_by_bash() -> bool:
    """Whether a new bash loads bash-completion, as far as its start-up files name it."""
    files = ["/etc/bash.bashrc", "/etc/bashrc", os.path.expanduser("~/.bashrc")]
    lines = "\n".join(map(_text, files)).split("\n")
    return any("bash_completion" in line.partition("#")[0] for line in lines)


def _zsh(places: Places) -> Advice | None:
    folder = places.folder("zsh")
    if places.share in _SYSTEM or folder in os.environ.get("FPATH", "").split(":"):
        return None
    text = _zshrc()
    if fpath_line(places) in text:
        return None
    if starts_completion(text):
        return f"add to {_zshrc_name()}, before compinit:", [fpath_line(places)]
    return f"add to {_zshrc_name()}:", [fpath_line(places), "autoload -Uz compinit && compinit"]


def _fish(places: Places) -> Advice | None:
    if places.is_users or places.share == "/usr/share":
        return None
    if "XDG_DATA_DIRS" in os.environ and places.share in _data_directories():
        return None
    from pflow.docs.completion.fish import quote

    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return f"add to {config}/fish/config.fish:", [f"set -p fish_complete_path {quote(places.folder('fish'))}"]


_FINDERS: dict[str, Callable[[Places], Advice | None]] = {"man": _man, "bash": _bash, "zsh": _zsh, "fish": _fish}


def _data_directories() -> list[str]:
    """Where shared data is, as XDG says."""
    listed = [each for each in os.environ.get("XDG_DATA_DIRS", "").split(":") if each]
    return [os.path.normpath(each) for each in listed] or list(_SYSTEM)


def _is_beside_path(share: str) -> bool:
    """Whether the bin/ beside it is on PATH, letter for letter: man-db looks into the share/man beside such a one."""
    prefix, name = os.path.split(share)
    if prefix == "/opt":
        return False  # its own table names another place for that
    return name == "share" and os.path.join(prefix, "bin") in os.environ.get("PATH", "").split(":")


def _zshrc_name() -> str:
    directory = os.environ.get("ZDOTDIR") or "~"
    return f"{directory}/.zshrc"


def _zshrc() -> str:
    from pflow.errors import PflowError
    from pflow.setup.startup import zshrc_path

    try:
        return _text(zshrc_path())
    except PflowError:
        return ""


def _text(file: str) -> str:
    """What a start-up file holds; nothing where it cannot be read."""
    try:
        with open(file, encoding="utf-8", errors="replace") as source:
            return source.read()
    except OSError:
        return ""
