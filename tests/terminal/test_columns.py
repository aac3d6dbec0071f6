"""Text in columns for a terminal: its width, its wrapping, its tables, what a terminal must not obey."""

import pytest

from pflow.explain.text import pipe_lines
from pflow.terminal.columns import is_utf8, shorten, table, wrap
from pflow.words.printable import clean


@pytest.mark.parametrize(
    ("locale", "is_so"),
    [
        ({"LANG": "en_US.UTF-8"}, True),
        ({"LANG": "C.utf8"}, True),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, True),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, False),
        ({"LC_ALL": "", "LANG": "de_DE.ISO-8859-1"}, False),
        ({}, False),
    ],
)
def test_the_locale_says_whether_the_terminal_shows_utf8(locale, is_so):
    assert is_utf8(locale) == is_so


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 5, [""]),
        ("one two three", 7, ["one two", "three"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("a abcdefgh b", 3, ["a", "abc", "def", "gh", "b"]),
    ],
)
def test_text_wraps_at_spaces_and_within_a_word_that_is_too_long(text, width, lines):
    assert wrap(text, width) == lines


def test_a_table_aligns_drops_empty_columns_and_wraps_the_widest():
    rows = [("a", "", "one two three four", "x"), ("b", "", "five", "")]
    assert table(rows, 20) == ["  a  one two       x", "     three four", "  b  five"]
    assert table([], 20) == []


def test_what_is_too_wide_is_cut():
    assert [shorten("abcdef", width) for width in (6, 4)] == ["abcdef", "abc…"]


def test_a_text_is_cleaned_to_one_line():
    assert clean("a\nb\tc\x00\ud800") == "a b c\\x00\\ud800"


def test_a_line_of_pipe_syntax_does_not_end_inside_quotes():
    assert pipe_lines("a\n  => b --z='\n' => c") == ["a", "  => b --z='\n' => c"]
