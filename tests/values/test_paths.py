"""Paths into a store."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.values.paths import look_up, parse_path, write_path

PATHS = [
    ("a", ("a",)),
    ("fetch.issue_data.labels[0].name", ("fetch", "issue_data", "labels", 0, "name")),
    ("a[0][1]", ("a", 0, 1)),
    ("a.0", ("a", "0")),
    ("raw_texts/doc1.txt", ("raw_texts", "doc1.txt")),
    ('["odd key"]', ("odd key",)),
    ('a["odd key"][0]', ("a", "odd key", 0)),
    ('["a/b"].c', ("a/b", "c")),
    ('a["]"]', ("a", "]")),
    ('a["\\"\\u00e9"]', ("a", '"é')),
    ("to-there.and-back", ("to-there", "and-back")),
]


@pytest.mark.parametrize(("text", "steps"), PATHS)
def test_a_path_is_its_steps(text, steps):
    assert parse_path(text) == steps


@pytest.mark.parametrize(
    "text",
    ["", ".", "a.", ".a", "a..b", "/a", "a/", "a//b", "a[", "a[]", "a[x]", "a[1", "a[1.5]", "a[+1]", "a[ 1 ]", "a.[0]",
     'a["b]', 'a["b"', "a['b']", "a[0]b", 'a["b"]c', "a[" + "9" * 5000 + "]", 'a["\\ud800"]', 'a["\\x"]'],
)  # fmt: skip
def test_what_is_no_path_is_refused(text):
    with pytest.raises(ValueError):
        parse_path(text)


STEPS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.sampled_from(["a", "odd key", "a.b", "a/b", "[0]", '"', "\\", "]", "0", "-1"])
    | st.integers(-(10**9), 10**9),
    min_size=1,
    max_size=5,
)


@given(STEPS)
def test_a_path_that_is_written_reads_as_the_same_steps(steps):
    assert parse_path(write_path(tuple(steps))) == tuple(steps)


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        (("a", "b", 0, "c"), "a.b[0].c"),
        (("",), '[""]'),
    ],
)
def test_a_path_is_written_the_way_a_person_would(steps, text):
    assert write_path(steps) == text


STORE = {
    "a": {"b": [10, {"c": "deep"}], "0": "key", "d e": 1, "n": None},
    "json": '{"list": "[1, [2, 3]]"}',
    "spaced": ' \n [1]',
    "broken": "[1", "large": '{"id": 1e400}',
    "plain": "text",
    "empty": {},
    "none": [],
    "one": [1],
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b[0]", 10),
        ("a.b.0", 10),
        ("a.b[-1].c", "deep"),
        ("a.0", "key"),
        ("a[0]", "key"),
        ("json", '{"list": "[1, [2, 3]]"}'),
        ("json.list[1][0]", 2),
    ],
)
def test_a_path_leads_to_its_value(path, value):
    assert look_up(STORE, parse_path(path)) == value


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("a.x", "no 'x' in a; it has b, 0, d e, n"),
        ("a.bb", "no 'bb' in a; it has b, 0, d e, n (did you mean b?)"),
        ("empty.x", "no 'x' in empty; it is empty"),
        ("one[9]", "no '9' in one; it has 1 element"),
        ("a.b[-3]", "no '-3' in a.b; it has 2 elements"),
        ("a.b.first", "no 'first' in a.b; it has 2 elements"),
        ("a.b[0].x", "no 'x' in a.b[0]; it is an int"),
        ("broken[0]", "no '0' in broken; it is a str"),
        ("large.id", "no 'id' in large; it is a str: the number 1e400 does not fit in a float"),
        ("json.lists", "no 'lists' in json; it has list (did you mean list?)"),
    ],
)
def test_a_path_that_leads_nowhere_says_what_there_is(path, why):
    with pytest.raises(PflowError, match=re.escape(why)) as caught:
        look_up(STORE, parse_path(path))
    assert caught.value.exit == 66
