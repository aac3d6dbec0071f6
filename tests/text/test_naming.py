"""What a misspelt name was meant to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.text.naming import did_you_mean, free, likely, names_meant, nearest, split_type
from tests.tools import limited

words = st.text("abc", max_size=7)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fech", "fetch"),
        ("fetcch", "fetch"),
        ("fetcx", "fetch"),
        ("ftech", "fetch"),
        ("stdot", "stdout"),
        ("respnose", "response"),
        ("responce_", "response"),
        ("abc", "abd"),
    ],
)
def test_a_slip_of_the_fingers_is_near(one, other):
    assert nearest(one, [other]) == other
    assert nearest(other, [one]) == one


@pytest.mark.parametrize(
    ("one", "other"),
    [("fetch", "fetch"), ("ab", "ac"), ("a", "ab"), ("fetch", "faith"), ("text", "test_it"), ("summary", "response")],
)
def test_the_same_short_and_other_names_are_not_near(one, other):
    assert nearest(one, [other]) is None


def test_the_nearest_of_several_is_taken():
    assert nearest("responze", ["request", "response", "responses"]) == "response"
    assert nearest("fetch", ["analyze", "fix"]) is None
    assert nearest("fetch", []) is None


def test_a_name_of_a_megabyte_is_near_to_nothing_at_once():
    with limited():
        assert nearest("x" * 1_000_000, ["x" * 20] * 20) is None


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("a.dat=image/png", ("a.dat", "image/png")),
        ("a=b.dat=Image/PNG", ("a=b.dat", "image/png")),
        ("http://h/x?a=image/1&id=3=audio/wav", ("http://h/x?a=image/1&id=3", "audio/wav")),
        ("a;b=c.dat=image/png; charset=binary;q=1", ("a;b=c.dat", "image/png")),
        *(
            (text, ("", ""))
            for text in (
                "",
                "a.dat",
                "a=b.dat",
                "a=png",
                "image/png",
                "h/x?u=http://h/y",
                "h?u=image/a/b.png",
                "h?u=image/a&id=3",
                "a=image/",
            )
        ),
    ],
)
def test_a_path_ends_before_the_last_media_type(text, split):
    assert split_type(text) == split


def test_of_two_as_near_the_first_in_the_alphabet_is_taken():
    assert nearest("stepx", ["stepz", "stepa"]) == "stepa"


@given(st.text("abc", min_size=3, max_size=8), st.data())
def test_a_letter_too_few_is_always_near(word, data):
    at = data.draw(st.integers(0, len(word) - 1))
    without = word[:at] + word[at + 1 :]
    assert nearest(word, [without]) == (without if len(without) >= 3 else None)


@pytest.mark.parametrize(
    ("names", "text"),
    [([], ""), ([None], ""), (["a"], "did you mean a?"), (["a", "b", "c"], "did you mean a, b or c?")],
)
def test_names_are_proposed_and_read_back(names, text):
    assert did_you_mean(*names) == text
    assert names_meant(f"{text} there is more") == [name for name in names if name]


def test_a_slip_comes_before_what_is_only_like_it():
    assert likely("read-fiel", ["read-field-of", "write-file", "read-file"], 2) == ["read-file", "read-field-of"]
    assert likely("read-fiel", []) == []


def test_a_free_name_makes_only_the_names_that_it_tries():
    made = []

    class Name(str):
        def __format__(self, spec):
            made.append(self)
            return super().__format__(spec)

    taken = {f"other_{number}" for number in range(100)}
    assert [free(Name("step"), taken) for _ in range(3)] == ["step", "step_2", "step_3"]
    assert len(made) == 3
