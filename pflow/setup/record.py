"""What setup did below a prefix, kept there: every file with its digest, every directory that it made."""

from __future__ import annotations

import os

from pflow import __version__
from pflow.errors import BAD_DATA, PflowError
from pflow.jsontext import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Record:
    """`files` are names below share/, each with the digests of what setup put there: the newest first.

    `directories` are those that setup made, relative to share/ too: `..` is the prefix. `zshrc` is what was added to a
    start-up file: its path, the block, whether the file was made for it. `lists` is what of TAB's lists was not there.
    """

    def __init__(self) -> None:
        self.files: dict[str, list[str]] = {}
        self.directories: list[str] = []
        self.zshrc: dict[str, Any] = {}
        self.lists: list[str] = []


def read_record(path: str) -> Record | None:
    """The record that a file holds; None where there is none. Raises PflowError (65) for what is no record, OSError."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return _checked(decode(data))
    except (ValueError, TypeError, KeyError):
        hint = "it is pflow's own file: with it removed, nothing is known of an earlier setup"
        raise PflowError(f"cannot read '{path}': it is no record of pflow setup", hint=hint, exit=BAD_DATA) from None


def record_bytes(record: Record) -> bytes:
    about = {"by": f"pflow-shell {__version__}", "files": record.files, "directories": record.directories}
    return encode({**about, "zshrc": record.zshrc, "lists": record.lists}) + b"\n"


def _checked(value: Any) -> Record:
    """A record, in which no name leads anywhere else. Raises ValueError, TypeError or KeyError."""
    record = Record()
    record.files = {_inside(name): [str(digest) for digest in digests] for name, digests in value["files"].items()}
    record.directories = [name if _is_above(name) else _inside(name) for name in value["directories"]]
    record.zshrc = dict(value["zshrc"])
    record.lists = list(map(str, value["lists"]))
    if record.zshrc and not (isinstance(record.zshrc["path"], str) and isinstance(record.zshrc["block"], str)):
        raise TypeError
    return record


def _inside(name: str) -> str:
    if os.path.isabs(name) or os.path.normpath(name) != name or name.split("/")[0] == "..":
        raise ValueError(name)
    return name


def _is_above(name: str) -> bool:
    return set(name.split("/")) == {".."}
