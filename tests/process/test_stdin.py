"""Reading stdin to its end, and the word to whoever waits for it at a terminal."""

import os

from pflow.process import streams
from pflow.process.streams import CHUNK, read_chunks


def in_child(act) -> int:
    """Run it in a process of its own, whose stdin and stderr it may change; its exit code is 0 when it returns True."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if act() else 1)
        finally:
            os._exit(2)
    return pid


def ended_well(pid: int) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_who_waits_at_a_terminal_is_told_for_what(monkeypatch):
    monkeypatch.setattr(streams, "_PATIENCE", 0.001)
    monkeypatch.setattr(os, "isatty", lambda fd: fd == 2)
    (source, writer), (heard, said) = os.pipe(), os.pipe()

    def act() -> bool:
        os.dup2(source, 0)
        os.dup2(said, 2)
        os.close(writer)
        return read_chunks() == [b"late"]

    pid = in_child(act)
    assert os.read(heard, 100) == b"waiting for stdin (-n if this step takes none)\n"
    os.write(writer, b"late")
    os.close(writer)
    assert ended_well(pid)


def test_where_the_terminal_is_gone_the_waiting_goes_on():
    heard, said = os.pipe()
    os.close(heard)

    def act() -> bool:
        os.dup2(said, 2)
        streams._say_waiting()
        return True

    assert ended_well(in_child(act))


def test_chunks_are_large_whatever_the_writes_were():
    source, writer = os.pipe()

    def act() -> bool:
        os.dup2(source, 0)
        os.close(writer)
        chunks = read_chunks()
        return b"".join(chunks) == b"abc" * 200_000 and all(1 << 16 <= len(chunk) <= 2 * CHUNK for chunk in chunks[:-1])

    pid = in_child(act)
    for _ in range(200_000):
        os.write(writer, b"abc")
    os.close(writer)
    assert ended_well(pid)
