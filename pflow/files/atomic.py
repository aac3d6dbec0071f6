"""Writing files so that a failure leaves the old content intact; failpoints, with which tests prove it."""

from __future__ import annotations

import errno
import os
import stat

from pflow import Callable
from pflow.errors import Ignoring
from pflow.files.attributes import DISK_ERRORS, read_attributes, set_attributes
from pflow.files.beneath import Location, check_link, locate, mode_of, open_file
from pflow.files.reading import Opened, open_regular

_PART = 1 << 20
"""The bytes that are copied at a time."""

_TRIES = 100
"""How often a lock is tried, a hundredth of a second apart."""


def replace(
    path: str, data: str | bytes, *, mode: int = 0o666, overwrite: bool = True, lasts: bool = True, is_own: bool = True
) -> None:  # fmt: skip
    """Replace the content of a file, or of the file that `path` links to; make missing parents.

    An existing file keeps its mode, ACL and `user.` attributes and, if allowed, its owner. A new one gets `mode` minus
    the umask, or as much of it as its directory's default ACL leaves. Without `lasts` the write does not wait for the
    disk, so a power cut may lose the file. A new file of pflow's own (`is_own`) is writable for its owner alone; any
    other file must be within bounds.
    Raises OSError, FileExistsError without `overwrite`, UnicodeEncodeError for a lone surrogate; PflowError (77) for a
    path out of bounds.
    """
    if is_own:
        mode &= 0o755
    _fill(path, lambda fd: _write_data(fd, data), mode, overwrite=overwrite, lasts=lasts, is_own=is_own)


def copy(source: int, path: str, *, overwrite: bool = True) -> None:
    """Replace the content of `path` by that of an open file, as `replace` does, part by part and within bounds.

    A new file gets the source's mode minus the umask, without set-id bits, its ACL and `user.` attributes.
    """

    def fill(fd: int) -> None:
        _copy_all(source, fd)
        set_attributes(fd, os.fstat(fd), read_attributes(fd) | read_attributes(source))

    _fill(path, fill, os.fstat(source).st_mode & 0o777, overwrite=overwrite)


def move(path: str, target: str, *, overwrite: bool = True) -> None:
    """Rename a file or a link, over an existing target too, and from one file system to another.

    At each moment one of the two files is whole. Raises OSError, FileExistsError without `overwrite`; PflowError
    (77) for a path out of bounds, and for a link that would lead there.
    """
    with locate(path, follow=False) as old, locate(target, follow=False, make=True) as new:
        check_link(old, new, path)
        if not overwrite or new.link() is None:
            _existing(new, overwrite)
        try:
            if overwrite:
                os.rename(old.name, new.name, src_dir_fd=old.folder, dst_dir_fd=new.folder)
            elif _take_name(old, new):
                os.unlink(old.name, dir_fd=old.folder)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _put(new, lambda draft: _duplicate(old, draft), overwrite=overwrite)
            os.unlink(old.name, dir_fd=old.folder)
        _sync_folder(new.folder)


def append(path: str, data: bytes) -> None:
    """Append `data` to a file within bounds, or make the file; undo a write that fails.

    After kill -9 or a power cut a part of the data may stay, since no system call appends atomically. Processes that
    append with this function take turns, so that none undoes the write of another. Raises OSError, and PflowError (77).
    """
    if not mode_of(path):
        with Ignoring(FileExistsError):
            replace(path, data, overwrite=False, is_own=False)
            return
    with Opened(open_file(path, os.O_WRONLY | os.O_APPEND)) as fd:
        take_turn(fd)
        _append_or_restore(fd, data)


def write_cached(path: str, data: bytes) -> None:
    """Write a file of the cache that only its owner can read; replace a link too. Do nothing if that fails."""
    from pflow.files.directories import make_private

    try:
        make_private(os.path.dirname(path))
        if os.path.islink(path):
            os.unlink(path)
        replace(path, data, mode=0o600)
    except OSError:
        return


