"""format-json: a value as JSON."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.nodes.format_json import FormatJson
from pflow.nodes.parse_json import ParseJson
from tests.nodes.values import refuse, run

PEOPLE = [{"name": "Ada", "born": 1815}, {"name": "Zoë", "born": None}]


@pytest.mark.parametrize(
    ("value", "params", "result"),
    [
        (PEOPLE[:1], {"sort": True}, '[\n  {\n    "born": 1815,\n    "name": "Ada"\n  }\n]\n'),
        (PEOPLE[1], {"indent": 0}, '{"name":"Zoë","born":null}\n'),
        (PEOPLE, {"lines": True}, '{"name":"Ada","born":1815}\n{"name":"Zoë","born":null}\n'),
        ('{"b":1}', {"indent": 0}, '{"b":1}\n'),
        ("plain", {}, '"plain"\n'),
        ({"$bytes": b"\xff"}, {"indent": 0}, '{"$bytes":{"$bytes":"/w=="}}\n'),
    ],
)
def test_a_value_becomes(value, params, result):
    assert run(FormatJson, value, **params) == result


@pytest.mark.parametrize(
    ("value", "params", "exit", "words"),
    [
        ("{b", {}, 65, "line 1, column 2: a key in double quotes is missing"),
        (1, {"indent": 17}, 2, "cannot indent by 17"),
        ({"a": float("inf")}, {}, 65, "inf is not JSON"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(value, params, exit, words):
    refuse(FormatJson, value, params, exit, words)


WORDS = st.text(st.characters(codec="utf-8"), max_size=9)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
JSON = SCALARS | WORDS | st.lists(SCALARS | WORDS, max_size=3) | st.dictionaries(WORDS, SCALARS | WORDS, max_size=3)


@settings(max_examples=50)
@given(value=st.lists(JSON, max_size=3), indent=st.integers(0, 3), lines=st.booleans())
def test_what_is_formatted_and_parsed_is_the_same_value(value, indent, lines):
    text = run(FormatJson, value, indent=indent, lines=lines)
    assert run(ParseJson, text, lines=lines) == value
    assert lines or json.loads(text) == value
