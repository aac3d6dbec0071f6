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
"""Errors of the disk. Any other error means that the file system does not support an act, or forbids it."""


def read_attributes(fd: int) -> dict[str, bytes]:
    """Return a file's ACL and the `user.` attributes that can be read; all other attributes are the system's."""
    # macOS has no listxattr, and tmpfs of an old Linux no `user.` attributes.
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
        mode &= 0o777  # set-id bits would give away the rights of the new owner
        if not _is_done(os.fchown, fd, -1, old.st_gid):
            mode = _lose_group(mode, acl)
    # A new file may get an ACL from its directory. With one, the group bits of a mode are the mask of the ACL, so that
    # chmod would open the file to the users whom the ACL names.
    for name in read_attributes(fd).keys() - attributes.keys():
        os.removexattr(fd, name)
    for name, value in attributes.items():
        if not _is_done(os.setxattr, fd, name, acl if name == _ACL else value) and name == _ACL:
            mode &= ~0o77  # without the ACL, whom it denied a right would have the group's or the others'
    _is_done(os.fchmod, fd, mode)


def _is_done(act: Callable[..., None], *words: Any) -> bool:
    """Call `act`, which changes a file; return False if the system refuses it. Raises OSError for a disk error."""
    try:
        act(*words)
    except OSError as error:
        if error.errno in DISK_ERRORS:
            raise
        return False
    return True


def _lose_group(mode: int, acl: bytearray) -> int:
    """Return the mode for a file whose group has changed: group and others keep only the rights that both had.

    In a file with an `acl` that is the group's entry, which is changed in place.
    """
    common = mode & mode >> 3 & 7
    if not acl:
        return mode & ~0o77 | common * 0o11
    at = next(at + 2 for at in range(4, len(acl), 8) if acl[at] == _GROUP)
    acl[at] &= common
    return mode & ~7 | acl[at]
