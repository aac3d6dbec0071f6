"""The items of a map: each form read as a stream, what is wrong with its place, and what is refused."""

import json
import os
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.map import items as module
from pflow.map.items import FORMS, BadItem, Items
from pflow.tables.csv_text import read_csv, stream_csv
from pflow.values.encoding import remedy

LIKELY, ODD = remedy(b"a\xff"), remedy(b"\0\xff")


def piped(data, form=""):
    """Return the items that come through a pipe, as `pflow map FLOW <(PROGRAM)` and stdin read them."""
    here, there = os.pipe()
    os.write(there, data if isinstance(data, bytes) else data.encode())
    os.close(there)
    try:
        items = Items([f"/dev/fd/{here}"], form, allow_empty=True)
        assert (items.is_stdin, items.count()) == (True, None)
        found = [each.message.partition(": ")[2] if isinstance(each, BadItem) else each for each in items]
        items.check_end()
        return found
    except PflowError as error:
        return error.exit, error.message.partition(": ")[2]
    finally:
        os.close(here)


@pytest.mark.parametrize(
    ("form", "data", "items"),
    [
        ("", '{"a":1}\r\n\n \n{"b":[2]}', [{"a": 1}, {"b": [2]}]),
        ("", '\ufeff\n\n {"a":1}\n[2]\n\ufeff"x"\n', [{"a": 1}, [2], "x"]),
        ("", '{"item": "a.txt", "error": "no"}\n{"item": 1}\n{"item": {"$bad": "{"}, "error": "x: no"}\n',
         ["a.txt", {"item": 1}, "no"]),
        ("", ' [1, {"a": "],\\""},\n [[2], {}], "\\\\"]\n', [1, {"a": '],"'}, [[2], {}], "\\"]),
        ("", "[ ]", []),
        ("jsonl", "[1, 2]\n[3]", [[1, 2], [3]]),
        ("", "\ufeff\n  a b\r\n \n\nc", ["  a b", "c"]),
        ("", b"a\xff\nb", [b"a\xff", "b"]),
        ("", "a b\nc\0 \0\0d", ["a b\nc", " ", "d"]),
        ("files", "docs/a.md\nb\n", ["docs/a.md", "b"]),
        ("", "\n \n", []),
        ("csv", '\r\n"a\nb";c\r\n1;"x\r\ny"\r\n\r\n2;3', [{"a\nb": "1", "c": "x\r\ny"}, {"a\nb": "2", "c": "3"}]),
        ("csv", "a,b\r1,2\r", [{"a": "1", "b": "2"}]),
        ("", b'{"$pflow":{"v":1,"last":"rows","members":1},\n"rows":[{"a":1},2]\n}\n', [{"a": 1}, 2]),
        ("", b'{"$pflow":{"v":1,"last":"text","members":1},\n"text":"a\\nb\\n"\n}\n', ["a", "b"]),
        ("", b'{"$pflow":{"v":1,"skipped":true,"members":0}\n}\n', []),
        # what cannot be read stands in its place
        ("", b'{}\n{"a":\n{"a":NaN}\n"\xff"\n2', [{}, "line 2, column 6: no JSON value", "line 3: NaN is not JSON",
         f"line 4, column 2: it is not UTF-8 ({LIKELY})", 2]),
        ("json", '[1, {"a": 1e999}, {], 1 2, 3,]', [1, "item 2: the number 1e999 does not fit in a float",
         "item 3, column 2: a key in double quotes is missing", "item 4, column 2: something follows the value",
         3, "item 6, column 1: no JSON value"]),
        ("csv", b'a,b\n1\n2,"x"y\n\xff,1\n"p\nq",3\n4,5,6\n7,"', ["line 2, column 2 ('b'): it is missing",
         "line 3, column 6: something follows a closing quote", f"line 4, byte 1: it is not UTF-8 ({LIKELY})",
         {"a": "p\nq", "b": "3"}, "line 7, column 3: it has no name, since the header has 2 columns",
         "line 8, column 3: this quote is not closed"]),
        ("jsonl", b'{}\n\0\xff\1\n[]\n{"a": "\x1b\xff\2"}\n""', [{}, f"line 2, column 2: it is not UTF-8 ({ODD})", [],
         f"line 4, column 9: it is not UTF-8 ({ODD})", ""]),
        ("", '[1, "a', [1, "it ends in the middle of item 2"]),
        ("", '[{"a": "x}, {"a": 2}]', ["it ends in the middle of item 1"]),
        ("", '{"item": {"$bad": [1]}, "error": ""}', [{"$bad": [1]}]),
        # no list at all
        ("", '{\n "a": 1\n}\n', (65, "its first line is not a whole value")),
        ("", "[1]\n[2]", (65, "something follows the list")),
        ("json", '{"rows": []}', (65, "it is not a list")),
        ("csv", "\n", (66, "it is empty")),
        ("csv", 'a\n1\n2,"\n' + 9_999 * "1\n" * 2, (65, "line 3: a value has more than 30,000 characters")),
        ("", "a\n".encode("utf-16"), (65, "it is UTF-16, not UTF-8 (byte 0xff at 0)")),
        ("", "a\n".encode("utf-16be"), (65, "it is UTF-16BE, not UTF-8")),
        ("jsonl", '{"a": 1}'.encode("utf-32le"), (65, "it is UTF-32LE, not UTF-8")),
        ("", "a\0b\0", ["a", "b"]),
        ("lines", b"\x1f\x8c\x08\0\0", (65, "it is not UTF-8 text")),
        ("", "x" * 40_000, (65, "item 1 has more than 30,000 bytes")),
        ("", f'["{"x" * 40_000}"]', (65, "item 1 has more than 30,000 bytes")),
        ("", b'{"$pflow":{"v":1,"last":"a","members":1},\n"a":{}\n}\n', (65, "the store carries no list")),
        ("", b'[\n{"$pflow": {"v": 1, "last": "a"}, "a": [1, 2]}\n]\n', [1, 2]),
        ("", b'[{"$pflow":{"v":1}},{"$pflow":{"v":1}}]',
         (65, "it is a list of several elements, and the first is a store")),
        ("", b'{"$pflow":{"v":1,"error":{"exit":69,"message":"x: no net"},"members":0}\n}\n', (69, "no net")),
        # the mark of a map behind its rows, and what only looks like one
        ("", b'{"a":1}\n{"$pflow":{"v":1,"error":{"exit":69,"message":"x: no net"}}}\n', (69, "no net")),
        ("lines", b'a\n{"$pflow":{"v":1,"failed":2}}\n', ["a"]),
        ("nul", b'a\0{"$pflow":{"v":1,"failed":2}}\n', ["a"]),
        ("csv", b'a\n1\n{"$pflow":{"v":1,"failed":2}}\n', [{"a": "1"}]),
        ("lines", b'a\n{"$pflow":{"v":1,"failed":2}}\n\nb\n', ["a", "b"]),  # of two maps, one after the other
        ("lines", b'a\n{"$pflow":{"v":1}}\n', ["a", '{"$pflow":{"v":1}}']),
    ],
)  # fmt: skip
def test_a_stream_is_recognized_and_read(monkeypatch, form, data, items):
    monkeypatch.setattr(module, "MOST", 30_000)
    monkeypatch.setattr("pflow.tables.csv_text._LONGEST", 30_000)
    monkeypatch.setattr("pflow.tables.csv_text.SAMPLE", 20_000)
    assert piped(data, form) == items


