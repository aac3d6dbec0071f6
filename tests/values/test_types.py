"""The types of the interface grammar, and values that are fitted to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.values.types import fit, from_text, parse_type

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


def of(type: str):
    return parse_type(type)[0]


def same(value, other) -> bool:
    return value == other and value.__class__ is other.__class__


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        ("str", "007", "007"),
        ("any", "007", "007"),
        ("int", "007", 7),
        ("int", "18446744073709551615", 2**64 - 1),
        ("int", "-9223372036854775808", -(2**63)),
        ("float", "1", 1.0),
        ("bool", "true", True),
        ("path", "caf\udce9", "caf\udce9"),
        ("bytes", "é", "é".encode()),
        ("bytes", "caf\udce9", b"caf\xe9"),
        ("a|b", "b", "b"),
        ("list", ' [1, "x"]', [1, "x"]),
        ("dict", '{"a": null}', {"a": None}),
    ],
)
def test_the_declared_type_decides_what_a_text_stands_for(type, text, value):
    assert same(from_text(of(type), text), value)


@pytest.mark.parametrize(
    ("type", "texts"),
    [
        ("str", ["caf\udce9"]),
        ("int", ["", "abc", "1.0", "1e3", "0x10", "1_0", " 1", "1 ", "٣", "--1", "18446744073709551616",
                 "-9223372036854775809", "9" * 5000, "0" * 5000 + "1"]),
        ("float", ["", "abc", "nan", "inf", "-inf", "1e999", "1_0", " 1", "1,5", "٣", "0x1p3"]),
        ("bool", ["", "True", "yes", "1", "on", " true"]),
        ("path", [""]),
        ("a|b", ["", "c", "A", "a|b", "a "]),
        ("list", ["", "a", "{}", "null", "[1", "[NaN]", "[1] 2"]),
        ("dict", ["", "a", "[]", "null", "{", '{"a":1e999}']),
    ],
)  # fmt: skip
def test_what_does_not_convert_is_refused(type, texts):
    for text in texts:
        with pytest.raises(ValueError):
            from_text(of(type), text)


@given(st.sampled_from(["str", "int", "float", "bool", "path", "bytes", "list", "dict", "any", "a|b"]), st.text())
def test_any_text_converts_or_is_refused_in_words(type, text):
    try:
        value = from_text(of(type), text)
    except ValueError as error:
        words = str(error)
    else:
        words = "taken" if of(type).takes(value) else ""
    assert words


@pytest.mark.parametrize(
    ("type", "value", "fitted"),
    [
        ("str", 7, "7"),
        ("str", [1, None], "[1,null]"),
        ("str", {"a": "é"}, '{"a":"é"}'),
        ("str", "é".encode(), "é"),
        ("int", 7.0, 7),
        ("float", 1, 1),
        ("path", b"caf\xe9", "caf\udce9"),
        ("bytes", "é", "é".encode()),
        ("bytes", b"\xff", b"\xff"),
        ("list[str]", [1, "a"], ["1", "a"]),
        ("list[int]", [1.0], [1]),
        ("list[int]", " [1.0, 2]\n", [1, 2]),
        *[("any", value, value) for value in (None, True, 0, 1.5, "", b"\xff", [], {})],
    ],
)
def test_a_value_of_the_store_fits(type, value, fitted):
    assert same(fit(of(type), value), fitted)
    assert type != "float" or same(fit(of(type), value, is_input=True), 1.0)  # as from its flag


@pytest.mark.parametrize(
    ("type", "value", "there"),
    [
        ("str", None, "null"),
        ("int", 1.5, "a float"),
        ("int", True, "a bool"),
        ("int", "7", "a str"),
        ("float", "1", "a str"),
        ("bool", 0, "an int"),
        ("list", "[1", "a str"),
        ("list", '{"a": []}', "a str"),
        ("a|b", "c", "'c'"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_both_are_named(type, value, there):
    with pytest.raises(ValueError) as caught:
        fit(of(type), value)
    assert str(caught.value) == f"it is {there}, not {type}"


def test_bytes_that_are_no_text_are_told_with_the_first_wrong_one():
    with pytest.raises(ValueError, match=r"^it is not UTF-8 \(byte 0xff at 2\)$"):
        fit(of("str"), b"ab\xff\xfe")


def test_an_item_of_a_list_that_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"at \[1\] it is a str, not int"):
        fit(of("list[int]"), [1, "x"])
