"""Text in columns for a terminal: its width, its wrapping, its tables, its colour."""

import re

import pytest

from pflow.errors import shorten
from pflow.explain.text import pipe_lines
from pflow.terminal.columns import Colour, colour_of, is_utf8, table, wrap
from pflow.text.printable import clean


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


XTERM = {"TERM": "xterm-256color"}
FORCED = {"CLICOLOR_FORCE": "1"}
NO = {"NO_COLOR": "1"}


@pytest.mark.parametrize(
    ("when", "variables", "is_terminal", "wanted"),
    [
        ("auto", XTERM, True, True),
        ("auto", XTERM, False, False),
        ("auto", {}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", XTERM | NO, True, False),
        ("auto", XTERM | {"NO_COLOR": ""}, True, True),
        ("auto", FORCED, False, True),
        ("auto", FORCED | {"TERM": "dumb"}, True, True),
        ("auto", XTERM | NO | FORCED, True, False),
        ("always", NO, False, True),
        ("always", {"TERM": "dumb"}, False, True),
        ("never", XTERM | FORCED, True, False),
    ],
)
def test_the_flag_is_over_no_color_over_clicolor_force_over_the_terminal(
    environment, when, variables, is_terminal, wanted
):
    environment(variables, is_terminal=is_terminal)
    assert colour_of(1, when).is_on is wanted


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_the_columns_of_a_painted_table_stand_where_they_did():
    rows = [("name", "a long text that has to be wrapped within its column"), ("b", "short"), ("", "c")]
    painted = table(rows, 40, first=Colour(is_on=True).name)
    assert [plain(line) for line in painted] == table(rows, 40)
    assert painted[0].startswith("  \x1b[36mname\x1b[0m  a long")
    assert painted[-1] == table(rows, 40)[-1]
