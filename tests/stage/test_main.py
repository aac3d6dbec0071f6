"""How the process of a stage ends: with its code, whatever became of stdout and stderr."""

import atexit
import io
import os
import sys

import pytest

from pflow.stage.main import leave


def closed() -> io.TextIOWrapper:
    stream = io.TextIOWrapper(io.BytesIO())
    stream.close()
    return stream


class Unread(io.StringIO):
    """Nobody reads it any more."""

    def flush(self) -> None:
        raise BrokenPipeError


@pytest.mark.parametrize("name", ["stdout", "stderr"])
@pytest.mark.parametrize("stream", [None, closed(), Unread(), io.StringIO()], ids=["none", "closed", "unread", "open"])
def test_a_stage_leaves_with_its_code_and_calls_who_asked_for_it(name, stream):
    told, teller = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
            setattr(sys, name, stream)
            atexit._clear()
            atexit.register(os.write, teller, b"called")
            leave(3)
        except SystemExit as leaving:
            atexit._run_exitfuncs()
            os._exit(leaving.code)
        finally:
            os._exit(99)
    os.close(teller)
    status = os.waitpid(pid, 0)[1]
    said = os.read(told, 100)
    os.close(told)
    assert said == b"called"
    assert os.waitstatus_to_exitcode(status) == 3
