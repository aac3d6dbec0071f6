"""Schemas: llm's short form, and values that are no schema."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm import schema_dsl

from pflow.errors import PflowError
from pflow.files.schema import load_schema

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


@pytest.mark.parametrize("schema", [5, True, ["name"], 2.5])
def test_a_schema_that_is_no_object_is_refused(schema):
    with pytest.raises(PflowError, match="it is not a JSON object"):
        load_schema(schema)
