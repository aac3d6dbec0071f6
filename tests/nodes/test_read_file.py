"""read-file: a file's content, exactly."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.nodes.read_file import ReadFile

HEAVY = {"asyncio", "dataclasses", "json", "pathlib", "re", "shutil", "subprocess", "tempfile", "typing"}


def read(path: object, **params: object) -> object:
    node = ReadFile()
    node.set_params(params)
    shared = {"path": path}
    node.run(shared)
    return shared["content"]


def refuse(path: object, **params: object) -> PflowError:
    with pytest.raises(PflowError) as caught:
        read(path, **params)
    return caught.value


def as_nobody(act: Callable[[], object]) -> int:
    """Do it in a process without root's rights. The exit code that pflow gives what it raised."""
    pid = os.fork()
    if pid == 0:
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            act()
            os._exit(0)
        except PflowError as error:
            os._exit(error.exit)
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"", ""),
        (b"one\ntwo\n", "one\ntwo\n"),
        (b"no last newline", "no last newline"),
        (b"dos\r\nmac\runix\n", "dos\r\nmac\runix\n"),
        (b"\xef\xbb\xbfmarked", "\ufeffmarked"),
        (b"nul \0 nul", "nul \0 nul"),
        ("ä€😀".encode(), "ä€😀"),
        (b"\xff\xfe", b"\xff\xfe"),
        (b"text, then \xff", b"text, then \xff"),
        (b"half a character \xc3", b"half a character \xc3"),
        (b"\xed\xa0\x80", b"\xed\xa0\x80"),  # a surrogate, which UTF-8 has not
    ],
)
def test_a_file_comes_as_it_is(tmp_path, data, content):
    path = tmp_path / "file"
    path.write_bytes(data)
    assert read(str(path)) == content


@given(data=st.binary())
def test_any_bytes_come_back_whole(data):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        content = read(file.name)
    assert (content.encode() if isinstance(content, str) else content) == data


@pytest.mark.parametrize(
    ("encoding", "data", "content"),
    [
        ("latin-1", b"gr\xfc\xdfe\r\n", "grüße\r\n"),
        ("utf-16", "grüße".encode("utf-16"), "grüße"),
        ("cp1252", b"\x80", "€"),
        ("utf-8", b"plain", "plain"),
        ("utf-8-sig", b"\xef\xbb\xbfmarked", "marked"),
        ("bytes", b"plain", b"plain"),
        ("bytes", b"", b""),
    ],
)
def test_an_encoding_decodes(tmp_path, encoding, data, content):
    path = tmp_path / "file"
    path.write_bytes(data)
    assert read(str(path), encoding=encoding) == content


def test_what_its_encoding_does_not_decode_is_named_with_its_place(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"four\xff")
    error = refuse(str(path), encoding="utf-8")
    assert error.exit == 65
    assert error.message == f"cannot read '{path}' as utf-8: invalid start byte at byte 4"


def test_a_decoder_that_tells_no_place_is_heard_too(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"a-b")
    error = refuse(str(path), encoding="punycode")
    assert error.exit == 65
    assert error.message.startswith(f"cannot read '{path}' as punycode: ")
    assert "incomplete punicode string" in error.message


@pytest.mark.parametrize("encoding", ["nonsense", "hex", "rot13", "nul\0nul"])
def test_an_unknown_encoding_is_refused_before_anything_is_read(encoding):
    error = refuse("/nowhere", encoding=encoding)
    assert error.exit == 2
    assert "no such encoding" in error.message


@pytest.mark.parametrize(
    ("path", "exit", "words"),
    [
        ("missing", 66, "no such file or directory"),
        (".", 66, "is a directory"),
        ("file/below", 66, "not a directory"),
        ("loop", 66, "symbolic links"),
        ("", 66, "the path is empty"),
        ("nul\0nul", 65, "holds no NUL"),
        ("~/file", 66, "no such file or directory"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, monkeypatch, path, exit, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    error = refuse(path)
    assert error.exit == exit
    assert error.message.startswith("cannot read ")
    assert words in error.message


def test_a_closed_file_is_77(open_dir):
    path = open_dir / "closed"
    path.write_text("secret")
    path.chmod(0)
    assert as_nobody(lambda: read(str(path))) == 77


def test_a_name_need_not_be_utf_8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff"
    with open(path, "w") as file:
        file.write("here")
    assert read(os.fsdecode(path)) == "here"
    assert read(path) == "here"


def test_a_fifo_is_read_to_its_end(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    text = "line\r\n" * 50_000
    writer = threading.Thread(target=path.write_bytes, args=(text.encode(),))
    writer.start()
    assert read(str(path)) == text
    writer.join()


def test_an_open_file_is_read_by_its_number():
    reader, writer = os.pipe()
    os.write(writer, b"through")
    os.close(writer)
    assert read(f"/dev/fd/{reader}") == "through"
    os.close(reader)


def test_a_device_is_read():
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert read("/dev/null") == ""


def test_reading_loads_nothing_heavy(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    program = (
        "import sys; from pflow.nodes.read_file import ReadFile; shared = {'path': sys.argv[1]};"
        f"ReadFile().run(shared); assert shared['content'] == 'x'; print(*({HEAVY!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program, path], env=_paths(), capture_output=True, check=True)
    assert done.stdout.split() == []


def _paths() -> dict[str, str]:
    """Our import path for a Python that -S keeps from loading what other packages load at each start."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
