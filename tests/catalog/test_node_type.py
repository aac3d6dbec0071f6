"""What a program's file says of it, in its first 4 KiB."""

import os

import pytest

from pflow.catalog.node_type import interpreter, interpreter_fault, program_interface, read_header
from pflow.errors import PflowError

ITEM = 'shared["text"]: str  # the text'


def put(file, text):
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(file)


@pytest.mark.parametrize("text", ["Do.\n\nInterface:\n- Reads: {}\n", "# Do.\n#\n# Interface:\n# - Reads: {}\n"])
def test_or_in_a_file_beside_it(tmp_path, text):
    put(tmp_path / "pflow-x.interface", text.format(ITEM))
    interface, _ = program_interface(put(tmp_path / "pflow-x", b"\x7fELF\0\xff"))
    assert (interface.summary, list(interface.reads)) == ("Do.", ["text"])


@pytest.mark.parametrize(
    "text", ["", "\0", "#!", "#!/bin/sh", "echo", b"\xff\xfe", b"\x7fELF" + b"\0" * 9000, "#" * 9000]
)
def test_a_program_that_says_nothing_is_open(tmp_path, text):
    assert program_interface(put(tmp_path / "pflow-x", text))[0].open


def test_an_interface_that_goes_on_past_them_is_refused(tmp_path):
    items = "".join(f"# - Params: p{n}: int  # one\n" for n in range(200))
    with pytest.raises(PflowError, match="exceeds the first 4 KiB"):
        program_interface(put(tmp_path / "pflow-x", f"#!/bin/sh\n# Do.\n# Interface:\n{items}echo\n"))
    body = "echo\n" * 2000
    interface, _ = program_interface(put(tmp_path / "pflow-x", f"# Do.\n# Interface:\n# - Reads: {ITEM}\n{body}"))
    assert list(interface.reads) == ["text"]


@pytest.mark.parametrize("put_it", [os.mkdir, os.mkfifo, lambda file: os.symlink("/dev/zero", file)])
def test_what_is_no_file_is_not_opened(tmp_path, put_it):
    put_it(tmp_path / "pflow-x")
    with pytest.raises(OSError, match="it is not a file"):
        read_header(str(tmp_path / "pflow-x"))


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("#!/bin/sh", "/bin/sh"),
        ("#! /usr/bin/awk -f", "/usr/bin/awk"),
        ("#!/usr/bin/env node", "node"),
        ("#!/usr/bin/env -S deno run --allow-read", "deno"),
        ("#!/usr/bin/env -i A=1 sh", "sh"),
        ("#!/usr/bin/env -u A sh", ""),
        ("#!python", "./python"),
        ("#!", ""),
        ("echo", ""),
    ],
)
def test_an_interpreter_is_what_the_first_line_asks_for(line, asked):
    assert interpreter(line + "\nmore\n") == asked


@pytest.mark.parametrize("name", ["/nonexistent/sh", "/etc/passwd", "nonexistent-sh", "/bin/sh\r"])
def test_an_interpreter_that_is_not_there_is_told(name):
    assert interpreter_fault(name) == f"its interpreter {name!r} is missing"
    assert interpreter_fault("/bin/sh") == interpreter_fault("sh") == ""
