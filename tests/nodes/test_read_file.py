"""read-file: a file's content, exactly."""

import os
import tempfile
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.nodes.read_file import ReadFile
from tests.nodes.child import as_nobody

PIECES = [b"dos\r\n", b"mac\r", b"\xef\xbb\xbf", b"\0", "ä€😀".encode(), b"\xff", b"\xc3", b"\xed\xa0\x80"]
"""What a reader could change: line ends, a mark, a NUL, text, no UTF-8, half a character, a surrogate."""


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


@given(pieces=st.lists(st.sampled_from(PIECES) | st.binary()))
def test_any_file_comes_as_it_is_as_text_where_it_is_utf_8(pieces):
    data = b"".join(pieces)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        content = read(file.name)
    try:
        assert content == data.decode()
    except UnicodeDecodeError:
        assert content == data


@pytest.mark.parametrize(
    ("encoding", "data", "content"),
    [
        ("latin-1", b"gr\xfc\xdfe\r\n", "grüße\r\n"),
        ("utf-16", "grüße".encode("utf-16"), "grüße"),
        ("bytes", b"plain", b"plain"),
    ],
)
def test_an_encoding_decodes(tmp_path, encoding, data, content):
    path = tmp_path / "file"
    path.write_bytes(data)
    assert read(str(path), encoding=encoding) == content


@pytest.mark.parametrize(
    ("encoding", "data", "why"),
    [
        ("utf-8", b"four\xff", "in position 4: invalid start byte"),
        ("punycode", b"a-b", "incomplete pun"),  # a decoder whose words do not say where
    ],
)
def test_what_its_encoding_does_not_decode_is_named_with_its_place(tmp_path, encoding, data, why):
    path = tmp_path / "file"
    path.write_bytes(data)
    error = refuse(str(path), encoding=encoding)
    assert error.exit == 65
    assert error.message.startswith(f"cannot read '{path}' as {encoding}: ")
    assert why in error.message


@pytest.mark.parametrize("encoding", ["nonsense", "hex", "nul\0nul"])
def test_an_unknown_encoding_is_refused_before_anything_is_read(encoding):
    error = refuse("/nowhere", encoding=encoding)
    assert error.exit == 2
    assert ("it is not a text encoding" if encoding == "hex" else "no such encoding") in error.message


@pytest.mark.parametrize(
    ("path", "exit", "words"),
    [
        ("missing", 66, "no such file or directory"),
        (".", 66, "is a directory"),
        ("file/below", 66, "not a directory"),
        ("loop", 66, "symbolic links"),
        ("", 66, "the path is empty"),
        ("nul\0nul", 65, "cannot contain NUL"),
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


@pytest.mark.rights
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


def test_a_fifo_and_an_open_file_are_read_to_their_ends(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    text = "line\r\n" * 50_000
    writer = threading.Thread(target=path.write_bytes, args=(text.encode(),))
    writer.start()
    assert read(str(path)) == text
    writer.join()
    reader, end = os.pipe()
    os.write(end, b"through")
    os.close(end)
    assert read(f"/dev/fd/{reader}") == "through"
    os.close(reader)
