"""write-file: content into a file, whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.nodes.write_file import WriteFile
from tests.nodes.child import NEVER, as_nobody, in_child, strike
from tests.tools import only_root

OLD, NEW = b"old content\n", b"new content, " * 100_000
REPLACE_OR_APPEND = pytest.mark.parametrize("params", [{}, {"append": True}])
ANY_WAY = pytest.mark.parametrize("params", [{}, {"append": True}, {"overwrite": False}])


def write(path: object, content: object = NEW, **params: object) -> None:
    node = WriteFile()
    node.set_params(params)
    shared = {"path": path, "content": content}
    node.run(shared)
    assert shared == {"path": path, "content": content}


def refuse(path: object, content: object = NEW, **params: object) -> PflowError:
    with pytest.raises(PflowError) as caught:
        write(path, content, **params)
    return caught.value


@pytest.mark.parametrize(
    ("content", "data"),
    [
        (b"", b""),
        ("dos\r\nmac\runix\n", b"dos\r\nmac\runix\n"),
        ("\ufeffmarked", b"\xef\xbb\xbfmarked"),
        (b"\xff\xfe\0", b"\xff\xfe\0"),
        ({"b": [1, 2.5], "a": "ä"}, '{"b":[1,2.5],"a":"ä"}\n'.encode()),
        (["a", b"\xff"], b'["a",{"$bytes":"/w=="}]\n'),
        (None, b"null\n"),
    ],
)
def test_content_is_written_exactly(tmp_path, content, data):
    for params in ({}, {"append": True, "exact": True}):
        path = tmp_path / f"file{len(params)}"
        write(str(path), content, **params)
        assert path.read_bytes() == data


def test_append_ends_a_text_and_nothing_else(tmp_path):
    path = tmp_path / "log"
    for content in ("one", "two\n", "", b"3", b"", "four", 5, "six"):
        write(str(path), content, append=True)
    assert path.read_bytes() == b"one\ntwo\n3four\n5\nsix\n"


def test_append_to_a_stream_ends_a_text_too(capfd):
    write("/dev/stderr", "one", append=True)
    write("/dev/stderr", "two", append=True, exact=True)
    assert capfd.readouterr().err == "one\ntwo"


@settings(max_examples=30)  # each waits for the disk
@given(content=st.binary() | st.text(st.characters(codec="utf-8")))
def test_any_content_is_written_exactly(content):
    with tempfile.NamedTemporaryFile() as file:
        write(file.name, content)
        assert Path(file.name).read_bytes() == (content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("lone \ud800", "the text has a lone surrogate"),
        ([float("nan")], "JSON"),
    ],
)
@REPLACE_OR_APPEND
def test_what_has_no_text_is_65_and_the_old_file_stays(tmp_path, content, words, params):
    path = tmp_path / "file"
    path.write_bytes(OLD)
    error = refuse(str(path), content, **params)
    assert error.exit == 65
    assert words in error.message
    assert path.read_bytes() == OLD
    assert os.listdir(tmp_path) == ["file"]


def test_the_content_is_on_the_disk_before_its_name_and_the_name_before_the_end(tmp_path, monkeypatch):
    events: list[str] = []
    fsync = os.fsync

    def note_fsync(fd: int) -> None:
        events.append("directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else f"content {os.fstat(fd).st_size}")
        fsync(fd)

    def noting(give_name: Callable[..., None]) -> Callable[..., None]:
        return lambda *names, **folders: (events.append("name"), give_name(*names, **folders))

    monkeypatch.setattr(os, "fsync", note_fsync)
    for name in ("link", "rename"):
        monkeypatch.setattr(os, name, noting(getattr(os, name)))
    for path in ("file", "file", "new/file"):
        events.clear()
        write(str(tmp_path / path))
        assert (events[0], {*events[1:-1]}, events[-1]) == (f"content {len(NEW)}", {"name"}, "directory")
    events.clear()
    write(str(tmp_path / "file"), append=True)
    assert events == [f"content {2 * len(NEW)}"]


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o2755])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "file"
    path.write_bytes(OLD)
    path.chmod(mode)
    write(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == mode


@only_root
def test_a_file_keeps_its_owner_where_that_is_allowed(open_dir):
    path = open_dir / "file"
    path.write_bytes(OLD)
    os.chown(path, 1234, 5678)
    path.chmod(0o6666)
    write(str(path))
    assert (path.stat().st_uid, path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (1234, 5678, 0o6666)
    assert as_nobody(lambda: write(str(path), b"taken over")) == 0
    assert path.read_bytes() == b"taken over"
    assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) == (65534, 0o666)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0, 0o666)])
@ANY_WAY
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path, umask, mode, params):
    old = os.umask(umask)
    try:
        write(str(tmp_path / "file"), **params)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


@REPLACE_OR_APPEND
@pytest.mark.parametrize("content", [b"", OLD])
def test_a_link_is_followed(tmp_path, params, content):
    there, link = tmp_path / "there", tmp_path / "link"
    there.mkdir()
    (there / "file").write_bytes(content)
    (there / "middle").symlink_to("file")
    link.symlink_to("there/middle")
    write(str(link), **params)
    assert link.is_symlink()
    assert (there / "middle").is_symlink()
    assert (there / "file").read_bytes() == (content + NEW if params else NEW)
    assert sorted(os.listdir(there)) == ["file", "middle"]


@ANY_WAY
def test_a_dangling_link_gets_its_target(tmp_path, params):
    link = tmp_path / "link"
    link.symlink_to("there/file")
    write(str(link), **params)
    assert link.is_symlink()
    assert (tmp_path / "there/file").read_bytes() == NEW


def test_a_name_may_be_as_long_as_names_get_and_need_not_be_utf_8(tmp_path):
    for name in (b"n" * 255, b"\xff"):
        for content in (OLD, NEW):
            write(os.fsencode(tmp_path) + b"/" + name, content)
            assert (tmp_path / os.fsdecode(name)).read_bytes() == content


@pytest.mark.parametrize(
    ("path", "exit", "words"),
    [
        ("", 66, "the path is empty"),
        ("nul\0nul", 65, "cannot contain NUL"),
        ("folder", 73, "it is a directory"),
        ("new/", 73, "it names a directory"),
        ("folder/..", 73, "it names a directory"),
        ("~/file", 73, "the shell did not expand the ~"),
        ("file/below", 73, "not a directory"),
        ("n" * 256, 73, "file name too long"),
        ("/dev/fd/99", 73, "bad file descriptor"),
    ],
)
@ANY_WAY
def test_what_cannot_be_written_says_why_and_leaves_nothing(tmp_path, monkeypatch, path, exit, words, params):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(OLD)
    (tmp_path / "loop").symlink_to("loop")
    error = refuse(path, **params)
    assert error.exit == exit
    assert error.message.startswith("cannot write ")
    assert words in error.message
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "loop"]
    assert os.listdir(tmp_path / "folder") == []


@REPLACE_OR_APPEND
@pytest.mark.rights
def test_what_is_not_allowed_is_77(open_dir, params):
    (open_dir / "file").write_bytes(OLD)
    (open_dir / "file").chmod(0o444)
    (open_dir / "closed").mkdir(mode=0o555)
    for path in ("file", "closed/new", "closed/far/new"):
        assert as_nobody(lambda path=path: write(str(open_dir / path), **params)) == 77
    assert (open_dir / "file").read_bytes() == OLD
    assert os.listdir(open_dir / "closed") == []


@pytest.mark.rights
def test_a_directory_that_cannot_be_read_can_be_written_to(open_dir):
    (open_dir / "box").mkdir()
    (open_dir / "box").chmod(0o333)
    assert as_nobody(lambda: write(str(open_dir / "box/letter"))) == 0
    assert (open_dir / "box/letter").read_bytes() == NEW


@pytest.mark.parametrize("links", ["hard links", "no hard links"])
@pytest.mark.parametrize("params", [{}, {"overwrite": False}])
def test_a_file_that_appears_meanwhile_is_replaced_only_with_overwrite(tmp_path, monkeypatch, links, params):
    path = tmp_path / "file"
    fsync, link = os.fsync, os.link

    def fsync_late(fd: int) -> None:
        fsync(fd)
        if not path.exists():
            path.write_bytes(OLD)

    def link_named(source: str, *args: object, **kwargs: object) -> None:
        if links == "no hard links" and not source.startswith("/proc"):
            raise PermissionError(errno.EPERM, "no links here")
        link(source, *args, **kwargs)

    monkeypatch.setattr(os, "fsync", fsync_late)
    monkeypatch.setattr(os, "link", link_named)
    if params:
        assert refuse(str(path), **params).exit == 73
    else:
        write(str(path))
    assert path.read_bytes() == (OLD if params else NEW)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("params", [{"append": True}, {"overwrite": False}])
def test_without_hard_links_a_new_file_is_still_made(tmp_path, monkeypatch, params):
    def refuse_link(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse_link)
    write(str(tmp_path / "file"), **params)
    assert (tmp_path / "file").read_bytes() == NEW
    assert os.listdir(tmp_path) == ["file"]


def test_those_who_append_take_turns(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(OLD)
    flock, turns = fcntl.flock, []

    def wait_for_turn(fd: int, operation: int) -> None:
        with pytest.raises(BlockingIOError):
            flock(fd, operation | fcntl.LOCK_NB)
        other.close()
        flock(fd, operation)
        turns.append(path.read_bytes())

    other = path.open("ab")
    flock(other, fcntl.LOCK_EX)
    monkeypatch.setattr(fcntl, "flock", wait_for_turn)
    write(str(path), "mine\n", append=True)
    assert turns == [OLD]
    assert path.read_bytes() == OLD + b"mine\n"


def test_to_append_and_to_refuse_contradict_each_other():
    assert refuse("file", append=True, overwrite=False).exit == 2


class Stop(BaseException):
    """What a signal's handler raises."""


