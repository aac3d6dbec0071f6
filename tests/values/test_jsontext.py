"""JSON text is read and written strictly: nothing is rounded, dropped or made up."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.files.schema import load_schema
from pflow.tables.source import read_json
from pflow.values import fast_json
from pflow.values.jsontext import decode, encode, scan, scan_without_duplicates, text_of
from pflow.values.paths import look_inside, look_up
from pflow.values.types import items_in

LOWEST, HIGHEST = -(2**63), 2**64 - 1

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
KEYS = TEXTS | st.sampled_from(["$bytes", "$$bytes", "$$$bytes", "$", "$pflow", "bytes"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(LOWEST, HIGHEST)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.binary(max_size=20),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(KEYS, values, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_read_back_as_it_was(value):
    back = decode(encode(value))
    assert back == value
    assert encode(back) == encode(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"),
        (True, "true"),
        (1, "1"),
        (-0.0, "-0.0"),
        ('é\0\n"\\', '"é\\u0000\\n\\"\\\\"'),
        ([1, (2, 3)], "[1,[2,3]]"),
        ({"a": {}, "b": []}, '{"a":{},"b":[]}'),
        (bytearray(b"\xff"), '{"$bytes":"/w=="}'),
        ({"$$bytes": 1}, '{"$$$bytes":1}'),
        ({"$bytes": 1, "b": 2}, '{"$bytes":1,"b":2}'),
    ],
)
def test_a_value_is_written_compactly(value, written):
    assert encode(value) == written.encode()


LOOP: list = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (HIGHEST + 1, "64 bits"),
        (LOWEST - 1, "64 bits"),
        ("\ud800", "lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        ({1: 2}, "key 1"),
        ({1, 2}, "set"),
        (object(), "object"),
        (LOOP, "deep"),
    ],
)
def test_what_json_cannot_hold_is_refused_when_it_is_written(value, why):
    with pytest.raises(PflowError, match=why) as caught:
        encode([{"deep": value}])
    assert caught.value.exit == 65


REFUSED = [
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"1" * 5000,
    b'"\\ud800"',
    b'{"\\uDFFF":1}',
    b'"\xed\xa0\x80"',
    b'"\x01"',
    b"'a'",
    b"01",
    b"tru",
    b"[1,]",
    b"{1:2}",
    b"[1 2]",
    b"[1],2",
    b'{"$bytes":1}',
    b'{"$bytes":"no base64"}',
    b'{"$bytes":"QQ"}',
    b"[" * 100_000 + b"]" * 100_000,
]


@pytest.mark.parametrize("data", REFUSED, ids=lambda data: data[:24])
def test_what_is_no_strict_json_is_refused_when_it_is_read(data):
    with pytest.raises(ValueError):
        decode(data)


@pytest.mark.parametrize("key", ['"\\u0024bytes"', '"$byt\\u0065s"'])
def test_a_key_that_another_tool_wrote_with_escapes_is_the_same_key(key):
    assert decode(f' {{{key}:"QQ=="}}\n'.encode()) == b"A"


@pytest.mark.parametrize("depth", [300, 900, 5000])
def test_a_depth_is_read_or_refused_in_words_whatever_stands_at_the_bottom(depth):
    for bottom in (b"", b'"\\u0041"', b'{"$bytes":""}'):
        try:
            decode(b"[" * depth + bottom + b"]" * depth)
        except ValueError:
            assert depth > 300


def test_a_key_may_stand_twice_anywhere_but_in_the_header():
    assert scan('x{"a":1,"a":2},"b"', 1) == ({"a": 2}, 14)
    with pytest.raises(ValueError, match="twice"):
        scan_without_duplicates('{"steps":[{"a":1,"\\u0061":2}]}')


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), ("a\nb", "a\nb"), (False, "false"), (1.0, "1.0"), ([1, "é", None], '[1,"é",null]')],
)
def test_a_value_inside_text_is_its_json_but_text_is_itself_and_null_is_empty(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize(
    "read",
    [
        lambda text: decode(text.encode()),
        lambda text: fast_json.decode(text.encode()),
        lambda text: look_up(text, ("a",)) and look_inside(text),
        lambda text: read_json(text, "a file"),
        lambda text: items_in(text.replace("{", "[{").replace("}", "}]"))[0],
        load_schema,
    ],
)
def test_every_reader_reads_json_behind_a_byte_order_mark(read):
    assert read('\ufeff \n{"type": "object", "a": [1]}\r\n') == {"type": "object", "a": [1]}
