"""Writing the files below a prefix and taking them away, by a list of what was written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pflow import __version__
from pflow.atomic import replace
from pflow.errors import BAD_DATA, CANNOT_WRITE, DENIED, PflowError, exit_code
from pflow.setup.places import Places, add_block, find_block, read_zshrc, remove_block

WRITE, UPDATE, REMOVE, KEEP, FOUND, CHANGED = "write", "update", "remove", "keep", "found", "changed"
"""What becomes of a file: it is new, another version, no longer wanted, as it should be, so without setup having
written it, or left because somebody changed it. A block in .zshrc is new, as it should be, removed or left."""

_AGAIN = "the same command goes on where this ended, and with --undo takes it back"


@dataclass
class Report:
    """What was done, or would be: to files by their names below share/, and to the start-up file of zsh."""

    files: dict[str, str]
    zshrc: str
    zshrc_path: Path


@dataclass
class Installation:
    """What setup did below a prefix, as its list says.

    `files` are names below share/, each with the SHA-256 of what setup wrote; while an update is under way, also that
    of the older version. `directories` are those that it made. `zshrc` is the start-up file with its block, if any,
    and whether the file was made for it.
    """

    places: Places
    files: dict[str, list[str]] = field(default_factory=dict)
    directories: list[str] = field(default_factory=list)
    zshrc: str = ""
    block: str = ""
    is_zshrc_made: bool = False

    def put(self, wanted: dict[str, bytes], zshrc: Path | None, *, is_dry: bool = False) -> Report:
        """Make the prefix hold the wanted files; with `zshrc`, tell zsh in that file. Raises PflowError (73, 77)."""
        with _errors_in_words():
            path = Path(self.zshrc or zshrc or "")
            block = find_block(self.places, path) if zshrc else ""
            report = Report(self._changes(wanted), "" if not zshrc else WRITE if block else KEEP, path)
            is_first = not self.files
            if not is_dry:
                try:
                    self._write(wanted, report, block)
                except OSError:
                    if is_first:
                        self._remove_all()
                    raise
            return report

    def take_away(self, *, is_dry: bool = False) -> Report:
        """Remove what the list names and nobody changed. Raises PflowError (73, 77)."""
        with _errors_in_words():
            if not is_dry:
                return self._remove_all()
            return Report(self._removals(self.files), self._block_removal(), Path(self.zshrc))

    def _changes(self, wanted: dict[str, bytes]) -> dict[str, str]:
        """What becomes of each file. Raises PflowError (73) where files are in the way that setup did not write."""
        changes = {name: self._change(name, data) for name, data in wanted.items()}
        foreign = [name for name, change in changes.items() if not change]
        if foreign:
            more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
            path = self.places.share / foreign[0]
            raise PflowError(
                f"cannot write '{path}'{more}: another file is there, which pflow setup did not write",
                hint="move it away, or take another --prefix; nothing was changed",
                exit=CANNOT_WRITE,
            )
        return changes | self._removals(self.files.keys() - wanted)

    def _change(self, name: str, wanted: bytes) -> str:
        """What becomes of one file; empty where it is in the way."""
        path = self.places.share / name
        if not os.path.lexists(path):
            return WRITE
        digest = _digest_of(path)
        if digest == _digest(wanted):
            return KEEP if name in self.files else FOUND
        return UPDATE if digest in self.files.get(name, []) else CHANGED if name in self.files else ""

    def _removals(self, names: Iterable[str]) -> dict[str, str]:
        """What becomes of files that are no longer wanted; those that are gone are not named."""
        there = [name for name in sorted(names) if os.path.lexists(self.places.share / name)]
        return {name: REMOVE if _digest_of(self.places.share / name) in self.files[name] else CHANGED for name in there}

    def _write(self, wanted: dict[str, bytes], report: Report, block: str) -> None:
        """Save the list, write the files, save the list without older versions: a kill leaves nothing unknown."""
        ours = [name for name, change in report.files.items() if change in (WRITE, UPDATE, KEEP)]
        for name in ours:
            self.files[name] = list(dict.fromkeys([_digest(wanted[name]), *self.files.get(name, [])]))
        if block:
            path = report.zshrc_path
            self.zshrc, self.block, self.is_zshrc_made = str(path), block, not path.exists()
        for path in [self.places.list_file, *(self.places.share / name for name in ours)]:
            self._make_directory(path.parent)
        self._save()
        for name in ours:
            if report.files[name] != KEEP:
                replace(str(self.places.share / name), wanted[name], mode=0o644)
        if block:
            add_block(report.zshrc_path, block)
        self._remove(report.files)
        for name in ours:
            del self.files[name][1:]
        self._save()

    def _make_directory(self, directory: Path) -> None:
        """Make a directory that nobody else may write: zsh asks before it trusts any other."""
        if not directory.is_dir():
            self._make_directory(directory.parent)
            directory.mkdir(mode=0o755)
            self.directories.append(os.path.relpath(directory, self.places.share))

    def _remove_all(self) -> Report:
        report = Report(self._removals(self.files), self._block_removal(), Path(self.zshrc))
        if report.zshrc == REMOVE:
            remove_block(report.zshrc_path, self.block, was_made=self.is_zshrc_made)
        self.places.list_file.unlink(missing_ok=True)
        self._remove(report.files)
        return report

    def _block_removal(self) -> str:
        if not self.block:
            return ""
        return REMOVE if self.block in read_zshrc(Path(self.zshrc)) else CHANGED

    def _remove(self, changes: dict[str, str]) -> None:
        """Remove files, and the directories that setup made, as far as they are empty."""
        for name, change in changes.items():
            if change == REMOVE:
                (self.places.share / name).unlink()
                del self.files[name]
        paths = {name: os.path.normpath(self.places.share / name) for name in self.directories}
        for name in sorted(paths, key=lambda name: len(paths[name]), reverse=True):
            try:
                os.rmdir(paths[name])
            except OSError:
                continue
            self.directories.remove(name)

    def _save(self) -> None:
        members = {name: value for name, value in vars(self).items() if name != "places"}
        text = json.dumps({"by": f"pflow-shell {__version__}", **members})
        replace(str(self.places.list_file), f"{text}\n", mode=0o600)


def read_installation(places: Places) -> Installation | None:
    """What the list says; None where there is no list. Raises PflowError (65) for any other file."""
    path = places.list_file
    try:
        members = json.loads(path.read_bytes())
        del members["by"]
        installation = Installation(places, **members)
        if all(not os.path.isabs(name) and ".." not in Path(name).parts for name in installation.files):
            return installation
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    hint = "it is pflow's own file: with it removed, nothing is known of an earlier setup"
    raise PflowError(f"cannot read '{path}': pflow setup did not write it", hint=hint, exit=BAD_DATA)


def _digest_of(path: Path) -> str:
    """The digest of a regular file; empty for a link or anything else, which setup never wrote."""
    return _digest(path.read_bytes()) if path.is_file() and not path.is_symlink() else ""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextmanager
def _errors_in_words() -> Iterator[None]:
    """Raise PflowError (73, 77) for an OSError."""
    try:
        yield
    except OSError as error:
        what = f"cannot write '{os.fsdecode(error.filename)}'" if error.filename else "cannot write"
        exit = DENIED if exit_code(error) == DENIED else CANNOT_WRITE
        raise PflowError(f"{what}: {(error.strerror or str(error)).lower()}", hint=_AGAIN, exit=exit) from None
