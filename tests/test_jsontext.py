"""JSON text is read and written strictly: nothing is rounded, dropped or made up."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.jsontext import LARGE, decode, encode, text_of
from pflow.scanner import scan, scan_loosely, scan_without_duplicates

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


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def beside_a_megabyte(value: bytes) -> bytes:
    """A list of a long text and the value: what orjson reads."""
    return b'["' + b"a" * LARGE + b'",' + value + b"]"


@given(VALUES)
def test_what_is_written_is_read_back_as_it_was(value):
    back = decode(encode(value))
    assert back == value
    assert encode(back) == encode(value)


@given(VALUES)
def test_a_large_text_reads_as_a_small_one_does(value):
    json = encode(value)
    assert decode(beside_a_megabyte(json))[1] == decode(json)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_a_large_text_is_written_as_a_small_one_is(text):
    long = text * (LARGE // len(text) + 1)
    assert decode(encode(long)) == long
    assert encode(long)[1:-1] == encode(text)[1:-1] * (LARGE // len(text) + 1)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"),
        (True, "true"),
        (1, "1"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        ('é\0\n"\\', '"é\\u0000\\n\\"\\\\"'),
        ([1, (2, 3)], "[1,[2,3]]"),
        ({"a": {}, "b": []}, '{"a":{},"b":[]}'),
        (b"\xff", '{"$bytes":"/w=="}'),
        (bytearray(b"\xff"), '{"$bytes":"/w=="}'),
        ({"$bytes": 1}, '{"$$bytes":1}'),
        ({"$$bytes": 1}, '{"$$$bytes":1}'),
        ({"$bytes": 1, "b": 2}, '{"$bytes":1,"b":2}'),
    ],
)
def test_a_value_is_written_compactly(value, written):
    assert encode(value) == written.encode()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (HIGHEST + 1, "64 bits"),
        (LOWEST - 1, "64 bits"),
        ("\ud800", "lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        ("x" * LARGE + "\ud800", "lone surrogate"),
        ({1: 2}, "key 1"),
        ({1, 2}, "set"),
        (object(), "object"),
    ],
)
def test_what_json_cannot_hold_is_refused_when_it_is_written(value, why):
    with pytest.raises(PflowError, match=why) as caught:
        encode([{"deep": value}] if not isinstance(value, str) else value)
    assert caught.value.exit == 65


def test_a_list_that_holds_itself_is_refused_when_it_is_written():
    loop: list = []
    loop.append(loop)
    with pytest.raises(PflowError, match="deep") as caught:
        encode(loop)
    assert caught.value.exit == 65


REFUSED = [
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e999",
    b"-1e999",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"1" * 5000,
    b'"\\ud800"',
    b'"\\uDFFF"',
    b'{"\\ud800":1}',
    b'"\xed\xa0\x80"',
    b'"\xff"',
    b'"\x01"',
    b"'a'",
    b"01",
    b"1.",
    b"tru",
    b"[1,]",
    b'{"a":1,}',
    b"{1:2}",
    b"[1 2]",
    b'{"$bytes":1}',
    b'{"$bytes":"no base64"}',
    b'{"$bytes":"QQ"}',
    nested(100_000),
]


@pytest.mark.parametrize("data", REFUSED, ids=lambda data: data[:24])
def test_what_is_no_strict_json_is_refused_when_it_is_read(data):
    with pytest.raises(ValueError):
        decode(data)


@pytest.mark.parametrize("tail", [b"", b",1234567890123456789"], ids=["short numbers", "a number of 19 digits"])
def test_what_follows_a_large_value_is_refused(tail):
    with pytest.raises(ValueError):
        decode(b'["' + b"a" * LARGE + b'"' + tail + b'],"b":[]')


@pytest.mark.parametrize("tail", [b"", b",1234567890123456789"], ids=["short numbers", "a number of 19 digits"])
def test_white_space_may_stand_around_a_large_value(tail):
    assert decode(b' \n["' + b"a" * LARGE + b'"' + tail + b"]\r\n\t")[0] == "a" * LARGE


@pytest.mark.parametrize("number", [LOWEST, HIGHEST, 2**53 + 1, 0, -1])
def test_an_integer_of_64_bits_is_read_exactly(number):
    assert decode(str(number).encode()) == number
    assert decode(beside_a_megabyte(str(number).encode()))[1] == number


@pytest.mark.parametrize("digits", ["1.10", "1e2", "1234567890123456789.5", "0.1234567890123456789", "1e-400"])
def test_a_float_is_read_the_same_in_a_small_and_a_large_text(digits):
    assert decode(digits.encode()) == float(digits)
    assert decode(beside_a_megabyte(digits.encode()))[1] == float(digits)


@pytest.mark.parametrize("key", ['"$bytes"', '"\\u0024bytes"', '"$\\u0062ytes"', '"$byt\\u0065s"'])
def test_a_key_that_another_tool_wrote_with_escapes_is_the_same_key(key):
    assert decode(f'{{{key}:"QQ=="}}'.encode()) == b"A"


@pytest.mark.parametrize("value", [[b"\xff"], {"a": b"\xff"}, [[["$bytes"]]]])
def test_bytes_are_found_at_any_depth(value):
    for _ in range(300):
        value = [value]
    deep = encode([value, {"$bytes": 1}])
    assert decode(deep) == [value, {"$bytes": 1}]


@pytest.mark.parametrize("depth", [300, 600, 900, 1200, 5000])
def test_a_depth_is_read_or_refused_in_words_whatever_stands_at_the_bottom(depth):
    for bottom in (b"", b'"\\u0041"', b'{"$bytes":""}'):
        try:
            decode(b"[" * depth + bottom + b"]" * depth)
        except ValueError:
            assert depth > 300


def test_a_key_may_stand_twice_anywhere_but_in_the_header():
    assert scan('{"a":1,"a":2}') == ({"a": 2}, 13)
    with pytest.raises(ValueError, match="twice"):
        scan_without_duplicates('{"a":1,"a":2}')
    with pytest.raises(ValueError, match="twice"):
        scan_without_duplicates('{"steps":[{"a":1,"\\u0061":2}]}')


def test_a_scan_says_where_a_value_ends_and_leaves_the_rest():
    assert scan('x{"a":[1]},"b"', 1) == ({"a": [1]}, 10)


@pytest.mark.parametrize("number", ["123456789012345678901234567890", "-" + "9" * 5000, "1e999"])
def test_the_end_of_a_number_of_any_size_can_be_found(number):
    assert scan_loosely(number + ",")[1] == len(number)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("a\nb", "a\nb"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (1.0, "1.0"),
        ([1, "two", None, True], '[1,"two",null,true]'),
        ({"é": "ü"}, '{"é":"ü"}'),
    ],
)
def test_a_value_inside_text_is_its_json_but_text_is_itself_and_null_is_empty(value, text):
    assert text_of(value) == text
