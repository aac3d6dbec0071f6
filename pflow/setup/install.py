"""Writing the files below a prefix and taking them away, by a list of what was written."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pflow import __version__
from pflow.atomic import replace
from pflow.errors import BAD_DATA, CANNOT_WRITE, DENIED, PflowError, exit_code
from pflow.setup import zshrc
from pflow.setup.places import Places

WRITE, UPDATE, REMOVE, KEEP, FOUND, CHANGED = "write", "update", "remove", "keep", "found", "changed"
"""What becomes of a file: it is new, another version, no longer wanted, as it should be, so without setup having
written it, or left because somebody changed it."""
ADD = "add"
"""What becomes of .zshrc: setup adds a block; REMOVE, CHANGED and KEEP are as for files."""


@dataclass
class Record:
    """What setup did below a prefix.

    `files` are names below share/, each with the SHA-256 of what setup wrote, of an update that is under way also the
    older one. `directories` are those that it made. `zshrc` has the start-up file's path, the block, and whether the
    file was made for it.
    """

    files: dict[str, list[str]] = field(default_factory=dict)
    directories: list[str] = field(default_factory=list)
    zshrc: dict[str, Any] = field(default_factory=dict)


@dataclass
class Report:
    """What was done, or would be: to files by their names below share/, and to the start-up file of zsh."""

    files: dict[str, str]
    zshrc: str = ""
    zshrc_path: Path = Path()


def install(places: Places, wanted: dict[str, bytes], rc: Path | None, *, is_dry: bool = False) -> Report:
    """Make the prefix hold the wanted files; with `rc`, tell zsh in that file. Raises PflowError (65, 73, 77)."""
    try:
        record = _read_record(places)
        is_first = not record.files
        report = Report(_find_changes(places, wanted, record), *_find_zshrc(places, record, rc))
        if is_dry:
            return report
        try:
            _install(places, wanted, record, report)
        except OSError:
            if is_first:
                _uninstall(places, record)
            raise
        return report
    except OSError as error:
        raise _worded(error) from None


def uninstall(places: Places, *, is_dry: bool = False) -> Report | None:
    """Take away what the list names and nobody changed; None where there is no list. Raises PflowError (65, 73, 77)."""
    try:
        if not places.list_file.is_file():
            return None
        record = _read_record(places)
        if not is_dry:
            return _uninstall(places, record)
        path = Path(record.zshrc.get("path", ""))
        return Report(_find_removals(places, record, record.files), _zshrc_removal(record), path)
    except OSError as error:
        raise _worded(error) from None


def _find_changes(places: Places, wanted: dict[str, bytes], record: Record) -> dict[str, str]:
    """What becomes of each file. Raises PflowError (73) where files are in the way that setup did not write."""
    changes = {name: _change(places.share / name, data, record.files.get(name)) for name, data in wanted.items()}
    foreign = [name for name, change in changes.items() if not change]
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise PflowError(
            f"cannot write '{places.share / foreign[0]}'{more}: another file is there, which pflow setup did not write",
            hint="move it away, or take another --prefix; nothing was changed",
            exit=CANNOT_WRITE,
        )
    return changes | _find_removals(places, record, record.files.keys() - wanted)


def _change(path: Path, wanted: bytes, digests: list[str] | None) -> str:
    """What becomes of one file; empty where it is not setup's. `digests` are those that the list has."""
    if not os.path.lexists(path):
        return WRITE
    data = _data(path)
    if data == wanted:
        return KEEP if digests else FOUND
    if digests is None:
        return ""
    return UPDATE if _digest(data) in digests else CHANGED


def _find_removals(places: Places, record: Record, names: Any) -> dict[str, str]:
    """What becomes of files that are no longer wanted; those that are gone are not named."""
    paths = {name: places.share / name for name in sorted(names)}
    return {
        name: REMOVE if _digest(_data(path)) in record.files[name] else CHANGED
        for name, path in paths.items()
        if os.path.lexists(path)
    }


def _data(path: Path) -> bytes | None:
    """The bytes of a regular file; None for a link or anything else, which setup never wrote."""
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


