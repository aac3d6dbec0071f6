"""template, select, split-text, join-text, parse-json, format-json: what they give, and what they refuse."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.nodes.format_json import FormatJson
from pflow.nodes.join_text import JoinText
from pflow.nodes.parse_json import ParseJson
from pflow.nodes.select import Select
from pflow.nodes.split_text import SplitText
from pflow.nodes.template import Template

PEOPLE = [{"name": "Ada", "born": 1815}, {"name": "Zoë", "born": None}]
FENCED = 'Here it is:\n\n```json\n{"a": [1, 2.5]}\n```\nAnything else?\n'


def run(node_class, value, **params):
    """What a node writes that gets a value for its first read; params that are called as reads stand in for them."""
    node, interface = node_class(), node_class.__doc__
    node.set_params(params)
    shared = {interface.partition('shared["')[2].partition('"')[0]: value}
    before = set(shared)
    node.run(shared)
    (written,) = set(shared) - before
    return shared[written]


@pytest.mark.parametrize(
    ("node", "value", "params", "result"),
    [
        (Template, "Dear $name", {}, "Dear $name"),  # filling is the work of who runs the node
        (Select, {"items": [{"name": "Ada"}]}, {"place": "items[-1].name"}, "Ada"),
        (Select, '{"a": {"odd key": null}}', {"place": 'a["odd key"]', "default": 1}, None),
        (Select, {"a": 1}, {"place": "b", "default": []}, []),
        (Select, {"a": 1}, {}, {"a": 1}),
        (Select, {"rows": PEOPLE}, {"place": "rows", "fields": ["born"]}, [{"born": 1815}, {"born": None}]),
        (Select, {"a.b": 1, "c": 2}, {"fields": ["a.b", "d"], "default": 0}, {"a.b": 1, "d": 0}),
        (SplitText, "", {}, []),
        (SplitText, "one two", {}, ["one two"]),
        (SplitText, "A. B.\n\nC d e f", {"size": 8}, ["A. B.\n\n", "C d e f"]),
        (SplitText, "A. B.\r\n\r\nC", {"size": 9}, ["A. B.\r\n\r\n", "C"]),
        (SplitText, "A b\nc d. E f", {"size": 9}, ["A b\n", "c d. E f"]),
        (SplitText, "A b\nc d. E f", {"size": 9, "by": "sentence"}, ["A b\nc d. ", "E f"]),
        (SplitText, "one two three", {"size": 5}, ["one ", "two ", "three"]),
        (SplitText, "abcdefg", {"size": 3}, ["abc", "def", "g"]),
        (SplitText, "ab cdefg", {"size": 5, "by": "character"}, ["ab cd", "efg"]),
        (SplitText, "aa bb cc dd", {"size": 6, "overlap": 4}, ["aa bb ", "bb cc ", "cc dd"]),
        (SplitText, "abcdef", {"size": 3, "overlap": 1}, ["abc", "cde", "ef"]),
        (SplitText, "a\n\n\n b\n\n c", {"size": 0}, ["a\n\n\n ", "b\n\n ", "c"]),
        (SplitText, "a\n\nb\n", {"size": 0, "by": "line"}, ["a\n", "\n", "b\n"]),
        (SplitText, " a\n\nb \n", {"size": 0, "by": "line", "strip": True}, ["a", "b"]),
        (SplitText, "見た。見た！", {"size": 0, "by": "sentence"}, ["見た。", "見た！"]),
        (JoinText, [], {}, ""),
        (JoinText, ["a", None, 5, {"b": True}, b"c"], {}, 'a\n\n5\n{"b":true}\nc'),
        (JoinText, '["a", 1]', {}, "a\n1"),
        (JoinText, "a [b", {}, "a [b"),
        (JoinText, {"x": "a", "y": "b"}, {"separator": ""}, "ab"),
        (ParseJson, " [1, null]\n", {}, [1, None]),
        (ParseJson, '\ufeff{"$bytes": "aGk="}', {}, {"$bytes": "aGk="}),
        (ParseJson, FENCED, {}, {"a": [1, 2.5]}),
        (ParseJson, '```\n1\n```\n```JSON\n"two"\n```', {}, "two"),
        (ParseJson, '{"text": "```\\nno fence\\n```"}', {}, {"text": "```\nno fence\n```"}),
        (ParseJson, '1\r\n\n {"a": 2}\n', {"lines": True}, [1, {"a": 2}]),
        (FormatJson, PEOPLE[:1], {"sort": True}, '[\n  {\n    "born": 1815,\n    "name": "Ada"\n  }\n]\n'),
        (FormatJson, PEOPLE[1], {"indent": 0}, '{"name":"Zoë","born":null}\n'),
        (FormatJson, PEOPLE, {"lines": True}, '{"name":"Ada","born":1815}\n{"name":"Zoë","born":null}\n'),
        (FormatJson, '{"b":1}', {"indent": 0}, '{"b":1}\n'),
        (FormatJson, "plain", {}, '"plain"\n'),
        (FormatJson, {"$bytes": b"\xff"}, {"indent": 0}, '{"$bytes":{"$bytes":"/w=="}}\n'),
    ],
)
def test_a_value_becomes(node, value, params, result):
    assert run(node, value, **params) == result


@pytest.mark.parametrize(
    ("node", "value", "params", "exit", "words"),
    [
        (Select, {"a": {"b": 1}}, {"place": "a.c"}, 66, "cannot select 'a.c': no 'c' in data.a; it has b"),
        (Select, [1], {"place": "[1]"}, 66, "no '1' in data; it has 1 element"),
        (Select, PEOPLE, {"place": "rows[0].name"}, 66, "2 elements; the place begins in the list: '[0].name'"),
        (Select, {}, {"place": "a..b"}, 2, "'a..b' has an empty step"),
        (Select, [{"a": 1}, {}], {"fields": ["a"]}, 66, "no 'a' in data[1]; it is empty"),
        (Select, [1], {"fields": ["a"]}, 65, "cannot take fields of data[0]: it is an int"),
        (SplitText, "a", {"size": -1}, 2, "chunks of -1 characters"),
        (SplitText, "a", {"size": 4, "overlap": 4}, 2, "overlap by 4"),
        (SplitText, "a", {"size": 0, "overlap": 1}, 2, "overlap by 1"),
        (JoinText, 5, {}, 65, "cannot join 'texts': it is an int"),
        (JoinText, ["a", b"\xff"], {}, 65, "cannot join item 2"),
        (ParseJson, "", {}, 65, "line 1, column 1: it is empty"),
        (ParseJson, '{"a": 1,\n "b" 2}', {}, 65, "line 2, column 6: expecting ':' delimiter"),
        (ParseJson, "1\n2", {}, 65, "line 2, column 1: something follows the value"),
        (ParseJson, FENCED.replace("2.5", "2.5,"), {}, 65, "line 4, column 15: "),
        (ParseJson, '{"a": 1, "a": 2}', {}, 65, "the key 'a' appears twice"),
        (ParseJson, "[NaN]", {}, 65, "line 1, column 2: NaN is not JSON"),
        (ParseJson, "[" * 100_000, {}, 65, "nested too deeply"),
        (ParseJson, "1\n[2,\n3]", {"lines": True}, 65, "line 2, column 4: it ends in the middle of a value"),
        (ParseJson, "```\n[3", {}, 65, "line 2, column 3: expecting"),
        (FormatJson, "{b", {}, 65, "line 1, column 2: expecting"),
        (FormatJson, 1, {"indent": 17}, 2, "cannot indent by 17"),
        (FormatJson, {"a": float("inf")}, {}, 65, "inf is not JSON"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(node, value, params, exit, words):
    with pytest.raises(PflowError) as caught:
        run(node, value, **params)
    assert caught.value.exit == exit
    assert words in f"{caught.value.message}; {caught.value.hint}"


TEXTS = st.text(st.sampled_from("ab.!? \n\r\té。"), max_size=60)
KINDS = st.sampled_from(["paragraph", "line", "sentence", "word", "character"])


@given(text=TEXTS, by=KINDS, size=st.integers(0, 12))
def test_chunks_that_are_joined_are_the_text_and_none_is_too_long(text, by, size):
    chunks = run(SplitText, text, size=size, by=by)
    assert run(JoinText, chunks, separator="") == text
    assert all(chunks)
    assert not size or max(map(len, chunks), default=0) <= size


@given(text=TEXTS, by=KINDS, size=st.integers(2, 12), data=st.data())
def test_a_chunk_begins_with_the_end_of_the_one_before(text, by, size, data):
    overlap = data.draw(st.integers(1, size - 1))
    chunks = run(SplitText, text, size=size, by=by, overlap=overlap)
    place = 0
    for before, chunk in pairwise(chunks):
        start = text.index(chunk, place + len(before) - overlap)
        assert start <= place + len(before)
        place = start
    assert not chunks or place + len(chunks[-1]) == len(text)


WORDS = st.text(st.characters(codec="utf-8"), max_size=9)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
JSON = SCALARS | WORDS | st.lists(SCALARS | WORDS, max_size=3) | st.dictionaries(WORDS, SCALARS | WORDS, max_size=3)


@settings(max_examples=50)
@given(value=st.lists(JSON, max_size=3), indent=st.integers(0, 3), lines=st.booleans())
def test_what_is_formatted_and_parsed_is_the_same_value(value, indent, lines):
    text = run(FormatJson, value, indent=indent, lines=lines)
    assert run(ParseJson, text, lines=lines) == value
    assert lines or json.loads(text) == value
