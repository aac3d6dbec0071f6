"""Writing a file so that any failure, kill -9 too, leaves the old content whole; a draft beside it lives an instant."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 20
# Without it (0), opening a directory to write fails, and a named draft is used.
_UNNAMED = getattr(os, "O_TMPFILE", 0)


def replace(path: str, data: str | bytes, *, mode: int = 0o666, overwrite: bool = True) -> None:
    """Make `data` all that `path`, or what it links to, holds; missing parents are made.

    A file that was there keeps its mode, its extended attributes and, where that is allowed, its owner; a new one gets
    `mode` minus the umask. Raises OSError, FileExistsError without `overwrite`, UnicodeEncodeError for a lone
    surrogate.
    """
    target = os.path.realpath(path)
    made: list[str] = []
    try:
        _make_parents(os.path.dirname(target), made)
        _put(target, data, mode, overwrite)
    except BaseException:
        _remove_parents(made)
        raise
    for folder in {os.path.dirname(name) for name in (target, *made)}:
        _sync_folder(folder)


def write_all(fd: int, data: bytes) -> None:
    """Write to the last byte, however little each write takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _put(target: str, data: str | bytes, mode: int, overwrite: bool) -> None:
    old = _existing(target, overwrite)
    draft = os.path.join(os.path.dirname(target), f".pflow-{os.urandom(8).hex()}.tmp")
    name = draft if old else target  # a new file needs no second name
    try:
        if not _write_unnamed(name, target, data, mode, old):
            name = draft
            _write_named(draft, target, data, mode, old)
        if name == draft:
            _rename(draft, target, overwrite)
    except FileExistsError:
        if not overwrite:
            raise
        _put(target, data, mode, overwrite)  # somebody else made it just now
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


def _write_unnamed(name: str, target: str, data: str | bytes, mode: int, old: os.stat_result | None) -> bool:
    """Write a file without a name, of which kill -9 leaves nothing, then name it. False where that cannot be done."""
    try:
        fd = os.open(os.path.dirname(name), os.O_WRONLY | _UNNAMED, mode)
    except OSError:
        return False
    try:
        _fill(fd, target, data, old)
        return _name(fd, name)
    finally:
        os.close(fd)


def _name(fd: int, name: str) -> bool:
    try:
        # Given a descriptor, though the path needs none, Python asks for the link in /proc to be followed.
        os.link(f"/proc/self/fd/{fd}", name, src_dir_fd=fd)
    except FileExistsError:
        raise
    except OSError:  # no /proc, or a sandbox
        return False
    return True


def _write_named(draft: str, target: str, data: str | bytes, mode: int, old: os.stat_result | None) -> None:
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if old else mode)
    try:
        _fill(fd, target, data, old)
    finally:
        os.close(fd)


def _fill(fd: int, target: str, data: str | bytes, old: os.stat_result | None) -> None:
    for piece in _pieces(data):
        write_all(fd, piece)
    if old:
        _keep_attributes(fd, target)
        _keep_owner_and_mode(fd, old)
    os.fsync(fd)


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
    if not hasattr(os, "listxattr"):
        return
    try:
        for name in os.listxattr(target):
            os.setxattr(fd, name, os.getxattr(target, name))
    except OSError:
        return


def _rename(draft: str, target: str, overwrite: bool) -> None:
    if overwrite:
        os.rename(draft, target)
        return
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: claim the name first
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.rename(draft, target)


def _make_parents(folder: str, made: list[str]) -> None:
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        made.append(folder)  # before it is made: a signal may come right after
        try:
            os.mkdir(folder)
        except FileExistsError:
            made.pop()


def _remove_parents(made: list[str]) -> None:
    for folder in reversed(made):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return


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
