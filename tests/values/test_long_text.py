"""A long text goes through a pipe in parts: what comes out is the same, and it is never held three times."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.record.journal import pieces_of, read_lines
from pflow.stage import document
from pflow.values import long_text
from pflow.values.jsontext import decode, encode
from pflow.values.long_text import decode_long, encode_long

BIN = Path(sys.executable).parent
SIZE = 80_000_000


@pytest.fixture(autouse=True)
def short_parts(monkeypatch):
    for module in (long_text, document):
        monkeypatch.setattr(module, "LONG", 1)
    monkeypatch.setattr(long_text, "_PART", 16)


@given(text=st.text(st.sampled_from('ab"\\\n\x01é€😀'), max_size=80))
@example("\\" * 40)
@example("😀" * 20)
def test_in_parts_it_is_the_same_json_and_the_same_text(text):
    assert bytes(encode_long(text)) == encode(text)
    assert decode_long(encode(text)) == text
    escaped = "".join(f"\\u{unit:04x}" for char in text for unit in memoryview(char.encode("utf-16-le")).cast("H"))
    assert decode_long(f'"{escaped}"'.encode()) == text


@pytest.mark.parametrize("end", [*range(12, 40)])
@pytest.mark.parametrize("wrong", ['"', "\n", "\\x", "\\u12z", "\\ud800", "\\ude00\\ud83d"])
def test_what_is_no_text_is_left_to_say_so(end, wrong):
    json = f'"{"a" * end}{wrong}{"b" * 40}"'.encode()
    assert decode_long(json) is None
    with pytest.raises(ValueError):
        decode(json)


@pytest.mark.parametrize("json", ['{"a":"b"}', '["a"]', "5", '"a" '])
def test_anything_but_a_string_is_none(json):
    assert decode_long(json.encode()) is None


def test_a_lone_surrogate_is_refused_as_in_a_short_text():
    with pytest.raises(PflowError) as caught:
        encode_long("a" * 40 + "\ud800" + "b" * 40)
    assert caught.value.exit == 65


def test_a_pipe_and_a_flow_of_files_take_no_more_than_two_and_a_half_times_the_text(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "big").write_bytes(b'a line of text, "quoted"\n' * (SIZE // 25))
    read = [BIN / "pflow-read-file", "big", "-n"]
    write = [BIN / "pflow-write-file", "out", "-q"]
    with open(tmp_path / "pipe", "wb") as document:
        peaks = [peak(read, tmp_path, stdout=document)]
    with open(tmp_path / "pipe", "rb") as document:
        peaks.append(peak(write, tmp_path, stdin=document))
    assert (tmp_path / "out").read_bytes() == (tmp_path / "big").read_bytes()
    peaks.append(peak([BIN / "pflow", "run", "-nq", "read-file big => write-file out"], tmp_path))
    assert max(peaks) < 2.5 * SIZE


def test_a_record_of_a_journal_is_the_same_in_parts():
    text = 'é"\n' * 40
    record = {"end": "a", "changes": [[["b"], text], [["c"]], [["d"], {"e": [text]}]], "texts": {"f": b"g"}}
    for kept in (record, {name: record[name] for name in ("end", "changes")}):
        whole = json.dumps(kept, default=bytes.decode)
        ((read,), _) = read_lines(b"".join(pieces_of(kept)))
        assert read == json.loads(whole)
    with pytest.raises(PflowError):
        next(pieces_of({"end": "a", "changes": [[["b"], text + "\ud800"]]}))  # before anything is written


MEASURED = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
print(used.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak(command, folder, **streams):
    """The most memory that a program took, in bytes; a small one starts it, as a child begins with its parent's."""
    measured = [sys.executable, "-c", MEASURED, *command]
    done = subprocess.run(measured, cwd=folder, stderr=subprocess.PIPE, check=True, **streams)
    return int(done.stderr) * (1 if sys.platform == "darwin" else 1024)
