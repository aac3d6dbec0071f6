"""Which types fit which."""

import pytest

from pflow.flow.expressions import MAYBE, NO, YES, fits, template_fits
from pflow.values.types import fit, parse_type

VALUES = {
    "str": "x",
    "int": 1,
    "float": 1.5,
    "bool": True,
    "path": "p",
    "bytes": b"b",
    "list": [1],
    "list[str]": ["a"],
    "list[int]": [1],
    "dict": {"a": 1},
    "dict{a: int}": {"a": 1},
    "a|b": "a",
}


def of(text):
    return parse_type(text)[0]


@pytest.mark.parametrize("wanted", [*VALUES, "any"])
@pytest.mark.parametrize("there", VALUES)
def test_a_type_that_never_fits_has_no_value_that_does(there, wanted):
    """Held against what takes the values when a flow runs."""
    try:
        fit(of(wanted), VALUES[there])
        takes = True
    except ValueError:
        takes = False
    if takes:
        assert fits(of(there), of(wanted)) != NO
    else:
        assert fits(of(there), of(wanted)) != YES or wanted == "a|b" or there == "list"


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [
        ("int", "str", YES),
        ("dict", "str", YES),
        ("int", "float", YES),
        ("float", "int", MAYBE),
        ("any", "str", YES),
        ("any", "int", MAYBE),
        ("any", "any", YES),
        ("str", "int", NO),
        ("str", "list", NO),
        ("list[int]", "list[str]", YES),
        ("list[str]", "list[int]", NO),
        ("list", "list[int]", YES),
        ("a|b", "a|b|c", YES),
        ("a|b", "b|c", MAYBE),
        ("a|b", "c|d", NO),
        ("str", "a|b", YES),
        ("int", "a|b", NO),
        ("path", "bytes", YES),
    ],
)
def test_which_types_fit_which(there, wanted, expected):
    assert fits(of(there), of(wanted)) == expected


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [("str", "int", YES), ("list", "int", NO), ("str", "list[str]", YES), ("dict", "int", NO), ("any", "int", YES)],
)
def test_text_in_a_template_is_read_as_a_flag_is(there, wanted, expected):
    assert template_fits(of(there), of(wanted)) == expected
