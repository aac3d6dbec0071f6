"""How many values JSON may have: counted as written, whatever its strings hold."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from pflow.values import json_input
from pflow.values.json_input import has_too_many_values

TEXTS = st.text(st.sampled_from('a,[{"\\\n'), max_size=9)
VALUES = st.recursive(
    TEXTS | st.integers(), lambda some: st.lists(some, max_size=4) | st.dictionaries(TEXTS, some, max_size=4)
)


@given(VALUES, st.integers(0, 20), st.integers(1, 9))
def test_only_what_stands_outside_of_strings_counts(value, most, part):
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", json.dumps(value))
    count = sum(map(bare.count, ",[{"))
    json_input.MOST_VALUES, json_input._PIECE = most, part
    try:
        assert has_too_many_values(json.dumps(value).encode()) == (count > most)
        assert has_too_many_values(b': "\n' + json.dumps(value, indent=1).encode()) == (count > most)
    finally:
        json_input.MOST_VALUES, json_input._PIECE = 5_000_000, 1 << 20
