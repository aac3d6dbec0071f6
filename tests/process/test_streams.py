"""The word to whoever waits for a stage, at a terminal or in a log, of what it waits for."""

import os
import shutil
import subprocess

import pytest

from pflow.process import streams
from pflow.process.streams import read_all


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
