"""Reading the owner, mode, ACL and `user.` attributes of a file, and giving them to its replacement or copy."""

from __future__ import annotations

import errno
import os
import stat

from pflow import Any, Callable
from pflow.errors import result_of

_ACL = "system.posix_acl_access"
"""An ACL has 4 bytes, then 8 an entry: its tag and rights, 2 each, and an id."""

_GROUP = 4

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of the disk. Any other error means that the file system, or the system, does not do such an act."""


def read_attributes(fd: int) -> dict[str, bytes]:
    """Return the ACL and those `user.` attributes of a file that can be read. All others are the system's."""
    # A file system, or a system, may have none.
    names: list[str] = result_of(lambda: os.listxattr(fd), of=(OSError, AttributeError), otherwise=[])
    found: dict[str, bytes] = {}
    for name in names:
        if name == _ACL or name.startswith("user."):
            _is_done(lambda name: found.update({name: os.getxattr(fd, name)}), name)
    return found


def set_attributes(fd: int, old: os.stat_result, attributes: dict[str, bytes]) -> None:
    """Give a new file the owner, mode and attributes of another, as far as the system allows it.

    Nobody gets a right that the other file denied. Raises OSError, as for a full disk.
    """
    mode, acl = stat.S_IMODE(old.st_mode), bytearray(attributes.get(_ACL, b""))
    if not _is_done(os.fchown, fd, old.st_uid, old.st_gid):
        mode &= 0o777  # set-id bits would give another user's rights
        if not _is_done(os.fchown, fd, -1, old.st_gid):
            mode = _lose_group(mode, acl)
    # With the ACL that a new file gets from its directory, the mode would say what users named in it can do.
    for name in read_attributes(fd).keys() - attributes.keys():
        os.removexattr(fd, name)
    for name, value in attributes.items():
        if not _is_done(os.setxattr, fd, name, acl if name == _ACL else value) and name == _ACL:
            mode &= ~0o77  # whom the ACL denied a right would have that of the group or of others
    _is_done(os.fchmod, fd, mode)


def _is_done(act: Callable[..., None], *words: Any) -> bool:
    """Do something with a file; return False if its file system, or the system, refuses it."""
    try:
        act(*words)
    except OSError as error:
        if error.errno in DISK_ERRORS:
            raise
        return False
    return True


def _lose_group(mode: int, acl: bytearray) -> int:
    """Let the group, which is another now, and all others do only what both could do; return the mode."""
    common = mode & mode >> 3 & 7
    if not acl:
        return mode & ~0o77 | common * 0o11
    at = next(at + 2 for at in range(4, len(acl), 8) if acl[at] == _GROUP)
    acl[at] &= common
    return mode & ~7 | acl[at]
