"""load-json and load-jsonl: what is wrong in JSON, with its place."""

import pytest

from pflow.nodes.load_json import LoadJson
from pflow.nodes.load_jsonl import LoadJsonl
from tests.nodes.rows import refused


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (LoadJson, '{"a": 1,\n "b": NaN}', "line 2, column 7: NaN is not JSON"),
        (LoadJson, '["18446744073709551616",\n18446744073709551616]', "line 2, column 1: the integer"),
        (LoadJson, '{"ä": 1,x}', "line 1, column 9: "),
        (LoadJson, "[1] 2", "line 1, column 4: something follows"),
        (LoadJson, "[1e999]", "line 1, column 2: "),
        (LoadJson, "[" * 100_000, "nested too deeply"),
        (LoadJsonl, '{"a": 1}\n\n{"a": }\n', "line 3, column 7: "),
        (LoadJsonl, '{"a":\n1}\n', "line 1, column 6: "),
        (LoadJsonl, "1\n[Infinity]\n", "line 2, column 2: Infinity is not JSON"),
    ],
)
def test_what_is_wrong_in_json_is_named_with_its_place(kind, text, words):
    code, said = refused(kind, {"text": text})
    assert (code, words in said) == (65, True), said
