"""What libraries print on stderr: the lines stay, the frames of tracebacks and all secrets go."""

import io
import logging

import pytest

from pflow.terminal.foreign import ForeignText
from pflow.values.masks import Secrets

TRACE = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    f()\n    ^^^\n\n  more\nValueError: bad\n'


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("a\n  b\n\nc\n", "a\n  b\n\nc\n"),
        ("half", "half"),
        ("\r 10%", "\r 10%"),
        (f"it failed\n{TRACE}next\n", "it failed\nValueError: bad\nnext\n"),
        (
            f"{TRACE}\nDuring handling of the above exception, another exception occurred:\n\n{TRACE}",
            "ValueError: bad\n" * 2,
        ),
        ("  + Exception Group Traceback (most recent call last):\n  |   f()\n  +----\nend", "end"),
        ("key canary-5 and 'canary-5'\n", "key *** and '***'\n"),
        ("environment variable-7\n", "environment ***\n"),
        ("Authorization: Bearer abc.def-123==\n", "Authorization: Bearer ***\n"),
    ],
)
def test_lines_stay_and_frames_and_secrets_go(monkeypatch, printed, shown):
    monkeypatch.setenv("SOME_TOKEN", "variable-7")
    Secrets().add("canary-5")
    for size in (1, 7, 10_000):
        out = io.StringIO()
        stream = ForeignText(out)
        stream.writelines(printed[at : at + size] for at in range(0, len(printed), size))
        stream.flush()
        assert out.getvalue() == shown


def test_with_debug_the_frames_stay_masked(monkeypatch):
    monkeypatch.setattr("sys.argv", ["pflow", "--debug"])
    Secrets().add("canary-5")
    out = io.StringIO()
    logger = logging.Logger("a library")
    logger.addHandler(logging.StreamHandler(ForeignText(out)))
    try:
        raise ValueError("canary-5")
    except ValueError:
        logger.exception("it failed")
    assert ("raise ValueError" in out.getvalue(), out.getvalue()[-16:]) == (True, "ValueError: ***\n")