FILES = {"a.jsonl": "1\n2", "b.NDJSON": "3", "c.json": "[4]", "d.csv": "a\n5\n", "e.tsv": "a,\tb\n6\t7\n"}
FILES |= {"f.md": "-", "g.txt": "x\n", "h[1].txt": "y\n", "\udcff.md": "-"}


@pytest.mark.parametrize(
    ("words", "form", "expected"),
    [
        ("a.jsonl b.NDJSON c.json", "", [1, 2, 3, 4]),
        ("d.csv e.tsv", "", [{"a": "5"}, {"a,": "6", "b": "7"}]),
        ("h[1].txt", "", ["y"]),
        ("*.md **/g*", "", ["f.md", b"\xff.md", "g.txt"]),
        ("[fg].*", "lines", ["-", "x"]),
        ("f.md g.txt", "files", ["f.md", "g.txt"]),
        ("f.md", "", 2),
        ("g.txt h[1].txt", "", 2),
        ("", "", 2),  # stdin is /dev/null
        ("z*", "", 66),
        ("no.csv", "", 66),
    ],
)
def test_files_tell_their_form_by_their_names(tmp_path, monkeypatch, words, form, expected):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    try:
        items = Items(words.split(), form)
        assert items.count() == len([*items])
        found = [*items]
    except PflowError as error:
        found = error.exit
    assert found == expected


JSON = st.recursive(st.none() | st.integers(0, 9) | st.text('a"\\]{,é\n', max_size=5), lambda inner: st.lists(
    inner, max_size=3) | st.dictionaries(st.text("a]\\", max_size=2), inner, max_size=3), max_leaves=9)  # fmt: skip


@given(st.lists(JSON, max_size=5), st.integers(1, 9), st.sampled_from([None, 1]), st.booleans())
def test_a_list_is_read_alike_however_its_bytes_come(values, size, indent, ascii):
    data = json.dumps(values, indent=indent, ensure_ascii=ascii).encode()
    lines = "".join(f"{json.dumps(value)}\n" for value in values).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_PART", size)
        assert [piped(data), piped(lines, "jsonl")] == [values, values]


@given(st.text('ab",;\n\r', max_size=30))
@example(',";"\r";')  # whether a quote is open depends on the delimiter
def test_csv_as_a_stream_is_what_load_csv_reads(text):
    def rows(read):
        try:
            found = [*read()]
        except PflowError as error:
            return error.message
        return next((row[0].message for row in found if isinstance(row, tuple)), found)

    lines = text.encode().splitlines(keepends=True)
    assert rows(lambda: stream_csv(iter(lines), "x", available=99)) == rows(lambda: read_csv(text, "x")[1])


@pytest.mark.parametrize("form", ["jsonl", "json", "csv", "lines", "nul"])
def test_no_form_is_held_in_memory(tmp_path, form):
    start, between, end = {"json": ("[", ",", "]"), "nul": ("", "\0", "")}.get(form, ("", "\n", ""))
    path = tmp_path / "many"
    path.write_text(start + between.join(['"' + "x" * 100 + '"'] * 20_000) + end)
    tracemalloc.start()
    assert sum(1 for _ in Items([str(path)], form)) >= 19_999
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_an_item_is_there_before_the_next_is_written():
    here, there = os.pipe()
    parts = [(there, {"json": b"[1,", "csv": b"a\n1\n", "nul": b"1\0"}.get(form, b"1\n")) for form in FORMS[:5]]
    for form in FORMS[:5]:
        items = Items([f"/dev/fd/{here}"], form, allow_empty=True)
        items.while_idle = lambda _: os.write(*parts.pop(0))
        assert next(iter(items)) in (1, "1", {"a": "1"})
