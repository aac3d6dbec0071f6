"""Where man, bash, zsh and fish look below a prefix, and what is put there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pflow.catalog.kinds import PROGRAM, PYTHON, list_kinds
from pflow.completion.names import LOADER
from pflow.errors import BAD_CONFIG, MISSING, USAGE, PflowError
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
