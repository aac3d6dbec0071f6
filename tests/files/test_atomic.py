"""Writing files, and the places where tests end a process."""

import os
import subprocess
import sys

import pytest

from pflow.files.atomic import replace

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
