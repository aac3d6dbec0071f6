"""The words and separators of pipe syntax."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.flow.pipe.scan import quote, scan, scan_words


def texts(text):
    return [token.text for token in scan(text)]


def kinds(text):
    return " ".join(token.kind for token in scan(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b\tc", ["a", "b", "c"]),
        ("'a b'", ["a b"]),
        ('"a b"', ["a b"]),
        ("--x='a'\"b\"c", ["--x=abc"]),
        ("'it'\\''s'", ["it's"]),
        ("'a\\nb\"$x'", ['a\\nb"$x']),
        ('"a \\"b\\" \\$x \\` \\\\ \\n"', ['a "b" $x ` \\ \\n']),
        ('"a\\\nb"', ["ab"]),
        ("a\\\nb", ["ab"]),
        ("a \\\n b", ["a", "b"]),
        ("a\\", ["a"]),
        ("'a\nb'", ["a\nb"]),
        ("a # b 'c\nd", ["a", "\n", "d"]),
        ("a#b '#c'", ["a#b", "#c"]),
        ("${a b}", ["${a", "b}"]),
    ],
)
def test_words_are_quoted_as_in_a_posix_shell(text, words):
    assert texts(text) == words


@pytest.mark.parametrize("sign", ["=>", ">>", "|", "::", "=failed=>", "=not-found=>"])
def test_a_separator_is_a_word_without_quotes(sign):
    assert kinds(f"a {sign} b") == "word link word"
    assert kinds(f"a '{sign}' b") == "word word word"
    assert kinds(f'a "{sign}" b') == "word word word"
    assert kinds(f"a \\{sign} b").split()[1] == "word"


def test_a_bar_and_an_end_of_a_chain_need_no_spaces():
    assert texts("a|b;c\nd") == ["a", "|", "b", ";", "c", "\n", "d"]
    assert kinds("a|b;c\nd") == "word link word end word end word"


@pytest.mark.parametrize("text", ["a 'b", 'a "b', 'a "b\\"', "it's # it"])
def test_a_quote_that_is_never_closed_is_named(text):
    with pytest.raises(PflowError, match="is never closed") as caught:
        scan(text)
    assert caught.value.exit == 2


def test_the_place_of_a_fault_is_shown_with_what_is_around_it():
    text = "read-file --path=a\n  => llm --prompt='Summarize\n  => write-file --path=out.md and a good many words more"
    with pytest.raises(PflowError) as caught:
        scan(text)
    around = "…ath=a => llm --prompt='Summarize => write-file --path=ou…"
    assert caught.value.message == f"cannot read the flow at '{around}', line 2: the ' here is never closed"
    assert caught.value.hint


@pytest.mark.parametrize("text", ["--x=$'a\\n'", '$"a"'])
def test_quotes_that_only_some_shells_know_are_refused(text):
    with pytest.raises(PflowError, match="works only in a shell"):
        scan(text)


def test_words_that_a_shell_took_apart_are_not_taken_apart_again():
    words = ["llm", "--verbatim", "--text=", "--prompt=it's # a 'b' | c", "::", "x", "=>", "y", "=no=>", "z", ";", "w"]
    text, tokens = scan_words(words)
    assert [token.text for token in tokens] == words
    assert " ".join(token.kind for token in tokens) == "word word word word link word link word link word end word"
    assert text.startswith("llm --verbatim --text= --prompt=")
    assert [(token.kind, token.text, token.at) for token in scan(text)] == [
        (token.kind, token.text, token.at) for token in tokens
    ]


anything = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
awkward = st.text(st.sampled_from("a '\"\\\n\t$`|;#=><&:!{}~*é"), max_size=12) | st.sampled_from(["=>", "::", "|"])


@given(st.lists(anything | awkward, min_size=1, max_size=4))
def test_quoted_words_are_read_back(words):
    assert [(token.kind, token.text) for token in scan(" ".join(map(quote, words)))] == [
        ("word", word) for word in words
    ]
    assert texts(" ".join(map(shlex.quote, words))) == words


@given(st.lists(anything | awkward, min_size=1, max_size=4))
def test_quoted_words_are_what_a_shell_reads(words):
    assert shlex.split(" ".join(map(quote, words))) == words


def test_words_are_quoted_back_as_they_were_typed():
    assert (
        scan_words(["shell", "--no-check", "--command=", "--args=a b", ""])[0]
        == "shell --no-check --command= --args='a b' ''"
    )
