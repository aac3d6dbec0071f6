"""join-text: values as one text."""

import pytest

from pflow.nodes.join_text import JoinText
from tests.nodes.values import refuse, run


@pytest.mark.parametrize(
    ("value", "params", "result"),
    [
        ([], {}, ""),
        (["a", None, 5, {"b": True}, b"c"], {}, 'a\n\n5\n{"b":true}\nc'),
        ('["a", 1]', {}, "a\n1"),
        ("a [b", {}, "a [b"),
        ({"x": "a", "y": "b"}, {"separator": ""}, "ab"),
    ],
)
def test_a_value_becomes(value, params, result):
    assert run(JoinText, value, **params) == result


@pytest.mark.parametrize(
    ("value", "params", "exit", "words"),
    [
        (5, {}, 65, "cannot join 'texts': it is an int"),
        (["a", b"\xff"], {}, 65, "cannot join item 2"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(value, params, exit, words):
    refuse(JoinText, value, params, exit, words)
