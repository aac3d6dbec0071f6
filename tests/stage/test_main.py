"""How the process of a stage ends: with its code, whatever became of stdout and stderr."""

import io
import sys

import pytest

from pflow.stage.main import leave
from tests.stage.ends import end_of


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
    def act() -> None:
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        setattr(sys, name, stream)
        leave(3)

    assert end_of(act) == (3, b"called")
