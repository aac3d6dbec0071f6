"""orjson is used for volumes, and nothing shows it: the same values and the same refusals as without it."""

import enum
import json
import math
import subprocess
import sys
import uuid
from pathlib import Path

import orjson  # noqa: F401 - from here on it is loaded
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.record.journal import pieces_of, read_lines
from pflow.stage import document
from pflow.values import fast_json, jsontext
from pflow.values.fast_json import decode_long, encode_long
from pflow.values.jsontext import decode, encode
from tests.values.test_jsontext import LOOP, REFUSED, VALUES

ODD = [math.nan, math.inf, -math.inf, 2**64, -(2**63) - 1, "\ud800", b"\xff", (1, ()), {1: 2}, {1}, LOOP, object()]
ODD += [uuid.UUID(int=1), "f\x03nan", {"$bytes": "QQ=="}, {"$$bytes": 1}, None]
ODD += [enum.StrEnum("Word", "a")("a"), name := type("Name", (str,), {})("a"), {name: 1}]
PIECES = [*'{}[],: \n-01.e"a\\é\x01\ufeff', "9" * 18, "null", "NaN", "1e400", "-0", "$bytes", "QQ==", '"a":', '"b"']
PIECES += ["\\u0024", "\\ud800", "\\udc00", "\\u00e9"]


def outcome(work, *arguments):
    """What comes of a call, a value (told from its equals by its repr) or a refusal in words."""
    try:
        return repr(work(*arguments))
    except (PflowError, ValueError) as error:
        return type(error), str(error)


@given(st.lists(st.sampled_from(PIECES)).map("".join).map(str.encode) | VALUES.map(jsontext.encode))
@example(b'{"a":1,"b":2,"a":3}')
@example(b"[" * 600 + b"]" * 600)
@example(b"[-9223372036854775808,18446744073709551615]")
@example(b'[-0,-0.0,0.1234567890123456789,1e-400,"12345678901234567890"]')
@example(b'[{"\\u0024bytes":"QQ=="},{"$byt\\u0065s":"QQ=="}]')
def test_a_text_is_read_or_refused_as_without_orjson(data):
    assert outcome(fast_json.decode, data) == outcome(jsontext.decode, data)


@pytest.mark.parametrize("data", REFUSED, ids=lambda data: data[:24])
def test_what_is_refused_stays_refused(data):
    assert outcome(fast_json.decode, data) == outcome(jsontext.decode, data)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_an_integer_past_64_bits_is_found_wherever_it_is(number):
    for before in range(20):
        with pytest.raises(ValueError, match="64 bits"):
            fast_json.decode(b" " * before + b"%d" % number)


@given(st.recursive(VALUES | st.sampled_from(ODD), lambda each: st.lists(each) | st.dictionaries(st.text(), each)))
def test_a_value_is_written_or_refused_as_without_orjson(value):
    written, slow = (outcome(lambda way=way: jsontext.decode(way.encode(value))) for way in (fast_json, jsontext))
    assert written == slow


@given(st.lists(VALUES))
@example([{"a": "},{"}, {}])
@example([{}, {"a": [{}, {"b": None}]}])
def test_lines_are_written_each_for_itself(values):
    written = fast_json.encode_each(values, (b"", b"\n\n", b"\n\n"))
    assert [*map(jsontext.decode, written.split(b"\n\n")[:-1])] == values


@pytest.mark.parametrize("sort", [False, True])
@example(value={"é": ["ü\n", 1.0, 1e22, True, None, {}, [], {"a": [[1], {"b": -1}]}], "": {"x": ""}})
@given(value=st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers(0, 9) | st.none() | st.just([])))
def test_it_is_indented_and_sorted_as_by_json(value, sort):
    text = json.dumps([value], indent=2, sort_keys=sort, ensure_ascii=False)
    assert fast_json.write_json([value], sort=sort) == text + "\n"


@pytest.mark.parametrize(("size", "is_loaded"), [(1000, False), (1_000_000, True)])
@pytest.mark.parametrize("work", ["decode(orjson_free)", "encode({'rows': [{'a': 'b' * 20}] * (size // 20)})"])
def test_orjson_is_imported_where_it_repays_that(size, is_loaded, work):
    script = f"import sys; from pflow.values.fast_json import *; size = {size}\n"
    script += f"orjson_free = b'[' + b'1,' * (size // 2) + b'1]'; {work}; print('orjson' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(is_loaded)]


BIN = Path(sys.executable).parent
SIZE = 80_000_000


@pytest.fixture(autouse=True)
def short_parts(monkeypatch):
    for module in (fast_json, document):
        monkeypatch.setattr(module, "LONG", 1)
    monkeypatch.setattr(fast_json, "_PART", 16)


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
