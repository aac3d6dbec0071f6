"""Files are read to their end and no further than the limit; digests."""

import hashlib
import os

import pytest

from pflow.errors import BAD_DATA, PflowError
from pflow.files import reading
from pflow.files.reading import (
    check_unpacked,
    file_digest,
    file_stamp,
    file_state,
    limit_input,
    open_regular,
    read_part,
    read_regular,
    read_to_end,
)


def test_a_file_counts_by_its_bytes(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"x" * (3 << 20))
    assert file_digest(str(file)) == hashlib.sha256(b"x" * (3 << 20)).hexdigest()


def test_what_is_no_regular_file_is_refused_unread(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", "/dev/zero"):
        with pytest.raises(OSError, match="not a regular file"):
            file_digest(str(path))


@pytest.fixture
def limit(monkeypatch):
    monkeypatch.setattr(reading, "_most", reading.MOST_INPUT)
    return limit_input


def read(path, act="cannot read it"):
    with open(path, "rb", buffering=0) as file:
        return read_to_end(file.fileno(), act)


@pytest.mark.parametrize("size", [0, 1, 1 << 16, (1 << 16) + 1, (1 << 20) + 1, 5 << 19])
def test_a_file_is_read_to_its_end(tmp_path, size):
    (tmp_path / "a").write_bytes(os.urandom(size))
    assert read(tmp_path / "a") == read_regular(str(tmp_path / "a")) == (tmp_path / "a").read_bytes()


def test_the_limit_is_the_most_that_an_input_may_have(tmp_path, limit):
    (tmp_path / "a").write_bytes(b"x" * 10)
    limit(10)
    assert len(read(tmp_path / "a")) == 10
    limit(9)
    with pytest.raises(PflowError, match="cannot read it: it has more than 9 bytes") as caught:
        read(tmp_path / "a")
    assert (caught.value.exit, caught.value.hint) == (BAD_DATA, "--max-input=BYTES takes more")
    out, into = os.pipe()  # which has no size
    os.write(into, b"x" * 10)
    os.close(into)
    with pytest.raises(PflowError, match="more than 9 bytes"):
        read_to_end(out, "cannot read stdin")
    os.close(out)


def test_a_pipe_that_another_process_made_non_blocking_is_waited_for():
    out, into = os.pipe()
    os.set_blocking(out, False)
    if (pid := os.fork()) == 0:
        os.read(os.open("/dev/null", os.O_RDONLY), 1)
        os.write(into, b"late")
        os._exit(0)
    assert read_part(out, 3) == b"lat"
    os.waitpid(pid, 0)
    os.close(out)
    os.close(into)


def test_a_bomb_is_what_unpacks_to_a_hundred_times_its_size_unless_a_limit_is_set(limit):
    for size, unpacked in ((0, 100_000_000), (1_000_001, 100_000_100), (10, 99_999_999)):
        check_unpacked(size, unpacked, "cannot unpack it")
        with pytest.raises(PflowError, match="it unpacks to more than 100 times its size") as caught:
            check_unpacked(size, max(unpacked, 100_000_000) + 1, "cannot unpack it")
        assert caught.value.exit == BAD_DATA
    limit(5)
    check_unpacked(0, 5, "cannot unpack it")
    with pytest.raises(PflowError, match="more than 5 bytes"):
        check_unpacked(1 << 30, 6, "cannot unpack it")


def replaced(path):
    path.rename(f"{path}.old")
    path.write_text("xy")
    os.utime(path, ns=(1, 1))


def test_a_stamp_changes_with_the_file_and_is_empty_while_the_next_change_may_be_missed(tmp_path):
    (tmp_path / "a").write_text("x")
    status = os.stat(tmp_path / "a")
    moment = 100_000_000
    assert file_stamp(status, status.st_ctime_ns + moment - 1) == ""
    assert file_stamp(status, status.st_ctime_ns + moment).split()[0] == "1"
    stamps = {file_stamp(status, 1 << 62)}
    for act in (lambda path: path.write_text("xy"), lambda path: os.utime(path, ns=(1, 1)), replaced):
        act(tmp_path / "a")
        stamps.add(file_stamp(os.stat(tmp_path / "a"), 1 << 62))
    assert len(stamps) == 4


def test_the_state_of_a_file_changes_with_what_is_in_it(tmp_path):
    path = tmp_path / "a"
    assert file_state(str(path)) is file_state("a\0") is None
    states = []
    for text in ("x", "xy"):
        path.write_text(text)
        states.append(file_state(str(path)))
    os.utime(path, ns=(1, 1))
    states.append(file_state(str(path)))
    path.chmod(0o600 if path.stat().st_mode & 0o77 else 0o644)
    states.append(file_state(str(path)))
    (tmp_path / "link").symlink_to("a")
    assert file_state(str(tmp_path / "link")) == states[-1] != file_state(str(tmp_path / "link"), follow=False)
    assert len({*states}) == 4


def test_a_file_of_our_own_is_made_for_its_owner_alone(tmp_path):
    os.close(open_regular(str(tmp_path / "new"), os.O_WRONLY | os.O_CREAT))
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
