"""Writing a file so that a failure leaves the old content whole, and adding to one: all of it or nothing."""

from __future__ import annotations

import errno
import os
import stat

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 20


def replace(path: str, data: str | bytes, *, mode: int = 0o666, overwrite: bool = True) -> None:
    """Make `data` all that `path`, or what it links to, holds; missing parents are made.

    A file that was there keeps its mode, its extended attributes and, where that is allowed, its owner; a new one gets
    `mode` minus the umask. Raises OSError, FileExistsError without `overwrite`, UnicodeEncodeError for a lone
    surrogate.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    missing = _missing_folders(folder)
    try:
        if missing:
            os.makedirs(folder)
        _put(target, data, mode, overwrite)
    except BaseException:
        _remove_folders(missing)
        raise
    _sync_folder(folder)


def append(path: str, data: bytes, *, mode: int = 0o666) -> None:
    """Add `data` to the end of a file in one write, or make the file; a write that fails is taken back.

    Processes that append through here take turns, so that none takes back what another wrote. Raises OSError.
    """
    if not os.path.exists(path):
        try:
            return replace(path, data, mode=mode, overwrite=False)
        except FileExistsError:
            pass
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        _lock(fd)
        _append_or_restore(fd, data)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Write to the last byte, however little each write takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _missing_folders(folder: str) -> list[str]:
    """A folder and those above it that are still to be made, the innermost first."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def _remove_folders(folders: list[str]) -> None:
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:
            continue  # it was never made, or it is in use


def _put(target: str, data: str | bytes, mode: int, overwrite: bool) -> None:
    old = _existing(target, overwrite)
    draft = os.path.join(os.path.dirname(target), f".pflow-{os.urandom(8).hex()}.tmp")
    try:
        _write(draft, data, mode, target, old)
        if overwrite:
            os.rename(draft, target)
        else:
            _take_name(draft, target)
    finally:
        _remove(draft)


def _existing(target: str, overwrite: bool) -> os.stat_result | None:
    """What is there. Raises OSError when it may not be overwritten: a rename would not ask for its permission."""
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    try:
        fd = os.open(target, os.O_WRONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(fd)
    finally:
        os.close(fd)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", target)
    return status


def _write(draft: str, data: str | bytes, mode: int, target: str, old: os.stat_result | None) -> None:
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if old else mode)
    try:
        for piece in _pieces(data):
            write_all(fd, piece)
        if old:
            _keep_attributes(fd, target)
            _keep_owner_and_mode(fd, old)
        os.fsync(fd)
    finally:
        os.close(fd)


def _pieces(data: str | bytes) -> Iterator[bytes]:
    """The bytes of `data`, without a second copy of a long text."""
    if isinstance(data, bytes):
        yield data
        return
    for at in range(0, len(data), _PIECE):
        yield data[at : at + _PIECE].encode()


def _keep_owner_and_mode(fd: int, old: os.stat_result) -> None:
    mode = stat.S_IMODE(old.st_mode)
    try:
        os.fchown(fd, old.st_uid, old.st_gid)
    except PermissionError:
        mode &= 0o777  # set-id bits would now speak for somebody else
    os.fchmod(fd, mode)


def _keep_attributes(fd: int, target: str) -> None:
    """Copy access lists and other extended attributes, as far as system and file system know them."""
    try:
        for name in os.listxattr(target):
            os.setxattr(fd, name, os.getxattr(target, name))
    except (AttributeError, OSError):
        return


def _take_name(draft: str, target: str) -> None:
    """Give a draft its name unless another file has it."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: claim the name first
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.rename(draft, target)


def _remove(draft: str) -> None:
    try:
        os.unlink(draft)
    except FileNotFoundError:
        return


def _sync_folder(folder: str) -> None:
    """Make a rename in it last through a power cut. A folder that we may write but not read cannot be asked."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that has nothing to do here
            raise
    finally:
        os.close(fd)


def _lock(fd: int) -> None:
    """Wait for our turn, where the file system has locks. Closing the file ends it."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        return


def _append_or_restore(fd: int, data: bytes) -> None:
    before = os.fstat(fd).st_size
    try:
        write_all(fd, data)
        os.fsync(fd)
    except BaseException:
        # More than ours is there when a process wrote that does not take turns.
        if before < os.fstat(fd).st_size <= before + len(data):
            os.ftruncate(fd, before)
        raise
