"""copy-file, move-file, delete-file: what they leave behind, whatever is there and whenever they are struck."""

from __future__ import annotations

import errno
import os
import signal
import stat
from pathlib import Path

import pytest

from pflow.errors import PflowError
from pflow.files import atomic
from pflow.nodes.copy_file import CopyFile
from pflow.nodes.delete_file import DeleteFile
from pflow.nodes.move_file import MoveFile
from tests.nodes.child import HOOKED, NEVER, as_nobody, strike

OLD, NEW = b"old content\n", b"\xff\0new content, " * 100
BOTH = pytest.mark.parametrize("node", [CopyFile, MoveFile])


def run(node, path, destination=None, **params):
    made = node()
    made.set_params(params)
    shared = {"path": str(path)} | ({"destination": str(destination)} if destination is not None else {})
    before = dict(shared)
    made.run(shared)
    assert shared == before


def refuse(node, *paths, **params):
    with pytest.raises(PflowError) as caught:
        run(node, *paths, **params)
    return caught.value


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """`new`, `old`, a directory with a file, links to all, and one to nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new").write_bytes(NEW)
    (tmp_path / "old").write_bytes(OLD)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/old").write_bytes(OLD)
    for name in ("new", "old", "folder", "nothing"):
        (tmp_path / f"to-{name}").symlink_to(name)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder2").mkdir()
    (tmp_path / "folder2/old").symlink_to("../new")
    return tmp_path


def across(monkeypatch, path):
    """Let a path be on another file system than all others."""
    real = os.rename, os.link

    def refuse_across(call):
        def renamed(source, target, **how):
            if os.path.basename(source) == path:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), source)
            return call(source, target, **how)

        return renamed

    for name, call in zip(("rename", "link"), real, strict=True):
        monkeypatch.setattr(os, name, refuse_across(call))


PLACES = [
    ("new", "copy", "copy"),
    ("new", "old", "old"),
    ("./new", "folder", "folder/new"),
    ("new", "to-folder", "folder/new"),
    ("new", "a/b/c", "a/b/c"),
    ("new", "a/b/", "a/b/new"),
    ("new", "naïve \n$x", "naïve \n$x"),
    ("folder/old", ".", "old"),
    (b"\xff".decode(errors="surrogateescape"), "plain", "plain"),
]


@pytest.mark.parametrize(("path", "destination", "place"), PLACES)
@pytest.mark.parametrize("is_across", [False, True])
@BOTH
def test_a_file_gets_to_its_place(tree, monkeypatch, node, path, destination, place, is_across):
    content = Path(path).read_bytes() if os.path.exists(path) else b"odd"
    Path(path).write_bytes(content)
    if is_across:
        across(monkeypatch, os.path.basename(path))
    run(node, path, destination)
    assert Path(place).read_bytes() == content
    assert os.path.exists(path) == (node is CopyFile)
    assert not list(tree.rglob(".pflow-*"))


def test_copying_follows_links_and_moving_and_deleting_take_the_link(tree):
    run(CopyFile, "to-new", "to-old")
    assert Path("to-old").is_symlink()
    assert Path("old").read_bytes() == NEW
    run(CopyFile, "old", "to-nothing")
    assert Path("nothing").read_bytes() == NEW
    run(MoveFile, "to-new", "moved")
    assert os.readlink("moved") == "new"
    run(MoveFile, "old", "to-old")
    assert not Path("to-old").is_symlink()
    run(DeleteFile, "moved")
    assert Path("new").exists()
    run(DeleteFile, "to-folder")
    run(DeleteFile, "fifo")
    assert sorted(os.listdir()) == ["folder", "folder2", "new", "nothing", "to-nothing", "to-old"]


@pytest.mark.parametrize("is_across", [False, True])
def test_a_moved_file_is_the_same_and_a_link_stays_one(tree, monkeypatch, is_across):
    os.chmod("new", 0o640)
    os.utime("new", ns=(10**18, 10**18 + 1))
    if is_across:
        across(monkeypatch, "new")
        across(monkeypatch, "to-old")
    run(MoveFile, "new", "old")
    run(MoveFile, "to-old", "folder")
    status = os.stat("old")
    assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (0o640, 10**18 + 1)
    assert os.readlink("folder/to-old") == "old"
    assert not {"new", "to-old"} & {*os.listdir()}


def test_a_new_copy_has_the_mode_less_the_umask_and_an_old_one_keeps_its_own(tree):
    os.chmod("new", 0o4775)
    os.chmod("old", 0o600)
    umask = os.umask(0o027)
    try:
        run(CopyFile, "new", "copy")
        run(CopyFile, "new", "old")
    finally:
        os.umask(umask)
    assert [stat.S_IMODE(os.stat(name).st_mode) for name in ("copy", "old")] == [0o750, 0o600]


@pytest.mark.parametrize(
    ("node", "paths", "params", "exit", "words"),
    [
        (CopyFile, ("none", "x"), {}, 66, "cannot copy 'none': no such file or directory"),
        (CopyFile, ("to-nothing", "x"), {}, 66, "cannot copy 'to-nothing': no such file"),
        (CopyFile, ("new/x", "x"), {}, 66, "not a directory"),
        (CopyFile, ("folder", "x"), {}, 66, "cannot copy 'folder': it is a directory"),
        (CopyFile, ("fifo", "x"), {}, 73, "it is not a regular file"),
        (CopyFile, ("/dev/null", "x"), {}, 77, "it is a device"),
        (CopyFile, ("new", "old"), {"overwrite": False}, 73, "cannot copy 'new' to 'old': it is there already"),
        (CopyFile, ("new", "to-new"), {}, 73, "they are the same file"),
        (CopyFile, ("folder/old", "folder2"), {}, 73, "cannot copy 'folder/old' to 'folder2/old': it is a link"),
        (CopyFile, ("new", "new/x"), {}, 73, "cannot copy 'new' to 'new/x': "),
        (CopyFile, ("new", "fifo"), {}, 73, "cannot copy 'new' to 'fifo': "),
        (CopyFile, ("new", ""), {}, 66, "the path is empty"),
        (CopyFile, ("new", "~/x"), {}, 73, "the shell did not expand the ~"),
        (MoveFile, ("none", "x"), {}, 66, "cannot move 'none': no such file or directory"),
        (MoveFile, ("folder", "x"), {}, 66, "cannot move 'folder': it is a directory"),
        (MoveFile, ("new", "old"), {"overwrite": False}, 73, "cannot move 'new' to 'old': it is there already"),
        (MoveFile, ("new", "to-nothing"), {"overwrite": False}, 73, "it is there already"),
        (MoveFile, ("new", "./new"), {}, 73, "they are the same file"),
        (MoveFile, ("to-new", "new"), {}, 73, "they are the same file"),
        (MoveFile, ("new", "new/x"), {"missing_ok": True}, 73, "cannot move 'new' to 'new/x': "),
        (MoveFile, ("new", "a\0b"), {}, 65, "a path cannot contain NUL"),
        (MoveFile, ("old", "fifo"), {}, 73, "cannot move 'old' to 'fifo': "),
        (DeleteFile, ("none",), {}, 66, "cannot delete 'none': no such file or directory"),
        (DeleteFile, ("folder",), {"missing_ok": True}, 66, "cannot delete 'folder': it is a directory"),
        (DeleteFile, ("new/",), {}, 66, "cannot delete 'new/': not a directory"),
        (DeleteFile, ("/dev/null",), {}, 77, "it is a device"),
        (DeleteFile, ("",), {}, 66, "the path is empty"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words_and_nothing_changes(tree, node, paths, params, exit, words):
    before = {path: path.lstat().st_mtime_ns for path in tree.rglob("*")}
    error = refuse(node, *paths, **params)
    assert error.exit == exit
    assert words in error.message
    assert {path: path.lstat().st_mtime_ns for path in tree.rglob("*")} == before


@pytest.mark.rights
def test_without_rights_it_is_77(open_dir):
    for name in ("new", "old"):
        (open_dir / name).write_bytes(OLD)
    os.chmod(open_dir / "old", 0o444)
    assert as_nobody(lambda: run(CopyFile, open_dir / "new", open_dir / "old")) == 77
    assert as_nobody(lambda: run(MoveFile, open_dir / "new", open_dir / "old")) == 77
    os.chmod(open_dir, 0o555)
    assert as_nobody(lambda: run(DeleteFile, open_dir / "new")) == 77
    assert as_nobody(lambda: run(MoveFile, open_dir / "new", open_dir / "newer")) == 77
    assert sorted(os.listdir(open_dir)) == ["new", "old"]


def be_killed(name):
    os.kill(os.getpid(), signal.SIGKILL)


def be_full(name):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("what", [be_killed, be_full])
@pytest.mark.parametrize("params", [{}, {"overwrite": False}])
@pytest.mark.parametrize("is_across", [False, True])
@BOTH
def test_struck_at_any_moment_one_of_both_is_whole(tmp_path, monkeypatch, node, is_across, params, what):
    monkeypatch.setattr(atomic, "_PART", 1000)
    if is_across:
        across(monkeypatch, "new")
    hooked = (*HOOKED, "unlink", "symlink") if what is be_killed else HOOKED
    new, place = tmp_path / "new", tmp_path / "place"
    code, number = 0, 0
    while code != NEVER:
        number += 1
        new.write_bytes(NEW)
        place.unlink(missing_ok=True)
        if not params:
            place.write_bytes(OLD)
        code = strike(number, what, lambda: run(node, new, place, **params), hooked)
        left = place.read_bytes() if place.exists() else None
        assert left in ((OLD, NEW) if not params else (None, NEW))
        assert left == NEW or new.read_bytes() == NEW
        assert not new.exists() or new.read_bytes() == NEW
        drafts = [file for file in os.listdir(tmp_path) if file not in ("new", "place")]
        assert what is be_killed or not drafts
        for file in drafts:
            os.unlink(tmp_path / file)
    assert number > 2
