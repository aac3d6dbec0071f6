"""Writing files, and the places where tests end a process."""

import os
import subprocess
import sys
import time

import pytest

from pflow.files.atomic import append, open_private, replace, take_lock, take_turn, write_cached

PASS = """
from pflow.files.atomic import failpoint
for name in ("a.x", "b", "a.y", "b"):
    print(name, flush=True)
    failpoint(name)
"""


@pytest.mark.parametrize(
    ("point", "testing", "passed", "code"),
    [
        ("b", "1", 2, -9),
        ("b:2", "1", 4, -9),
        ("a.*:2", "1", 3, -9),
        ("b:3", "1", 4, 0),
        ("b", "", 4, 0),
        ("", "1", 4, 0),
        ("b:1:enospc", "1", 2, 1),
    ],
)
def test_a_failpoint_ends_the_process_where_a_test_says(point, testing, passed, code):
    environment = {**os.environ, "PFLOW_FAILPOINT": point, "PFLOW_TESTING": testing}
    done = subprocess.run([sys.executable, "-c", PASS], env=environment, capture_output=True, text=True, check=False)
    assert (len(done.stdout.split()), done.returncode) == (passed, code)


KILLED_INSIDE = """
import os, sys
from pflow.files import atomic
write_all = atomic.write_all
atomic.write_all = lambda fd, data: (write_all(fd, data[:3]), os.kill(os.getpid(), 9))
atomic.replace(sys.argv[1], "new and long")
"""


@pytest.mark.parametrize("old", ["old", None])
def test_a_kill_while_a_file_is_written_leaves_nothing(tmp_path, old):
    path = tmp_path / "file"
    if old:
        path.write_text(old)
    assert subprocess.run([sys.executable, "-c", KILLED_INSIDE, path], check=False).returncode == -9
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == ({"file": "old"} if old else {})


@pytest.mark.parametrize("lack", ["O_TMPFILE", "link"])
@pytest.mark.parametrize("mode", [None, 0o640])
def test_a_file_is_replaced_where_no_file_is_without_a_name(tmp_path, monkeypatch, lack, mode):
    path, umask = tmp_path / "file", os.umask(0o027)
    if mode:
        path.write_text("old")
        path.chmod(mode)
    if lack == "link":
        monkeypatch.setattr(os, "link", lambda *_, **__: os.close(os.open("/proc/none/here", 0)))
    else:
        monkeypatch.delattr(os, lack)
    replace(str(path), "new", mode=0o666)
    os.umask(umask)
    assert [(file.read_text(), file.stat().st_mode & 0o777) for file in tmp_path.iterdir()] == [("new", 0o640)]


def test_a_file_has_the_mode_that_it_had_or_else_what_the_umask_leaves(tmp_path):
    path, umask = tmp_path / "deep" / "file", os.umask(0)
    try:
        replace(str(path), "ours", mode=0o666)
        assert path.stat().st_mode & 0o777 == 0o644  # nobody else may write what is pflow's own
        path.chmod(0o660)
        replace(str(path), "x" * (5 << 19))
        assert (path.stat().st_mode & 0o777, path.read_text()) == (0o660, "x" * (5 << 19))
        path.unlink()
        replace(str(path), b"theirs", is_own=False)
        assert (path.stat().st_mode & 0o777, os.listdir(path.parent)) == (0o666, ["file"])
    finally:
        os.umask(umask)


def test_what_is_appended_to_a_file_makes_it_if_it_is_missing(tmp_path):
    for part in (b"one\n", b"two\n"):
        append(str(tmp_path / "log"), part)
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("other", [b"", b"more"])
def test_a_write_that_fails_is_undone_unless_another_process_wrote_too(tmp_path, monkeypatch, other):
    path = tmp_path / "log"
    path.write_bytes(b"old\n")
    with path.open("ab") as file:
        monkeypatch.setattr(os, "fsync", lambda fd: file.write(other) + file.flush() or os.close(-1))
        with pytest.raises((OSError, TypeError)):
            append(str(path), b"new\n")
    assert path.read_bytes() == (b"old\nnew\nmore" if other else b"old\n")


def test_a_lock_that_another_holds_is_waited_for_a_second_and_then_refused(tmp_path):
    holder, asker = (open_private(str(tmp_path / "lock")) for _ in range(2))
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
    take_lock(holder)
    begun = time.monotonic()
    with pytest.raises(BlockingIOError):
        take_lock(asker)
    assert 0.9 < time.monotonic() - begun < 30
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(asker)
    os.close(holder)
    again = open_private(str(tmp_path / "lock"))
    take_lock(again)
    take_turn(again)
    os.close(again)


def test_a_file_of_the_cache_replaces_a_link_and_is_for_its_owner_alone(tmp_path):
    (tmp_path / "other").write_text("other")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a").symlink_to(tmp_path / "other")
    for name in ("new/a", "made/a"):
        write_cached(str(tmp_path / name), b"x")
        assert (tmp_path / name).read_bytes() == b"x"
        assert (tmp_path / name).stat(follow_symlinks=False).st_mode == 0o100600
    assert (tmp_path / "other").read_text() == "other"
    write_cached(str(tmp_path / "other" / "a"), b"x")  # where it cannot be written it is not
    assert (tmp_path / "other").read_text() == "other"
