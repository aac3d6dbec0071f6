"""Writing files so that a failure leaves the old content whole, and the failpoints with which tests prove it."""

from __future__ import annotations

import errno
import os
import stat

from pflow import Callable

_PART = 1 << 20
"""Bytes that are copied at a time."""


def replace(path: str, data: str | bytes, *, mode: int = 0o666, overwrite: bool = True, lasts: bool = True) -> None:
    """Replace the content of a file, or of the file that `path` links to; make missing parents.

    An existing file keeps its mode and, if allowed, its owner; a new one gets `mode` minus the umask. Without `lasts`
    it does not wait for the disk, so a power cut may lose the file.
    Raises OSError, FileExistsError without `overwrite`, UnicodeEncodeError for a lone surrogate.
    """
    _fill(path, lambda fd: _write_data(fd, data), mode, overwrite=overwrite, lasts=lasts)


def copy(source: int, path: str, *, overwrite: bool = True) -> None:
    """Replace the content of `path` by that of an open file, as `replace` does, in little memory.

    A new file gets the source's mode minus the umask, without set-id bits.
    """
    _fill(path, lambda fd: _copy_all(source, fd), os.fstat(source).st_mode & 0o777, overwrite=overwrite)


def move(path: str, target: str, *, overwrite: bool = True) -> None:
    """Rename a file, or a link itself, over the target if need be; across file systems too.

    At each moment one of the two is there and whole. Raises OSError, FileExistsError without `overwrite`.
    """
    folder = os.path.dirname(target) or "."
    os.makedirs(folder, exist_ok=True)
    if not os.path.islink(target) or not overwrite:
        _existing(target, overwrite)
    try:
        if overwrite:
            os.rename(path, target)
        elif _take_name(path, target):
            os.unlink(path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _put(target, lambda draft: _duplicate(path, draft), overwrite=overwrite)
        os.unlink(path)
    _sync_folder(folder)


def append(path: str, data: bytes) -> None:
    """Append `data` to a file, or make the file; undo a write that fails.

    After kill -9 or a power cut a part may stay: no way of appending is atomic. Processes that append through here take
    turns, so that none undoes another's write. Raises OSError.
    """
    if not os.path.exists(path):
        try:
            return replace(path, data, overwrite=False)
        except FileExistsError:
            pass
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        take_turn(fd)
        _append_or_restore(fd, data)
    finally:
        os.close(fd)


def take_turn(fd: int) -> None:
    """Lock this file or directory until it is closed; wait while another process has it."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        pass  # a file system without locks


def open_private(path: str, flags: int = 0) -> int:
    """Open a file for writing, only for its owner; make it if it is missing."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    os.fchmod(fd, 0o600)
    return fd


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes, in as many writes as it takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _existing(target: str, overwrite: bool) -> os.stat_result | None:
    """Return the target's status. Raises OSError if it may not be overwritten, which a rename would not check."""
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    try:
        fd = os.open(target, os.O_WRONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    status = os.fstat(fd)
    os.close(fd)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", target)
    return status


def _fill(
    path: str, fill: Callable[[int], None], mode: int, *, overwrite: bool = True, lasts: bool = True
) -> None:  # fmt: skip
    """Replace the content of `path`, or of what it links to, by what `fill` writes to its descriptor."""
    target = os.path.realpath(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    old = _existing(target, overwrite)
    _put(target, lambda draft: _write(draft, fill, mode, old, lasts=lasts), overwrite=overwrite, lasts=lasts)


def _put(target: str, make: Callable[[str], None], *, overwrite: bool, lasts: bool = True) -> None:
    """Make a draft beside the target, then rename it."""
    folder = os.path.dirname(target) or "."
    draft = os.path.join(folder, f".pflow-{os.urandom(8).hex()}.tmp")
    try:
        make(draft)
        if overwrite:
            os.rename(draft, target)
        else:
            _take_name(draft, target)
    finally:
        if os.path.lexists(draft):
            os.unlink(draft)
    if lasts:
        _sync_folder(folder)


def _write(
    draft: str, fill: Callable[[int], None], mode: int, old: os.stat_result | None, *, lasts: bool
) -> None:  # fmt: skip
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if old else mode)
    try:
        fill(fd)
        if old:
            _keep_owner_and_mode(fd, old)
        if lasts:
            os.fsync(fd)
    finally:
        os.close(fd)


def _duplicate(path: str, draft: str) -> None:
    """Copy a file or link with its times, mode and, if allowed, owner."""
    import shutil

    if os.path.islink(path):
        os.symlink(os.readlink(path), draft)
        return
    source = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        status = os.fstat(source)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)

        def fill(fd: int) -> None:
            _copy_all(source, fd)
            shutil.copystat(path, draft)

        _write(draft, fill, 0o600, status, lasts=True)
    finally:
        os.close(source)


def _write_data(fd: int, data: str | bytes) -> None:
    """Write in parts, so that no second copy of a long text is held."""
    for at in range(0, len(data), _PART):
        part = data[at : at + _PART]
        write_all(fd, part.encode() if isinstance(part, str) else part)


def _copy_all(source: int, fd: int) -> None:
    while part := os.read(source, _PART):
        write_all(fd, part)


def _keep_owner_and_mode(fd: int, old: os.stat_result) -> None:
    mode = stat.S_IMODE(old.st_mode)
    try:
        os.fchown(fd, old.st_uid, old.st_gid)
    except PermissionError:
        mode &= 0o777  # set-id bits would give another user's rights
    os.fchmod(fd, mode)


def _take_name(draft: str, target: str) -> bool:
    """Give a file a name that is free; return True if the file still has its old name too."""
    try:
        os.link(draft, target, follow_symlinks=False)
        return True
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.EXDEV):
            raise
        # A file system without hard links: claim the name first.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        try:
            os.rename(draft, target)
        except OSError:
            os.unlink(target)
            raise
        return False


def _sync_folder(folder: str) -> None:
    """Make a rename in a folder survive a power cut, if the folder is readable and its file system can do that."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(fd)


def _append_or_restore(fd: int, data: bytes) -> None:
    before = os.fstat(fd).st_size
    try:
        write_all(fd, data)
        os.fsync(fd)
    except BaseException:
        # The file is longer if a process wrote without taking turns.
        if before < os.fstat(fd).st_size <= before + len(data):
            os.ftruncate(fd, before)
        raise


_NAME, *_HOW = os.environ.get("PFLOW_FAILPOINT", "").split(":")
_is_armed = bool(_NAME) and os.environ.get("PFLOW_TESTING") == "1"
_left = next((int(word) for word in _HOW if word.isdecimal()), 1)


def failpoint(name: str) -> None:
    """Kill this process here, or raise OSError (ENOSPC), if a test says so.

    PFLOW_FAILPOINT=NAME[:N] kills it (kill -9) at the Nth pass of the point NAME; NAME[:N]:enospc fills its disk there
    instead. A NAME that ends in `*` is any point with that beginning. It needs PFLOW_TESTING=1 too.
    """
    if _is_armed:
        _pass(name)


def _pass(name: str) -> None:
    global _left
    if name != _NAME and not (_NAME.endswith("*") and name.startswith(_NAME[:-1])):
        return
    _left -= 1
    if _left == 0 and "enospc" not in _HOW:
        os.kill(os.getpid(), 9)
    if _left <= 0:  # a full disk stays full
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
