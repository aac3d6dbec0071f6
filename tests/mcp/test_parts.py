"""The parts of the server that are logic: names, schemas, bounds."""

import os
import sys

import pytest

from pflow.mcp.offered import tool_name
from pflow.mcp.result import size_of, trim
from pflow.mcp.schema import fault_in, schema_of
from pflow.types import parse_type

NAMES = [
    ("llm", [], "llm"),
    ("flow:fix-issue", [], "fix-issue"),
    ("flow:llm", ["llm"], "flow_llm"),
    ("flow:a b", [], "a_b-"),
    ("flow:--x", [], "flow_--x"),
    ("flow:zoë", [], "zo_-"),
    ("flow:" + "x" * 200, [], "x" * 55 + "-"),
]


@pytest.mark.parametrize(("label", "taken", "begins"), NAMES)
def test_a_tool_is_called_what_it_is_as_far_as_that_can_be(label, taken, begins):
    name = tool_name(label, taken)
    assert name.startswith(begins)
    assert len(name) == len(begins) + 8 * begins.endswith("-")


def test_names_that_would_be_one_are_two():
    assert tool_name("flow:a b", []) != tool_name("flow:a\tb", [])


FITTING = [
    ("int", 7, 7.5),
    ("bool", False, 0),
    ("path", "a", ""),
    ("bytes", {"$bytes": "//4="}, {"$bytes": 1}),
    ("low|high", "low", "middle"),
    ("list[int]", [1, 2], [1, "2"]),
    ("dict{a: int, b: list[str]}", {"a": 1, "more": 2}, {"b": [1]}),
]


@pytest.mark.parametrize(("type", "good", "bad"), FITTING)
def test_a_schema_takes_what_its_type_does(type, good, bad):
    schema = schema_of(parse_type(type)[0])
    assert fault_in(schema, good) == ""
    assert fault_in(schema, bad)


@pytest.mark.parametrize("value", [None, 1.5, "x", True, [1], {"a": [None]}])
def test_any_takes_everything(value):
    assert fault_in(schema_of(parse_type("any")[0]), value) == ""


def test_what_is_short_is_not_cut():
    value = {"text": "x" * 100, "bytes": {"$bytes": "//4="}}
    assert trim(value, 1000) is value


BIG = ["x" * 10_000, {str(n): n for n in range(10_000)}, [["x" * 1000] * 1000], {"$bytes": "A" * 40_000}, "ü🎉" * 9_000]


@pytest.mark.parametrize("value", BIG, ids=range(len(BIG)))
def test_what_is_long_is_cut_below_the_limit(value):
    cut = trim({"value": value, "short": "kept"}, 5000)
    assert size_of(cut) <= 5000
    assert cut["short"] == "kept"


def test_only_serving_loads_the_sdk():
    code = (
        "import sys, pflow.commands.mcp, pflow.mcp.catalogue; sys.exit('mcp' in sys.modules or 'anyio' in sys.modules)"
    )
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0