def be_killed(name: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def be_stopped(name: str) -> None:
    raise Stop


def fail(name: str) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


WAYS = [
    pytest.param(True, {}, OLD, NEW, id="replace"),
    pytest.param(True, {"append": True}, OLD, OLD + NEW, id="append"),
    pytest.param(False, {}, None, NEW, id="create"),
    pytest.param(False, {"append": True}, None, NEW, id="append-to-nothing"),
    pytest.param(False, {"overwrite": False}, None, NEW, id="create-without-overwrite"),
]


def strikes(
    folder: Path, existing: bool, what: Callable[[str], object], params: dict[str, bool]
) -> Iterator[tuple[int, bytes | None, list[str]]]:
    """For a strike at each call in turn: the exit code, the file's content, what else there is. The last one missed."""
    for number in range(1, 100):
        place = folder / str(number)
        place.mkdir()
        path = place / "file"
        if existing:
            path.write_bytes(OLD)
        code = strike(number, what, lambda path=path: write(str(path), **params))
        beside = [each.name for each in place.iterdir() if each != path]
        yield code, path.read_bytes() if path.exists() else None, beside
        if code == NEVER:
            assert number > 3
            return
    pytest.fail("it never ended")


@pytest.mark.parametrize("what", [be_stopped, fail])
@pytest.mark.parametrize(("existing", "params", "before", "after"), WAYS)
def test_a_signal_or_an_error_at_any_call_leaves_the_old_file_or_the_new(
    tmp_path, what, existing, params, before, after
):
    seen = set()
    for code, content, beside in strikes(tmp_path, existing, what, params):
        assert content in (before, after)
        assert beside == []
        assert content == after or code not in (0, NEVER)
        seen.add(content)
    assert seen == {before, after}


@pytest.mark.parametrize(("existing", "params", "before", "after"), WAYS)
def test_kill_9_at_any_call_leaves_the_old_file_or_the_new(tmp_path, existing, params, before, after):
    for code, content, beside in strikes(tmp_path, existing, be_killed, params):
        assert code in (-signal.SIGKILL, NEVER)
        assert content in (before, after)
        assert len(beside) <= 1
        assert all(name.startswith(".pflow-") and name.endswith(".tmp") for name in beside)


@pytest.mark.parametrize(("what", "left"), [(be_stopped, b""), (fail, b""), (be_killed, NEW[:5])])
@pytest.mark.parametrize("before", [OLD, None])
def test_of_an_append_that_ends_halfway_only_kill_9_leaves_a_part(tmp_path, what, left, before):
    path, write_some = tmp_path / "file", os.write

    def act() -> None:
        write(str(path), append=True)

    def write_halfway(fd: int, data: bytes) -> int:
        if os.fstat(fd).st_size == len(before or b"") + 5:
            what("write")
        return write_some(fd, data[:5])

    def act_halfway() -> None:
        os.write = write_halfway
        act()

    if before:
        path.write_bytes(before)
    assert in_child(act_halfway) != 0
    assert (path.read_bytes() if path.exists() else None) == (before and before + left)
    act()
    assert path.read_bytes() == (before + left if before else b"") + NEW


def test_what_others_append_meanwhile_is_not_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(OLD)

    def fsync_badly(fd: int) -> None:
        with open(path, "ab") as file:
            file.write(b"theirs\n")
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fsync_badly)
    assert refuse(str(path), "ours\n", append=True).exit == 73
    assert path.read_bytes() == OLD + b"ours\ntheirs\n"


@ANY_WAY
def test_a_fifo_is_written_to_directly(tmp_path, params):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    write(str(path), **params)
    reader.join()
    assert got == [NEW]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert os.listdir(tmp_path) == ["fifo"]


@ANY_WAY
def test_devices_are_written_to_directly(params):
    write("/dev/null", **params)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    error = refuse("/dev/full", **params)
    assert (error.exit, error.message) == (73, "cannot write '/dev/full': no space left on device")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd"])
def test_an_open_file_is_written_to_where_it_stands(tmp_path, folder):
    with open(tmp_path / "log", "wb", buffering=0) as file:
        file.write(OLD)
        write(f"{folder}/{file.fileno()}", "more\n")
        file.write(b"after")
    assert (tmp_path / "log").read_bytes() == OLD + b"more\nafter"


def test_a_reader_that_leaves_is_73(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)

    def read_a_byte() -> None:
        with open(path, "rb", buffering=0) as file:
            file.read(1)

    reader = threading.Thread(target=read_a_byte)
    reader.start()
    error = refuse(str(path))
    reader.join()
    assert (error.exit, error.message) == (73, f"cannot write '{path}': broken pipe")
