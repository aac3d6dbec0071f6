"""orjson is used for volumes, and nothing shows it: the same values and the same refusals as without it."""

import enum
import json
import math
import subprocess
import sys
import uuid

import orjson  # noqa: F401 - from here on it is loaded
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.values import fast_json, jsontext
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
