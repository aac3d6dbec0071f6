"""Texts cut into chunks where a reader would cut them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.textsplit import split_text


@given(st.text(alphabet="ab. \nä", max_size=200), st.integers(1, 30))
def test_chunks_are_the_text_when_they_are_joined_and_none_is_too_long(text, size):
    chunks = [*split_text(text, size)]
    assert "".join(chunks) == text
    assert all(0 < len(chunk) <= size for chunk in chunks)


@given(st.text(alphabet="ab. \n", max_size=200), st.integers(2, 30), st.data())
def test_a_chunk_begins_with_the_end_of_the_one_before(text, size, data):
    overlap = data.draw(st.integers(1, size // 2))
    chunks = [*split_text(text, size, overlap)]
    assert all(after.startswith(before[-overlap:]) for before, after in pairwise(chunks))
    assert "".join([chunks[0], *(chunk[overlap:] for chunk in chunks[1:])] if chunks else []) == text


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("", []),
        ("short", ["short"]),
        ("One two. Three.\n\nFour five. Six\nseven.", ["One two. Three.\n\n", "Four five. Six\n", "seven."]),
        ("First a sentence. Then more", ["First a sentence. ", "Then more"]),
        ("no sentence ends in these words", ["no sentence ends in ", "these words"]),
        ("x" * 45, ["x" * 20, "x" * 20, "x" * 5]),
    ],
)
def test_the_best_boundary_in_the_second_half_of_a_chunk_ends_it(text, chunks):
    assert [*split_text(text, 20)] == chunks
