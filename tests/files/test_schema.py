"""Schemas: llm's short form, and values that are no schema."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm import schema_dsl
from pydantic import BaseModel

from pflow.errors import PflowError
from pflow.files.schema import error_text, load_many, load_schema, misfits, read_as, worst_misfit

_FIELDS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["name", " a_b", "größe ", "x1"]),
    st.sampled_from(["", " str", " int", "  float ", " bool"]),
    st.sampled_from(["", ": in euros", " : a: b "]),
)


@given(st.lists(_FIELDS, min_size=2, max_size=4, unique_by=lambda field: field.split()[0].rstrip(":")), st.booleans())
def test_the_short_form_means_what_it_means_to_llm(fields, has_lines):
    text = ("\n" if has_lines else ",").join(fields)
    assert load_schema(text) == schema_dsl(text)


@pytest.mark.parametrize("text", ["url", "url str", "url,", "url: the address", "größe"])
def test_a_single_field_is_one_if_there_is_no_such_file(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_schema(text) == schema_dsl(text)
    (tmp_path / text).write_text('{"type": "array"}')
    assert (load_schema(text) == {"type": "array"}) == (text in ("url", "größe"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"maximum": 123456789012345678901234567890}', "at line 1, column 13: the integer 1234"),
        ('{\n"maximum": 1e400}', "at line 2, column 12: the number 1e400 does not fit in a float"),
        ("{'type': 'object'}", "at line 1, column 2: JSON has only double quotes"),
        ("true", "it is not a JSON object"),
        ("[1]", "it is not a JSON object"),
        ("url string", "'string' is not a type"),
        ("a, b c d", "'b c d' is not a field"),
        ("a int, a", "'a' appears twice"),
        (", ,", "it names no field"),
        ('{"type": "nothing"}', "$.type: 'nothing' is not valid under any of the given schemas"),
        ('{"$ref": "#"}', "it is nested too deeply, or leads back to itself"),
        ("gone.json", "no such file"),
    ],
)
def test_what_is_no_schema_is_refused_in_words(text, why):
    with pytest.raises(PflowError) as caught:
        load_schema(text)
    assert why in caught.value.message


def test_the_references_of_a_schema_for_many_lead_to_the_same_places():
    one = {"properties": {"in": {"$ref": "#"}, "x": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "integer"}}}
    many = load_many(one)
    for items, faults in (([{"in": {"x": 1}}], 0), ([{"in": {"x": "a"}}, {"x": "b"}], 2), ({}, 1)):
        assert len(list(misfits(many, {"items": items}))) == faults


@pytest.mark.parametrize("schema", [5, True, ["name"], 2.5])
def test_a_schema_that_is_no_object_is_refused(schema):
    with pytest.raises(PflowError, match="it is not a JSON object"):
        load_schema(schema)


class Model(BaseModel):
    name: str
    price: float
    tags: list[str]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": 5}, "'name' is an int, not a str"),
        ({"price": "much"}, "'price' should be a valid number, unable to parse string as a number"),
        ({"price": None}, "'price' is null, not a number"),
        ({"price": None, "name": 5, "tags": {}}, "'name' is an int, not a str"),
        ({"tags": {}}, "'tags' is a dict, not a list"),
        ({"tags": ["a", True]}, "'tags[1]' is a bool, not a str"),
    ],
)
def test_the_first_fault_of_a_document_is_said_without_its_value(change, why):
    document = {"name": "m", "price": 1, "tags": ["a"]}
    assert read_as(Model, document, "cannot read it", exit=78).price == 1.0
    with pytest.raises(PflowError) as caught:
        read_as(Model, document | change, "cannot read it", hint="mend it", exit=78)
    assert (caught.value.message, caught.value.hint, caught.value.exit) == (f"cannot read it: {why}", "mend it", 78)
    with pytest.raises(PflowError, match="cannot read it: 'price' is missing"):
        read_as(Model, {"name": "m", "tags": []}, "cannot read it", exit=78)
    with pytest.raises(PflowError, match="cannot read it: it is a list, not a dict"):
        read_as(Model, [], "cannot read it", exit=78)


def test_a_reference_that_leads_nowhere_is_said_when_a_value_comes_to_it():
    schema = load_schema({"properties": {"a": {"$ref": "#/none"}}})
    assert worst_misfit(schema, {"b": 1}) is None
    with pytest.raises(PflowError, match="nothing is at its \\$ref '/none'") as caught:
        worst_misfit(schema, {"a": 1})
    assert caught.value.exit == 65
    fault = worst_misfit({"properties": {"a": {"type": "string"}}}, {"a": 5})
    assert error_text(fault) == "$.a: 5 is not of type 'string'"
