"""Where man and the shells look below a prefix, what is put there, and what a user still has to do."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pflow.atomic import replace
from pflow.catalog.kinds import PROGRAM, PYTHON, list_kinds
from pflow.completion.names import LOADER
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, MISSING, USAGE, PflowError
from pflow.help.man import files as man_pages
from pflow.help.node import usage_of_node
from pflow.help.usage import Usage

FOLDERS = {
    "man": "man",
    "bash": "bash-completion/completions",
    "zsh": "zsh/site-functions",
    "fish": "fish/vendor_conf.d",
}
"""For each program, the directory below share/ that it reads."""

_PACKAGE = Path(__file__).parent.parent


@dataclass(frozen=True)
class Places:
    """A prefix's share directory; `is_users` says that programs look there for what is the user's own."""

    share: Path
    is_users: bool

    def folder(self, program: str) -> Path:
        return self.share / FOLDERS[program]

    @property
    def list_file(self) -> Path:
        """Where setup keeps the list of what it did."""
        return self.share / "pflow" / "setup.json"


def find_places(prefix: str | None) -> Places:
    """The places below a prefix; without one, XDG_DATA_HOME or ~/.local/share. Raises PflowError (2, 78)."""
    home, data = os.environ.get("HOME", ""), os.environ.get("XDG_DATA_HOME", "")
    users = data if os.path.isabs(data) else f"{home}/.local/share" if os.path.isabs(home) else ""
    is_found = users == data or not data  # bash and fish do not replace a relative XDG_DATA_HOME
    if prefix == "" or ":" in (prefix or ""):
        why = "it is empty" if not prefix else "MANPATH and XDG_DATA_DIRS end a directory at the :"
        raise PflowError(f"cannot use '{prefix}' as a prefix: {why}", hint="--prefix DIR", exit=USAGE)
    if prefix is None and not users:
        raise PflowError("cannot tell where to put things: HOME is not set", hint="--prefix DIR", exit=BAD_CONFIG)
    share = os.path.abspath(f"{os.path.expanduser(prefix)}/share" if prefix else users)
    return Places(Path(share), is_users=is_found and share == os.path.normpath(users))


def find_wanted() -> tuple[dict[str, bytes], list[str]]:
    """The files to put, by their names below share/, and why a node of the user's own has none.

    Raises PflowError (66) where pflow came without its pages.
    """
    files: dict[str, bytes] = {}
    left_out: list[str] = []
    for usage in _own_usages(left_out):
        for name, text in man_pages([usage]).items():
            files[f"{FOLDERS['man']}/man1/{name}"] = text.encode("utf-8", "replace")
        files[f"{FOLDERS['bash']}/{usage.name}"] = LOADER.format(name=usage.name).encode()
    return files | _bundled(), left_out  # a name of pflow's is never another's


def _own_usages(left_out: list[str]) -> Iterator[Usage]:
    """How each of the user's own nodes is used; those without an interface are left out."""
    for kind in list_kinds():
        if kind.origin not in (PYTHON, PROGRAM):
            continue
        try:
            interface = kind.interface
            fault = (interface.fault or "it has no interface") if interface.open else ""
        except PflowError as error:
            fault = error.message
        if fault:
            left_out.append(f"'{kind.name}' is left out: {fault}")
        else:
            yield usage_of_node(kind.name, interface)


def _bundled() -> dict[str, bytes]:
    """What an installation has in pflow/share/, and a checkout at its top."""
    root = _PACKAGE / "share" if (_PACKAGE / "share").is_dir() else _PACKAGE.parent
    sources = {"man": root / "man"} | {shell: root / "completions" / shell for shell in ("bash", "zsh", "fish")}
    files = {
        f"{FOLDERS[program]}/{file.relative_to(source)}": file.read_bytes()
        for program, source in sources.items()
        for file in sorted(source.rglob("*"))
        if file.is_file()
    }
    if not files:
        raise PflowError(f"cannot find the man pages and completions in '{root}'", hint="make generate", exit=MISSING)
    return files


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
