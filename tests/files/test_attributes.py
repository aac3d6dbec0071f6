"""Owner, mode, ACL, `user.` attributes and holes: what a replaced, copied or moved file keeps of them."""

import errno
import os
import struct
from contextlib import nullcontext
from pathlib import Path

import pytest

from pflow.errors import PflowError
from pflow.nodes.copy_file import CopyFile
from pflow.nodes.delete_file import DeleteFile
from pflow.nodes.move_file import MoveFile
from pflow.nodes.save_csv import SaveCsv
from pflow.nodes.write_file import WriteFile

ACL, DEFAULT, NOTE = "system.posix_acl_access", "system.posix_acl_default", "user.note"
NAMED = {1: 6, 2: 4, 4: 0, 16: 4, 32: 0}
"""What the owner, the user 65534, the group, at most anybody named, and all others may do."""


def pack(acl):
    entries = (struct.pack("<HHI", tag, rights, 65534 if tag == 2 else 0xFFFFFFFF) for tag, rights in acl.items())
    return struct.pack("<I", 2) + b"".join(entries)


def found(path):
    mode, names = os.stat(path).st_mode & 0o7777, os.listxattr(path)
    return mode, *(os.getxattr(path, name) if name in names else None for name in (ACL, NOTE))


def refuse(reason):
    def refused(*_, **__):
        raise OSError(reason, os.strerror(reason))

    return refused


def be_across(monkeypatch):
    """Let each file be on a file system of its own, but those that have no name yet."""
    acts = {True: os.replace, False: refuse(errno.EXDEV)}
    monkeypatch.setattr(os, "rename", lambda old, new, **how: acts[old.startswith(".")](old, new, **how))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """`old`, with an ACL and an attribute of its user, and `plain`, which others may read."""
    monkeypatch.chdir(tmp_path)
    for name, mode in (("old", 0o600), ("plain", 0o644)):
        Path(name).write_text("old\n")
        os.chmod(name, mode)
    try:
        os.setxattr("old", NOTE, b"mine")
        os.setxattr("old", ACL, pack(NAMED))
    except (OSError, AttributeError):
        pytest.skip("this file system has no ACLs")
    be_across(monkeypatch)


@pytest.mark.parametrize("lack", [None, "O_TMPFILE", "link"])
def test_a_file_keeps_its_acl_and_attributes_at_each_door(here, monkeypatch, lack):
    if lack == "link":
        monkeypatch.setattr(os, "link", refuse(errno.ENOENT))
    elif lack:
        monkeypatch.delattr(os, lack)
    WriteFile().run({"content": "new", "path": "old"})
    SaveCsv().run({"rows": [{"a": 1}], "path": "old"})
    CopyFile().run({"path": "plain", "destination": "old"})
    CopyFile().run({"path": "old", "destination": "copied"})
    MoveFile().run({"path": "old", "destination": "moved"})
    assert [found(path) for path in ("copied", "moved")] == [(0o640, pack(NAMED), b"mine")] * 2
    os.setxattr(".", DEFAULT, pack(NAMED))  # for new files only
    WriteFile().run({"content": "new", "path": "plain"})
    CopyFile().run({"path": "plain", "destination": "copy"})
    MoveFile().run({"path": "plain", "destination": "moved"})
    assert [found(path) for path in ("moved", "copy")] == [(0o644, None, None), (0o640, pack(NAMED), None)]


@pytest.mark.parametrize(
    ("lacks", "reason", "mode", "acl", "left"),
    [
        ("setxattr", errno.ENOTSUP, 0o600, {1: 6, 2: 0, 4: 4, 16: 4, 32: 4}, (0o600, None)),
        ("setxattr", errno.ENOSPC, 0o600, NAMED, (0o640, pack(NAMED))),
        ("fchown", errno.EPERM, 0o6604, None, (0o600, None)),
        ("fchown", errno.EINVAL, 0o664, None, (0o644, None)),
        ("fchown", errno.EPERM, 0o600, NAMED | {4: 4}, (0o640, pack(NAMED))),
    ],
)
def test_nobody_gains_a_right_where_one_cannot_be_kept(here, monkeypatch, lacks, reason, mode, acl, left):
    os.chmod("plain", mode)
    if acl:
        os.setxattr("plain", ACL, pack(acl))
    monkeypatch.setattr(os, lacks, refuse(reason))
    is_full = reason == errno.ENOSPC
    with pytest.raises(PflowError, match="no space left on device") if is_full else nullcontext():
        WriteFile().run({"content": "new", "path": "plain"})
    assert (found("plain")[:2], Path("plain").read_text()) == (left, "old\n" if is_full else "new")


@pytest.mark.parametrize("node", [CopyFile, MoveFile])
@pytest.mark.parametrize("knows", [True, False])
@pytest.mark.parametrize("data", [[], [0, 4 << 20], [(10 << 20) - 1]])
def test_holes_stay_holes(tmp_path, monkeypatch, node, knows, data):
    source, target, seek = tmp_path / "a", tmp_path / "b", os.lseek
    with source.open("wb") as file:
        file.truncate(10 << 20)
        for at in data:
            os.pwrite(file.fileno(), b"x", at)
    content = source.read_bytes()
    if source.stat().st_blocks > 1000:
        pytest.skip("this file system has no holes")
    if not knows:
        monkeypatch.setattr(os, "lseek", lambda fd, at, how: refuse(errno.EINVAL)() if how > 2 else seek(fd, at, how))
    be_across(monkeypatch)
    node().run({"path": str(source), "destination": str(target)})
    assert (target.read_bytes() == content, target.stat().st_blocks < 1000) == (True, knows)


def test_a_file_that_says_no_size_is_copied_to_its_end(tmp_path):
    CopyFile().run({"path": "/proc/version", "destination": str(tmp_path / "version")})
    assert (tmp_path / "version").read_bytes() == Path("/proc/version").read_bytes()


@pytest.mark.parametrize(
    ("node", "call", "reason", "exit", "hint"),
    [
        (WriteFile, "rename", errno.EBUSY, 73, "a mount point (docker -v FILE) cannot be replaced: mount its"),
        (WriteFile, "rename", errno.EPERM, 77, "lsattr shows if it is immutable"),
        (WriteFile, "rename", errno.EACCES, 77, "its directory must be writable"),
        (DeleteFile, "unlink", errno.EBUSY, 1, "a mount point (docker -v FILE) cannot be replaced"),
    ],
)
def test_a_change_that_the_system_refuses_says_what_to_do(tmp_path, monkeypatch, node, call, reason, exit, hint):
    path = tmp_path / "old"
    path.touch()
    monkeypatch.setattr(os, call, refuse(reason))
    with pytest.raises(PflowError) as caught:
        node().run({"content": "new", "path": str(path)})
    assert (caught.value.exit, hint in caught.value.hint, path.read_text()) == (exit, True, "")
