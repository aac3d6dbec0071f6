"""Changed files of a repository: what `git status` and `git diff` print, as data and as text."""

from __future__ import annotations

from pflow import Any
from pflow.kit.git.program import Git, Word
from pflow.text.printable import clean
from pflow.values.jsontext import text_or_bytes

_CHANGES = {
    "M": "modified",
    "T": "type changed",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "U": "conflicted",
}
_SHORT = 10


def find_status(git: Git) -> dict[str, Any]:
    """Return the branch, its commit and upstream, and each changed or untracked file."""
    words = ("status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignore-submodules=none", "-z")
    entries = iter(git.run(*words).split(b"\0"))
    headers: dict[str, str] = {}
    files: list[dict[str, Any]] = []
    for entry in entries:
        kind, _, rest = entry.partition(b" ")
        if kind == b"#":
            name, _, value = rest.decode("utf-8", "replace").partition(" ")
            headers[name] = value
        elif kind == b"?":
            files.append(_file(rest, untracked=True))
        elif kind == b"u":
            files.append(_file(rest.split(b" ", 9)[9], conflicted=True))
        elif kind in (b"1", b"2"):
            fields = rest.split(b" ", 7 if kind == b"1" else 8)
            files.append(_file(fields[-1], next(entries) if kind == b"2" else None, fields[0].decode()))
    branch, commit, upstream, counts = (headers.get(f"branch.{name}") for name in ("head", "oid", "upstream", "ab"))
    ahead, behind = map(int, counts.split(" ")) if counts else (None, None)
    return {
        "branch": None if branch == "(detached)" else branch,
        "commit": None if commit == "(initial)" else commit,
        "upstream": upstream,
        "ahead": ahead,
        "behind": None if behind is None else -behind,
        "files": files,
    }


def _file(
    path: bytes, origin: bytes | None = None, letters: str = "..", *, untracked: bool = False, conflicted: bool = False
) -> dict[str, Any]:
    staged, unstaged = (None if letter == "." else _CHANGES.get(letter, letter) for letter in letters)
    about = {"staged": staged, "unstaged": unstaged, "untracked": untracked, "conflicted": conflicted}
    return _paths(path, origin) | about


def _paths(path: bytes, origin: bytes | None) -> dict[str, Any]:
    return {"path": text_or_bytes(path), "from": None if origin is None else text_or_bytes(origin)}


def status_text(found: dict[str, Any]) -> str:
    """Format the status for people and models: the branch, then a line for each file."""
    at = f"at {found['commit'][:_SHORT]}" if found["commit"] else "without a commit"
    lines = [f"branch {found['branch']}, {at}" if found["branch"] else f"no branch, {at}"]
    if found["upstream"]:
        counts = f"{found['ahead']} ahead, {found['behind']} behind" if found["ahead"] is not None else "gone"
        lines[0] += f"; upstream {found['upstream']}: {counts}"
    for file in found["files"]:
        name = _name(file)
        for what in ("staged", "unstaged"):
            lines += [f"{what}: {file[what]} {name}"] if file[what] else []
        lines += [f"{what}: {name}" for what in ("untracked", "conflicted") if file[what]]
    return "\n".join(lines if found["files"] else [*lines, "clean"]) + "\n"


def shown(path: str | bytes) -> str:
    """Make a path printable on one line."""
    return clean(path if isinstance(path, str) else path.decode("utf-8", "backslashreplace"))


_OPTIONS = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=untracked")


def find_changes(git: Git, selected: list[Word]) -> list[dict[str, Any]]:
    """List the changed files: the kind of change, the old path, the lines (null for a binary file or a conflict)."""
    git.run("rev-parse", "--git-dir")  # fails outside a repository, where git diff would compare any two files
    fields = iter(git.run(*_OPTIONS, "--raw", "--numstat", "-z", *selected).split(b"\0"))
    found: dict[bytes, dict[str, Any]] = {}
    for field in fields:
        if field.startswith(b":"):
            letters = field.rsplit(b" ", 1)[1].decode()
            is_merged = field.startswith(b"::")  # a merge has a letter for each side, and no path of origin
            path = next(fields)
            origin = path if letters[0] in "RC" and not is_merged else None
            path = path if origin is None else next(fields)
            letter = "U" if is_merged else letters[0]
            about = {"change": _CHANGES.get(letter, letter), "added": None, "deleted": None}
            found.setdefault(path, _paths(path, origin) | about)  # git lists a conflict first, then one of its sides
        elif field:
            added, deleted, path = field.split(b"\t", 2)
            if not path:
                next(fields)
                path = next(fields)
            if added != b"-" and found[path]["change"] != "conflicted":
                found[path] |= {"added": int(added), "deleted": int(deleted)}
    return list(found.values())


def find_patch(git: Git, selected: list[Word]) -> str:
    """Return the patch; a byte that is not UTF-8 becomes U+FFFD."""
    return git.run(*_OPTIONS, "--patch", *selected).decode("utf-8", "replace")


def stat_text(changes: list[dict[str, Any]]) -> str:
    """Format the changes, a line for each file."""
    return "".join(f"{_name(each)} | {_size(each)}\n" for each in changes)


def _name(change: dict[str, Any]) -> str:
    path = shown(change["path"])
    return path if change["from"] is None else f"{shown(change['from'])} -> {path}"


def _size(change: dict[str, Any]) -> str:
    if change["added"] is not None:
        return f"{change['change']}, +{change['added']} -{change['deleted']}"
    return "conflicted" if change["change"] == "conflicted" else f"{change['change']}, binary"
