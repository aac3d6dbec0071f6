"""One translation between types and schemas: what it says one way, it reads the other way."""

import pytest
from jsonschema import Draft202012Validator

from pflow.mcp.schema import ANYTHING, NO_LIST, UNTYPED, schema_of, type_of
from pflow.values.types import parse_type

FITTING = [
    ("list", [[[1]], {"a": []}], {"a": []}),
    ("int", 7, 7.5),
    ("bool", False, 0),
    ("path", "a", ""),
    ("bytes", {"$bytes": "//4="}, {"$bytes": 1}),
    ("low|high", "low", "middle"),
    ("list[int]", [1, 2], [1, "2"]),
    ("dict{a: int, b: list[str]}", {"a": 1, "more": 2}, {"b": [1]}),
    ("list[any]", [None, 1.5, "x", True, [1], {"a": [None]}], {}),
]


@pytest.mark.parametrize(("type", "good", "bad"), FITTING)
def test_a_schema_takes_what_its_type_does(type, good, bad):
    schema = Draft202012Validator(schema_of(parse_type(type)[0]))
    assert schema.is_valid(good)
    assert not schema.is_valid(bad)


@pytest.mark.parametrize("items", [UNTYPED, NO_LIST, ANYTHING])
@pytest.mark.parametrize(
    "text", ["str", "int", "float", "bool", "dict", "any", "a|b-c", "list[int]", "list[list[x|y]]"]
)
def test_a_type_comes_back_from_its_schema(text, items):
    schema = schema_of(parse_type(text)[0], items)
    assert str(type_of(schema, schema)) == text


@pytest.mark.parametrize(
    ("type", "read"),
    [("url", "str"), ("path", "str"), ("bytes", "any"), ("dict{a: int}", "dict"), ("list", "list[any]")],
)
def test_what_a_schema_cannot_tell_comes_back_as_the_nearest_type(type, read):
    schema = schema_of(parse_type(type)[0])
    assert str(type_of(schema, schema)) == read


@pytest.mark.parametrize(
    ("schema", "type"),
    [
        ({"type": "number"}, "float"),
        ({"type": ["null", "boolean"]}, "bool"),
        ({"type": ["string", "integer"]}, "any"),
        ({"type": ["null"], "enum": ["a"]}, "any"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "int"),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "any"),
        ({"enum": ["a", "b-c", None]}, "a|b-c"),
        ({"enum": ["a b", "c"], "type": "string"}, "str"),
        ({"enum": ["a", "a"]}, "str"),
        ({"enum": [1, 2, None]}, "int"),
        ({"const": True}, "bool"),
        ({"enum": [1, "a"]}, "any"),
        ({"type": "array", "items": {"$ref": "#/$defs/Mode"}}, "list[x|y]"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "dict"),
        ({"$ref": "#/$defs/Loop"}, "any"),
        ({"$ref": "https://example.com/schema"}, "any"),
        (True, "any"),
    ],
)
def test_a_schema_becomes_a_type(schema, type):
    root = {"$defs": {"Mode": {"enum": ["x", "y"]}, "Loop": {"$ref": "#/$defs/Loop"}}}
    assert str(type_of(schema, root)) == type
