"""Putting things in place and taking them away: what is about to be done is written down first."""

from __future__ import annotations

import os

from pflow.atomic import replace
from pflow.errors import CANNOT_WRITE, DENIED, PflowError, exit_code
from pflow.setup import changes as kinds
from pflow.setup import startup
from pflow.setup.changes import check_prefix, digest, find_changes, find_removals
from pflow.setup.drafts import sweep
from pflow.setup.held import held, remove_held
from pflow.setup.lists import absent, forget
from pflow.setup.places import RECORD
from pflow.setup.record import Record, read_record, record_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.setup.changes import Changes
    from pflow.setup.places import Places

_AGAIN = "the same command goes on where this ended, and with --undo takes it back"


class Report:
    """What was done, or would be: to the files (a kind of pflow.setup.changes each), and to a start-up file of zsh."""

    def __init__(self, files: dict[str, str], zshrc: str = "", zshrc_path: str = "") -> None:
        self.files = files
        self.zshrc = zshrc
        self.zshrc_path = zshrc_path


def put(places: Places, wanted: dict[str, bytes], zshrc: str | None, *, is_dry: bool = False) -> Report:
    """Make the prefix hold the wanted files; `zshrc` is a start-up file that zsh is told in. Raises PflowError."""
    try:
        check_prefix(places)
        if is_dry:
            record = read_record(places.path(RECORD)) or Record()
            changes = find_changes(places, wanted, record)
            return Report(changes.files, startup.find_change(places, record, zshrc), _zshrc_path(record, zshrc))
        find_changes(places, wanted, read_record(places.path(RECORD)) or Record())  # before anything is made
        with held(places, make=True):
            record = read_record(places.path(RECORD)) or Record()
            is_new = not record.files
            sweep(places, record)
            try:
                return _put(places, wanted, zshrc, record)
            except BaseException:
                if is_new:
                    _take_back(places)
                raise
    except OSError as error:
        raise _in_words(error) from None


def _put(places: Places, wanted: dict[str, bytes], zshrc: str | None, record: Record) -> Report:
    changes = find_changes(places, wanted, record)
    told = startup.find_change(places, record, zshrc)
    ours = changes.of(kinds.WRITE, kinds.UPDATE, kinds.KEEP)
    for name in ours:
        record.files[name] = list(dict.fromkeys([digest(wanted[name]), *record.files.get(name, [])]))
    record.directories += [name for name in changes.directories if name not in record.directories]
    record.lists += [path for path in absent() if path not in record.lists]
    if told == startup.ADD:
        startup.plan(places, record, _zshrc_path(record, zshrc))
    _save(places, record)
    for name in changes.directories:
        if not os.path.isdir(places.path(name)):
            os.mkdir(places.path(name), 0o755)  # zsh asks before it trusts one that others may write
    _write(places, wanted, changes)
    if told == startup.ADD:
        startup.add(record)
    _remove(places, changes.files, record)
    for name in ours:
        del record.files[name][1:]
    _save(places, record)
    return Report(changes.files, told, _zshrc_path(record, zshrc))


def _write(places: Places, wanted: dict[str, bytes], changes: Changes) -> None:
    """Write the files, many at a time: a disk is done with all that wait for it as soon as with one."""
    from concurrent.futures import ThreadPoolExecutor

    def write(name: str) -> None:
        replace(places.path(name), wanted[name], mode=0o644, overwrite=changes.files[name] == kinds.UPDATE)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, changes.of(kinds.WRITE, kinds.UPDATE)))


def _zshrc_path(record: Record, zshrc: str | None) -> str:
    return record.zshrc.get("path") or zshrc or ""


def take_away(places: Places, *, is_dry: bool = False) -> Report | None:
    """Take away what setup put below a prefix; None where that is nothing. Raises PflowError."""
    try:
        _check_removable(places)
        if is_dry:
            record = read_record(places.path(RECORD))
            return _would_go(places, record) if record else None
        with held(places, make=False) as is_there:
            record = read_record(places.path(RECORD)) if is_there else None
            return _take_away(places, record) if record else None
    except NotADirectoryError:
        return None
    except OSError as error:
        raise _in_words(error) from None


def _check_removable(places: Places) -> None:
    """Raise PflowError (73, 77) where the record cannot be taken away, or may not be looked for."""
    is_closed = os.path.isdir(places.home) and not os.access(places.home, os.X_OK)
    if is_closed or os.path.lexists(places.path(RECORD)):
        check_prefix(places)


def _would_go(places: Places, record: Record) -> Report:
    return Report(find_removals(places, record.files), startup.find_removal(record), _zshrc_path(record, None))


def _take_away(places: Places, record: Record) -> Report:
    sweep(places, record)
    report = _would_go(places, record)
    if report.zshrc == startup.REMOVE:
        startup.remove(record)
    _remove(places, report.files, record)
    forget(record.lists)
    remove_held(places, record)
    return report


def _remove(places: Places, files: dict[str, str], record: Record) -> None:
    """Remove files and then the directories that setup made for them, as far as they are empty."""
    for name, kind in files.items():
        if kind == kinds.REMOVE:
            os.unlink(places.path(name))
    for name in record.files.keys() - {name for name, kind in files.items() if kind != kinds.REMOVE}:
        del record.files[name]
    above = {".", os.path.dirname(RECORD)}
    for name in sorted(record.directories, key=len, reverse=True):
        if name in above or name.startswith(".."):
            continue
        try:
            os.rmdir(places.path(name))
        except FileNotFoundError:
            pass
        except OSError:
            continue
        record.directories.remove(name)


def _take_back(places: Places) -> None:
    """Undo what a first setup did until it failed, as far as that can be done."""
    try:
        record = read_record(places.path(RECORD))
        if record:
            _take_away(places, record)
    except (OSError, PflowError):
        pass


def _save(places: Places, record: Record) -> None:
    replace(places.path(RECORD), record_bytes(record), mode=0o600)


def _in_words(error: OSError) -> PflowError:
    exit = exit_code(error)
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    reason = (error.strerror or str(error)).lower()
    words = f"cannot write '{path}': {reason}" if path else f"cannot write: {reason}"
    return PflowError(words, hint=_AGAIN, exit=exit if exit == DENIED else CANNOT_WRITE)