def _digest(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()


def _find_zshrc(places: Places, record: Record, rc: Path | None) -> tuple[str, Path]:
    if rc is None:
        return "", Path()
    path = Path(record.zshrc.get("path", rc))
    return ADD if zshrc.find_block(places, path) else KEEP, path


def _install(places: Places, wanted: dict[str, bytes], record: Record, report: Report) -> None:
    """Write the list, the files, and the list without what was replaced: a kill leaves nothing unknown."""
    ours = [name for name, change in report.files.items() if change in (WRITE, UPDATE, KEEP)]
    for name in ours:
        record.files[name] = list(dict.fromkeys([_digest(wanted[name]), *record.files.get(name, [])]))
    if report.zshrc == ADD:
        block = zshrc.find_block(places, report.zshrc_path)
        record.zshrc = {"path": str(report.zshrc_path), "block": block, "made": not report.zshrc_path.exists()}
    for path in [places.list_file, *(places.share / name for name in ours)]:
        _make_directories(places, path.parent, record)
    _save(places, record)
    for name in ours:
        if report.files[name] != KEEP:
            replace(str(places.share / name), wanted[name], mode=0o644)
    if report.zshrc == ADD:
        zshrc.add_block(report.zshrc_path, record.zshrc["block"])
    _remove_files(places, record, report.files)
    for name in ours:
        del record.files[name][1:]
    _save(places, record)


def _make_directories(places: Places, directory: Path, record: Record) -> None:
    """Make a directory, which nobody else may write: zsh asks before it trusts any other."""
    if not directory.is_dir():
        _make_directories(places, directory.parent, record)
        directory.mkdir(mode=0o755)
        record.directories.append(os.path.relpath(directory, places.share))


def _uninstall(places: Places, record: Record) -> Report:
    files = _find_removals(places, record, record.files)
    report = Report(files, _zshrc_removal(record), Path(record.zshrc.get("path", "")))
    if report.zshrc == REMOVE:
        zshrc.remove_block(report.zshrc_path, record.zshrc["block"], was_made=record.zshrc["made"])
    places.list_file.unlink(missing_ok=True)
    _remove_files(places, record, files)
    return report


def _zshrc_removal(record: Record) -> str:
    if not record.zshrc:
        return ""
    return REMOVE if record.zshrc["block"] in zshrc.read_zshrc(Path(record.zshrc["path"])) else CHANGED


def _remove_files(places: Places, record: Record, changes: dict[str, str]) -> None:
    """Remove files, and the directories that setup made, as far as they are empty."""
    for name, change in changes.items():
        if change == REMOVE:
            (places.share / name).unlink()
            del record.files[name]
    paths = {name: os.path.normpath(places.share / name) for name in record.directories}
    for name in sorted(record.directories, key=lambda name: len(paths[name]), reverse=True):
        try:
            os.rmdir(paths[name])
        except OSError:
            continue
        record.directories.remove(name)


def _read_record(places: Places) -> Record:
    """The list, empty where there is no file. Raises PflowError (65) for a file that is no list of setup's."""
    try:
        text = places.list_file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Record()
    try:
        members = json.loads(text)
        record = Record(members["files"], members["directories"], members["zshrc"])
        is_inside = all(not os.path.isabs(name) and ".." not in Path(name).parts for name in record.files)
    except (ValueError, TypeError, KeyError):
        is_inside = False
    if not is_inside:
        hint = "it is pflow's own file: with it removed, nothing is known of an earlier setup"
        path = places.list_file
        raise PflowError(f"cannot read '{path}': it is no list of pflow setup", hint=hint, exit=BAD_DATA)
    return record


def _save(places: Places, record: Record) -> None:
    text = json.dumps({"by": f"pflow-shell {__version__}", **asdict(record)})
    replace(str(places.list_file), f"{text}\n", mode=0o600)


def _worded(error: OSError) -> PflowError:
    exit = exit_code(error)
    hint = "the same command goes on where this ended, and with --undo takes it back"
    what = f"cannot write '{os.fsdecode(error.filename)}'" if error.filename else "cannot write"
    reason = (error.strerror or str(error)).lower()
    return PflowError(f"{what}: {reason}", hint=hint, exit=exit if exit == DENIED else CANNOT_WRITE)
