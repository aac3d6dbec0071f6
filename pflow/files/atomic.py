"""Writing a file so that a failure leaves the old content whole, and adding to one so that it is taken back."""

from __future__ import annotations

import errno
import os
import stat

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PART = 1 << 20
"""Bytes that are copied at once."""


def replace(path: str, data: str | bytes, *, mode: int = 0o666, overwrite: bool = True, lasts: bool = True) -> None:
    """Make `data` all that `path`, or what it links to, holds; missing parents are made.

    A file that was there keeps its mode and, where that is allowed, its owner; a new one gets `mode` minus the umask.
    Without `lasts` a power cut may take it, sooner than it takes to wait for the disk.
    Raises OSError, FileExistsError without `overwrite`, UnicodeEncodeError for a lone surrogate.
    """
    _fill(path, lambda fd: _write_data(fd, data), mode, overwrite=overwrite, lasts=lasts)


def copy(source: int, path: str, *, overwrite: bool = True) -> None:
    """Make what an open file holds all that `path` holds, as `replace` does, in little memory.

    A new file gets the mode of the other minus the umask, without set-id bits.
    """
    _fill(path, lambda fd: _copy_all(source, fd), os.fstat(source).st_mode & 0o777, overwrite=overwrite)


def move(path: str, target: str, *, overwrite: bool = True) -> None:
    """Give a file, or a link itself, another name, in the place of what has it; on another file system too.

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


def append(path: str, data: bytes, *, mode: int = 0o666) -> None:
    """Add `data` to the end of a file, or make the file; a write that fails is taken back.

    Nobody takes back the part that kill -9 or a power cut left: there is no way to add to a file in one step.
    Processes that append through here take turns, so that none takes back what another wrote. Raises OSError.
    """
    if not os.path.exists(path):
        try:
            return replace(path, data, mode=mode, overwrite=False)
        except FileExistsError:
            pass
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        take_turn(fd)
        _append_or_restore(fd, data)
    finally:
        os.close(fd)


def take_turn(fd: int) -> None:
    """Wait until no other process has this file or directory; it is ours until it is closed."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        pass  # a file system without locks


def open_private(path: str, flags: int = 0) -> int:
    """A file to write to, made where it is not there, and ours alone."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    os.fchmod(fd, 0o600)
    return fd


def write_all(fd: int, data: bytes) -> None:
    """Write to the last byte, however little each write takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _existing(target: str, overwrite: bool) -> os.stat_result | None:
    """What is there. Raises OSError when it may not be overwritten: a rename would not ask for its permission."""
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
    """Replace what `path`, or what it links to, holds by what is written to the descriptor that `fill` is given."""
    target = os.path.realpath(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    old = _existing(target, overwrite)
    _put(target, lambda draft: _write(draft, fill, mode, old, lasts=lasts), overwrite=overwrite, lasts=lasts)


def _put(target: str, make: Callable[[str], None], *, overwrite: bool, lasts: bool = True) -> None:
    """Give a place in a directory what is made beside it, whole."""
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
    """The same file or link again: with its times, its mode and, where that is allowed, its owner."""
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
    """Write it in parts: a long text would else be held twice."""
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
        mode &= 0o777  # set-id bits would now speak for somebody else
    os.fchmod(fd, mode)


def _take_name(draft: str, target: str) -> bool:
    """Give a file a name unless another file has it; whether it still has the old one too."""
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
    """Make a rename in it last through a power cut, as far as the folder may be read and its file system does that."""
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
        # More than ours is there when a process wrote that does not take turns.
        if before < os.fstat(fd).st_size <= before + len(data):
            os.ftruncate(fd, before)
        raise


_NAME, *_HOW = os.environ.get("PFLOW_FAILPOINT", "").split(":")
_is_armed = bool(_NAME) and os.environ.get("PFLOW_TESTING") == "1"
_left = next((int(word) for word in _HOW if word.isdecimal()), 1)


def failpoint(name: str) -> None:
    """Pass the point of this name. Raises OSError (ENOSPC) where the test asks for that."""
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
