"""split-text: chunks that are the text, and none too long."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.nodes.join_text import JoinText
from pflow.nodes.split_text import SplitText
from tests.nodes.values import refuse, run


@pytest.mark.parametrize(
    ("value", "params", "result"),
    [
        ("", {}, []),
        ("one two", {}, ["one two"]),
        ("A. B.\n\nC d e f", {"size": 8}, ["A. B.\n\n", "C d e f"]),
        ("A. B.\r\n\r\nC", {"size": 9}, ["A. B.\r\n\r\n", "C"]),
        ("A b\nc d. E f", {"size": 9}, ["A b\n", "c d. E f"]),
        ("A b\nc d. E f", {"size": 9, "by": "sentence"}, ["A b\nc d. ", "E f"]),
        ("one two three", {"size": 5}, ["one ", "two ", "three"]),
        ("abcdefg", {"size": 3}, ["abc", "def", "g"]),
        ("ab cdefg", {"size": 5, "by": "character"}, ["ab cd", "efg"]),
        ("aa bb cc dd", {"size": 6, "overlap": 4}, ["aa bb ", "bb cc ", "cc dd"]),
        ("abcdef", {"size": 3, "overlap": 1}, ["abc", "cde", "ef"]),
        ("a\n\n\n b\n\n c", {"size": 0}, ["a\n\n\n ", "b\n\n ", "c"]),
        ("a\n\nb\n", {"size": 0, "by": "line"}, ["a\n", "\n", "b\n"]),
        (" a\n\nb \n", {"size": 0, "by": "line", "strip": True}, ["a", "b"]),
        ("見た。見た！", {"size": 0, "by": "sentence"}, ["見た。", "見た！"]),
    ],
)
def test_a_value_becomes(value, params, result):
    assert run(SplitText, value, **params) == result


@pytest.mark.parametrize(
    ("value", "params", "exit", "words"),
    [
        ("a", {"size": -1}, 2, "--size=-1: it must be 0 or more"),
        ("a", {"size": 4, "overlap": 4}, 2, "overlap by 4"),
        ("a", {"size": 0, "overlap": 1}, 2, "overlap by 1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(value, params, exit, words):
    refuse(SplitText, value, params, exit, words)


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
