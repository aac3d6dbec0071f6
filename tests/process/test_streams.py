"""Stdin and stdout: what is input, what a stage says while it waits for that, and what is written, whole."""

import os
import shutil
import subprocess
import threading
from types import SimpleNamespace

import pytest

from pflow.errors import PflowError
from pflow.process import children, streams
from pflow.process.signals import ClosedPipe
from pflow.process.streams import Diverted, is_readable, raw_form, read_all, secure_standard_files, write_pieces
from tests.nodes.child import in_child


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize(
    ("name", "told"),
    [("slow", b"pflow: waiting for stdin from %d (slow) (-n if this step needs no input)\n"), ("pflow-slow", b"")],
)
def test_who_waits_is_told_for_which_program_but_not_behind_a_stage(monkeypatch, tmp_path, name, told, is_terminal):
    monkeypatch.setenv("NO_COLOR", "1")
    (source, writer), (heard, said) = os.pipe(), os.pipe()
    looks = iter([False, False, False, True])
    monkeypatch.setattr(streams, "wait_for", lambda fd, seconds: next(looks) and os.write(2, b"looked") > 0)
    monkeypatch.setattr(os, "isatty", lambda fd: is_terminal and fd == 2)
    with subprocess.Popen([shutil.copy(shutil.which("sleep"), tmp_path / name), "100"], stdout=writer) as process:
        pid = os.fork()
        if pid == 0:
            os.dup2(source, 0)
            os.dup2(said, 2)
            os.close(writer)
            os._exit(0 if read_all() == b"late" else 1)
        os.write(writer, b"late")
        os.close(writer)
        assert os.read(heard, 100) == (told % process.pid if told else b"looked")
        process.kill()
        assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize(
    ("limit", "writer", "ready_at", "waits", "restarts", "told"),
    [
        (None, "7 (cat)", 2, [10.0, None], 0, "waiting for stdin from 7 (cat) "),
        (None, "", 2, [10.0, None], 0, "waiting for stdin (-n"),
        (None, "7 (pflow-llm)", 3, [10.0, 10.0, 10.0], 0, ""),
        (4, "7 (pflow-llm)", 3, [2.0, 2.0, 2.0], 2, ""),
        (4, "7 (cat)", 3, [2.0, 2.0, 2.0], 0, ""),
        (20, "7 (cat)", 2, [10.0, 10.0], 0, "waiting for stdin from 7 (cat) "),
        (60, "7 (cat)", 3, [10.0, 30.0, 30.0], 0, "waiting for stdin from 7 (cat) "),
    ],
)
def test_a_time_limit_begins_anew_while_a_stage_before_it_works(
    monkeypatch, limit, writer, ready_at, waits, restarts, told
):
    waited, said, deadline = [], [], SimpleNamespace(seconds=limit, begun=0)
    deadline.restart = lambda: setattr(deadline, "begun", deadline.begun + 1)

    def wait_for(fd, seconds):
        waited.append(seconds)
        return len(waited) == ready_at

    monkeypatch.setattr(streams, "wait_for", wait_for)
    monkeypatch.setattr(streams, "say", lambda who, text: said.append(text))
    monkeypatch.setattr(children, "writers", lambda fd: [writer] if writer else [])
    streams._wait_for_first_byte(None if limit is None else deadline)
    seen = [each for each in waits if each is not None]
    assert (waited, deadline.begun) == (seen, restarts)
    assert told in "".join(said)
    assert len(said) == bool(told)


@pytest.fixture
def stdin():
    """Sets what stdin is."""
    saved = os.dup(0)
    yield lambda fd: os.dup2(fd, 0)
    os.dup2(saved, 0)
    os.close(saved)


def test_stdin_is_input_unless_it_is_empty_by_nature_or_read_halfway(tmp_path, stdin):
    (tmp_path / "a").write_text("text")
    file, folder = os.open(tmp_path / "a", os.O_RDONLY), os.open(tmp_path, os.O_RDONLY)
    ours, theirs = os.pipe()
    terminal, screen = os.openpty()
    for fd, is_input in ((file, True), (ours, True), (screen, False)):
        stdin(fd)
        assert is_readable() == is_input
    for name, is_input in (("/dev/null", False), ("/dev/zero", True)):
        device = os.open(name, os.O_RDONLY)
        stdin(device)
        assert is_readable() == is_input
        os.close(device)
    os.lseek(file, 1, os.SEEK_SET)
    stdin(file)
    assert (is_readable(), is_readable("text")) == (False, True)
    stdin(folder)
    with pytest.raises(PflowError, match="cannot read stdin: it is a directory") as caught:
        is_readable()
    assert caught.value.exit == 64
    os.close(0)
    assert not is_readable()
    for fd in (file, folder, ours, theirs, terminal, screen):
        os.close(fd)


def test_a_closed_standard_file_is_open_from_now_on_and_named():
    def check(*closed):
        for fd in closed:
            os.close(fd)
        assert secure_standard_files() == list(closed)
        assert [os.path.samefile(f"/proc/self/fd/{fd}", "/dev/null") for fd in closed] == [True] * len(closed)
        assert os.open("/dev/zero", os.O_RDONLY) > 2
        os.write(2, b"")
        os._exit(7)

    for closed in ((), (0,), (1, 2), (0, 1, 2)):
        assert in_child(lambda closed=closed: check(*closed)) == 7


def test_prints_go_to_stderr_while_they_are_diverted(capfd):
    with Diverted():
        os.write(1, b"print\n")
    os.write(1, b"store\n")
    assert capfd.readouterr() == ("store\n", "print\n")


@pytest.mark.parametrize("most", [1 << 20, 1000])
def test_all_is_written_however_little_a_write_takes_and_small_pieces_in_one(monkeypatch, most):
    out, into = os.pipe()
    os.set_blocking(into, most == 1 << 20)
    written, got, write = [], bytearray(), streams._write
    monkeypatch.setattr(streams, "_write", lambda fd, data: written.append(len(data)) or write(fd, data[:most]))
    large = [os.urandom(1 << 16), os.urandom(1 << 18)]

    def take():
        while part := os.read(out, 5000):
            got.extend(part)

    reader = threading.Thread(target=take)
    reader.start()
    pieces = [b"a", b"bc", large[0], b"", b"d", memoryview(b"e"), large[1], b"f"]
    write_pieces(into, pieces)
    os.close(into)
    reader.join()
    os.close(out)
    assert bytes(got) == b"".join(pieces)
    assert most < 1 << 20 or written == [3, 1 << 16, 2, 1 << 18, 1]
    assert into in streams.written_to


def test_a_reader_that_has_gone_is_no_error_and_a_disk_that_is_full_is_73():
    out, into = os.pipe()
    os.close(out)
    with pytest.raises(ClosedPipe):
        write_pieces(into, [b"x"])
    os.close(into)
    full = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(PflowError, match="cannot write to stdout: no space left on device") as caught:
        write_pieces(full, [b"x"])
    os.close(full)
    assert caught.value.exit == 73


@pytest.mark.parametrize(
    ("value", "form", "exact"),
    [
        (b"\xff", b"\xff", b"\xff"),
        (bytearray(b"x"), b"x", b"x"),
        ("", b"", b""),
        ("é", b"\xc3\xa9\n", b"\xc3\xa9"),
        ("a\n", b"a\n", b"a\n"),
        ({"a": [1, None]}, b'{"a":[1,null]}\n', b'{"a":[1,null]}\n'),
    ],
)
def test_a_value_for_other_programs(value, form, exact):
    assert (raw_form(value), raw_form(value, exact=True)) == (form, exact)
