"""select: a place in data, or some of its fields."""

import pytest

from pflow.nodes.select import Select
from tests.nodes.values import refuse, run

PEOPLE = [{"name": "Ada", "born": 1815}, {"name": "Zoë", "born": None}]


@pytest.mark.parametrize(
    ("value", "params", "result"),
    [
        ({"items": [{"name": "Ada"}]}, {"place": "items[-1].name"}, "Ada"),
        ('{"a": {"odd key": null}}', {"place": 'a["odd key"]', "default": 1}, None),
        ({"a": 1}, {"place": "b", "default": []}, []),
        ({"a": 1}, {}, {"a": 1}),
        ({"rows": PEOPLE}, {"place": "rows", "fields": ["born"]}, [{"born": 1815}, {"born": None}]),
        ({"a.b": 1, "c": 2}, {"fields": ["a.b", "d"], "default": 0}, {"a.b": 1, "d": 0}),
    ],
)
def test_a_value_becomes(value, params, result):
    assert run(Select, value, **params) == result


@pytest.mark.parametrize(
    ("value", "params", "exit", "words"),
    [
        ({"a": {"b": 1}}, {"place": "a.c"}, 66, "cannot select 'a.c': no 'c' in data.a; it has b"),
        ([1], {"place": "[1]"}, 66, "no '1' in data; it has 1 element"),
        (PEOPLE, {"place": "rows[0].name"}, 66, "2 elements; the place begins in the list: '[0].name'"),
        ({}, {"place": "a..b"}, 2, "'a..b' has an empty step"),
        ([{"a": 1}, {}], {"fields": ["a"]}, 66, "no 'a' in data[1]; it is empty"),
        ([1], {"fields": ["a"]}, 65, "cannot select fields of data[0]: it is an int"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(value, params, exit, words):
    refuse(Select, value, params, exit, words)
