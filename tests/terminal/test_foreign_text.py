"""What libraries print on stderr: the lines stay, the frames of tracebacks and all secrets go."""

import io
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from pflow.terminal.messages import ForeignText
from pflow.values.secrets import Secrets

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


def test_what_returns_to_the_beginning_of_its_line_or_is_long_is_shown_at_once():
    out = io.StringIO()
    stream = ForeignText(out)
    print("10%", end="\r", file=stream)
    assert out.getvalue() == "10%\r"
    for _ in range(10_000):
        print(".", end="", file=stream)
    assert out.getvalue().count(".") > 5_000


def test_threads_share_no_line_and_no_traceback():
    out = io.StringIO()
    stream = ForeignText(out)

    def tell(number):
        for _ in range(300):
            print("line", number, file=stream)
            for line in TRACE.splitlines():
                print(line, file=stream)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(tell, range(8)))
    lines = out.getvalue().splitlines()
    assert sorted({*lines}) == ["ValueError: bad", *(f"line {number}" for number in range(8))]
    assert len(lines) == 2 * 8 * 300


def test_a_name_with_any_byte_can_be_printed_on_a_terminal(monkeypatch):
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    out = io.StringIO()
    print(*(os.fsdecode(bytes([byte])) for byte in range(128, 256)), file=ForeignText(out))
    assert "\\x80 \\x81" in out.getvalue()


def test_for_all_else_it_is_the_stream_itself():
    with open(os.devnull, "w", encoding="latin-1") as file:
        stream = ForeignText(file)
        for name in ("encoding", "errors", "buffer", "closed", "name"):
            assert getattr(stream, name) == getattr(file, name)
        assert (stream.fileno(), stream.isatty()) == (file.fileno(), False)
        assert subprocess.run([sys.executable, "-c", ""], stderr=stream, check=False).returncode == 0
        with stream as same:
            assert same is stream
