"""The types of the interface grammar."""

import pytest

from pflow.values.types import parse_type

PLAIN = ["str", "int", "float", "bool", "path", "bytes", "list", "dict", "any"]
SHAPES = [
    *PLAIN,
    "a|b|c",
    "text|json_lines|gpt-4.1",
    "list[str]",
    "list[list[int]]",
    "list[a|b]",
    "dict{title: str}",
    "dict{title: str, labels: list[str], user: dict{name: str}}",
    "list[dict{n: int}]",
]


@pytest.mark.parametrize("text", SHAPES)
def test_a_type_is_written_back_as_it_was_read(text):
    type, end = parse_type(text)
    assert str(type) == text
    assert end == len(text)


def test_a_shape_knows_its_parts():
    shape = parse_type("dict{title: str, labels: list[str]}")[0]
    assert shape.name == "dict"
    assert list(shape.fields) == ["title", "labels"]
    assert shape.fields["labels"].items.name == "str"
    assert parse_type("a|b")[0].choices == ("a", "b")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "missing"),
        ("string", "unknown type 'string'; did you mean str"),
        ("list[str", "']' is missing"),
        ("list[strs]", "'strs'"),
        ("dict{a}", "':' is missing"),
        ("dict{a: str", "'}' is missing"),
        ("dict{a: str,}", "missing"),
        ("a|", "missing"),
        ("# note", "missing"),
    ],
)
def test_what_is_no_type_is_refused_in_words(text, why):
    with pytest.raises(ValueError, match=why.replace("|", r"\|")):
        parse_type(text)


VALUES = [None, True, 1, 1.0, 1.5, "a", b"a", [1], {"a": 1}]


@pytest.mark.parametrize(
    ("type", "taken"),
    [
        ("str", ["a"]),
        ("int", [1, 1.0]),
        ("float", [1, 1.0, 1.5]),
        ("bool", [True]),
        ("path", ["a", b"a"]),
        ("bytes", ["a", b"a"]),
        ("list", [[1]]),
        ("dict", [{"a": 1}]),
        ("a|b", ["a"]),
        ("c|b", []),
        ("any", VALUES),
    ],
)
def test_a_type_takes_exactly_its_own_values(type, taken):
    def keyed(values):
        return [(value, value.__class__) for value in values]

    assert keyed(value for value in VALUES if parse_type(type)[0].takes(value)) == keyed(taken)
