"""The word to whoever waits at a terminal for what a stage waits for."""

import os

from pflow.process import streams
from pflow.process.streams import read_all


def test_who_waits_at_a_terminal_is_told_for_what(monkeypatch):
    monkeypatch.setattr(streams, "_PATIENCE", 0.001)
    monkeypatch.setattr(os, "isatty", lambda fd: fd == 2)
    (source, writer), (heard, said) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(source, 0)
        os.dup2(said, 2)
        os.close(writer)
        os._exit(0 if read_all() == b"late" else 1)
    assert os.read(heard, 100) == b"waiting for stdin (-n if this step needs no input)\n"
    os.write(writer, b"late")
    os.close(writer)
    assert os.waitpid(pid, 0)[1] == 0