def take_turn(fd: int) -> None:
    """Lock this file or directory until it is closed; wait while another process has it."""
    import fcntl

    with Ignoring(OSError):  # a file system without locks: write without one
        fcntl.flock(fd, fcntl.LOCK_EX)


def take_lock(fd: int) -> None:
    """Lock this file until it is closed, in all processes. Closes it and raises BlockingIOError if it stays locked.

    It tries for a second, since `pflow runs` holds a lock for a moment. The programs of a killed run hold it too, until
    their guard has ended them.
    """
    import fcntl
    import time

    for tries_left in range(_TRIES, -1, -1):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not tries_left:
                os.close(fd)
                raise
            time.sleep(0.01)
        except OSError:
            return  # a file system without locks: runs there are not protected from each other


def open_private(path: str, flags: int = 0) -> int:
    """Open a regular file for writing, only for its owner; make it if it is missing."""
    fd = open_regular(path, os.O_WRONLY | os.O_CREAT | flags)
    os.fchmod(fd, 0o600)
    return fd


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes, in as many writes as it takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _existing(target: Location, overwrite: bool) -> tuple[os.stat_result, dict[str, bytes]] | None:
    """Return the target's status and attributes; None if it is missing.

    Raises OSError if it may not be written: a rename needs only the right to its directory.
    """
    try:
        if not overwrite:
            target.status()
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target.real)
        fd = os.open(target.name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW, dir_fd=target.folder)
    except FileNotFoundError:
        return None
    with Opened(fd):
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", target.real)
        return status, read_attributes(fd)


def _fill(
    path: str, fill: Callable[[int], None], mode: int, *, overwrite: bool, lasts: bool = True, is_own: bool = False
) -> None:  # fmt: skip
    """Replace the content of a file by what `fill` writes to its descriptor."""
    with locate(path, make=True, is_own=is_own) as target:
        old = _existing(target, overwrite)

        def make(draft: Location) -> bool:
            return _write(draft, fill, mode, old, lasts=lasts, target=target)

        _put(target, make, overwrite=overwrite, lasts=lasts)


