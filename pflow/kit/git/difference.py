"""What `git diff` finds: each file that differs, as data, and the patch or a line a file as text."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.kit.git.status import change_of, shown
from pflow.values.jsontext import text_or_bytes

if TYPE_CHECKING:
    from typing import Any

    from pflow.kit.git.program import Git, Word

_OPTIONS = ("diff", "--no-color", "--no-ext-diff", "--no-textconv")


def find_changes(git: Git, selected: list[Word]) -> list[dict[str, Any]]:
    """Each file that differs: how, from which path, and how many lines; null where it is binary, or in conflict."""
    git.run("rev-parse", "--git-dir")  # without a repository git diff would compare any two files
    fields = iter(git.run(*_OPTIONS, "--raw", "--numstat", "-z", *selected).split(b"\0"))
    found: dict[bytes, dict[str, Any]] = {}
    for field in fields:
        if field.startswith(b":"):
            letters = field.rsplit(b" ", 1)[1].decode()
            is_merged = field.startswith(b"::")  # letters for each side of a conflict
            path = next(fields)
            origin = path if letters[0] in "RC" and not is_merged else None
            path = path if origin is None else next(fields)
            letter = "U" if is_merged else letters[0]
            found.setdefault(path, _change(path, origin, letter))  # a conflict comes first, then one side of it
        elif field:
            added, deleted, path = field.split(b"\t", 2)
            if not path:
                next(fields)
                path = next(fields)
            found[path] |= {} if found[path]["change"] == "conflicted" else _lines(added, deleted)
    return list(found.values())


def _change(path: bytes, origin: bytes | None, letter: str) -> dict[str, Any]:
    paths = {"path": text_or_bytes(path), "from": None if origin is None else text_or_bytes(origin)}
    return {**paths, "change": change_of(letter), "added": None, "deleted": None}


def _lines(added: bytes, deleted: bytes) -> dict[str, Any]:
    return {} if added == b"-" else {"added": int(added), "deleted": int(deleted)}


def find_patch(git: Git, selected: list[Word]) -> str:
    """The patch; a byte that is not UTF-8 is shown as U+FFFD."""
    words = ("-c", "core.quotePath=false", *_OPTIONS, "--patch")
    return git.run(*words, *selected).decode("utf-8", "replace")


def stat_text(changes: list[dict[str, Any]]) -> str:
    """A line a file."""
    return "".join(f"{_name(each)} | {_size(each)}\n" for each in changes)


def _name(change: dict[str, Any]) -> str:
    path = shown(change["path"])
    return path if change["from"] is None else f"{shown(change['from'])} -> {path}"


def _size(change: dict[str, Any]) -> str:
    if change["added"] is not None:
        return f"{change['change']}, +{change['added']} -{change['deleted']}"
    return "conflicted" if change["change"] == "conflicted" else f"{change['change']}, binary"
