"""parse-json: the value in a text, and what is wrong in it, with the place."""

import pytest

from pflow.nodes.parse_json import ParseJson
from tests.nodes.values import refuse, run

FENCED = 'Here it is:\n\n```json\n{"a": [1, 2.5]}\n```\nAnything else?\n'


@pytest.mark.parametrize(
    ("value", "params", "result"),
    [
        (" [1, null]\n", {}, [1, None]),
        ('\ufeff{"$bytes": "aGk="}', {}, {"$bytes": "aGk="}),
        (FENCED, {}, {"a": [1, 2.5]}),
        ('```\n1\n```\n```JSON\n"two"\n```', {}, "two"),
        ('```json {"a": 1}``` !', {}, {"a": 1}),
        ('~~~\n{"a": "```"}', {}, {"a": "```"}),
        ('{"text": "```\\nno fence\\n```"}', {}, {"text": "```\nno fence\n```"}),
        ('1\r\n\n {"a": 2}\n', {"lines": True}, [1, {"a": 2}]),
    ],
)
def test_a_value_becomes(value, params, result):
    assert run(ParseJson, value, **params) == result


@pytest.mark.parametrize(
    ("value", "params", "exit", "words"),
    [
        ("", {}, 65, "line 1, column 1: it is empty"),
        ('{"a": 1,\n "b" 2}', {}, 65, "line 2, column 6: a colon is missing"),
        ("1\n2", {}, 65, "line 2, column 1: something follows the value"),
        (FENCED.replace("2.5", "2.5,x"), {}, 65, "line 4, column 15: "),
        ('{"a": 1, "a": 2}', {}, 65, "the key 'a' appears twice"),
        ("[NaN]", {}, 65, "line 1, column 2: NaN is not JSON"),
        ("[" * 100_000, {}, 65, "nested too deeply"),
        ("1\n[2,\n3]", {"lines": True}, 65, "line 2, column 4: it ends in the middle of a value"),
        ('{"a": "```[1]```",}', {}, 65, "line 1, column 19: nothing follows the comma"),
        ("```\n[3", {}, 65, "line 2, column 3: a comma or bracket is missing"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(value, params, exit, words):
    refuse(ParseJson, value, params, exit, words)