def _put(target: Location, make: Callable[[Location], bool], *, overwrite: bool, lasts: bool = True) -> None:
    """Make a draft beside the target and rename it, unless `make` returns True because it has made the target itself.

    An OSError about the draft names the directory: the draft's name would tell the user nothing.
    """
    folder, real = target.folder, os.path.dirname(target.real) or "."
    name = f".pflow-{os.urandom(8).hex()}.tmp"
    draft = Location(folder, name, os.path.join(real, name))
    try:
        if make(draft):
            pass
        elif overwrite:
            os.rename(draft.name, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            _take_name(draft, target)
    except OSError as error:
        error.filename = real if error.filename == name else error.filename
        raise
    finally:
        with Ignoring(FileNotFoundError):  # after a rename the draft is the target
            os.unlink(draft.name, dir_fd=folder)
    if lasts:
        _sync_folder(folder)


def _write(
    draft: Location, fill: Callable[[int], None], mode: int, old: tuple[os.stat_result, dict[str, bytes]] | None, *,
    lasts: bool, target: Location | None = None, has_name: bool = False,
) -> bool:  # fmt: skip
    """Write the draft, or a new target directly; return True for the target.

    The file has no name until it is whole, so that kill -9 leaves nothing. If the file system has no nameless files,
    write a draft with a name instead (`has_name`).
    """
    mode = 0o600 if old else mode  # others must not read the new content before it has the old file's rights
    try:
        name, how = (draft.name, os.O_CREAT | os.O_EXCL) if has_name else (".", os.O_TMPFILE)
        fd = os.open(name, os.O_RDWR | how, mode, dir_fd=draft.folder)
    except (OSError, AttributeError):  # only Linux has O_TMPFILE, and not on every file system
        if has_name:
            raise
        return _write(draft, fill, mode, old, lasts=lasts, has_name=True)
    with Opened(fd):
        fill(fd)
        if old:
            set_attributes(fd, *old)
        if lasts:
            os.fsync(fd)
        place = draft if has_name else _name(fd, draft, None if old else target)
    return place is target if place else _write(draft, fill, mode, old, lasts=lasts, has_name=True)


def _name(fd: int, draft: Location, target: Location | None) -> Location | None:
    """Give a nameless file the target's name, else the draft's; return which; None if the system cannot do it."""
    for place in (target, draft) if target else (draft,):
        try:
            # By /proc, since linking a descriptor itself needs a capability.
            os.link(f"/proc/self/fd/{fd}", place.name, dst_dir_fd=place.folder)
            return place
        except OSError as error:
            if error.errno in DISK_ERRORS:
                raise OSError(error.errno, error.strerror, draft.name) from None
    return None


def _duplicate(old: Location, draft: Location) -> bool:
    """Copy a file or link to the draft, with its times, attributes and, if allowed, owner; return False, for `_put`."""
    if (link := old.link()) is not None:
        os.symlink(link, draft.name, dir_fd=draft.folder)
        return False
    with Opened(os.open(old.name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW, dir_fd=old.folder)) as source:
        status = os.fstat(source)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", old.real)

        def fill(fd: int) -> None:
            _copy_all(source, fd)
            os.utime(fd, ns=(status.st_atime_ns, status.st_mtime_ns))

        return _write(draft, fill, 0o600, (status, read_attributes(source)), lasts=True)


def _write_data(fd: int, data: str | bytes) -> None:
    """Write in parts: a long text is encoded part by part, never copied as a whole."""
    for at in range(0, len(data), _PART):
        part = data[at : at + _PART]
        write_all(fd, part.encode() if isinstance(part, str) else part)


def _copy_all(source: int, fd: int) -> None:
    """Copy a file up to its end, wherever that is: a file of /proc has no size, a log grows. Holes stay holes."""
    status, start = os.fstat(source), 0
    size = status.st_size if status.st_blocks * 512 < status.st_size else 0
    while start < size:
        try:
            start = os.lseek(source, start, os.SEEK_DATA)
            end = os.lseek(source, start, os.SEEK_HOLE)
        except OSError as error:
            # ENXIO: only a hole is left. Any other error: the file system does not know its holes.
            start = size if error.errno == errno.ENXIO else start
            break
        start = _copy_part(source, fd, start, end)
    os.ftruncate(fd, _copy_part(source, fd, start))


def _copy_part(source: int, fd: int, start: int, end: int | None = None) -> int:
    """Copy from `start` to `end`, else to the end of the file; return where it ended."""
    os.lseek(source, start, os.SEEK_SET)
    os.lseek(fd, start, os.SEEK_SET)
    while part := os.read(source, _PART if end is None else min(end - start, _PART)):
        write_all(fd, part)
        start += len(part)
    return start


def _take_name(draft: Location, target: Location) -> bool:
    """Give a file a name that is free; return True if the file still has its old name too."""
    folders = {"src_dir_fd": draft.folder, "dst_dir_fd": target.folder}
    try:
        os.link(draft.name, target.name, follow_symlinks=False, **folders)
        return True
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.EXDEV):
            raise
        # A file system without hard links, such as FAT: claim the name with an empty file, then rename over that.
        os.close(os.open(target.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=target.folder))
        try:
            os.rename(draft.name, target.name, **folders)
        except OSError:
            os.unlink(target.name, dir_fd=target.folder)
            raise
        return False


def _sync_folder(folder: int) -> None:
    """Make a rename in a folder survive a power cut, if the folder is readable and its file system can sync it."""
    try:
        with Opened(os.open(".", os.O_RDONLY, dir_fd=folder)) as fd:
            os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EINVAL):
            raise


def _append_or_restore(fd: int, data: bytes) -> None:
    before = os.fstat(fd).st_size
    try:
        write_all(fd, data)
        os.fsync(fd)
    except BaseException:
        # A process that took no turn may have written behind us: cut off only what is ours for certain.
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
