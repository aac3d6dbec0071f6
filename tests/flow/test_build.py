"""The dialects of the seeds."""

from pathlib import Path

from pflow.flow.build import convert
from pflow.flow.load import load_document

SEEDS = Path(__file__).parent / "seeds"
OBJECTS = {"input_bindings": {"url": "video_url"}, "output_bindings": {"t": "raw"}, "config": {"language": "en"}}


def test_bindings_become_mappings_and_params():
    node, mapping, dialect = convert({"id": "fetch", "name": "yt", **OBJECTS}, {})
    assert node == {"id": "fetch", "name": "yt", "params": {"language": "en", **OBJECTS}}
    assert mapping == {"input_mappings": {"url": "video_url"}, "output_mappings": {"t": "raw"}}
    assert dialect == "bindings"


def test_keys_stay_params_and_map_themselves():
    params = {"input_key": "raw_texts/doc1.txt", "output_key": "summaries/doc1.txt", "n": 1}
    node, mapping, dialect = convert({"id": "a", "params": params}, {})
    assert node == {"id": "a", "params": params}
    assert mapping == {
        "input_mappings": {"raw_texts/doc1.txt": "raw_texts/doc1.txt"},
        "output_mappings": {"summaries/doc1.txt": "summaries/doc1.txt"},
    }
    assert dialect == "keys"


def test_what_mappings_say_counts_before_what_the_node_says():
    written = {"input_mappings": {"url": "other"}, "output_mappings": {"more": "x"}}
    _, mapping, _ = convert({"id": "a", **OBJECTS}, written)
    assert mapping == {"input_mappings": {"url": "other"}, "output_mappings": {"t": "raw", "more": "x"}}
    _, mapping, _ = convert({"id": "a", "params": {"input_key": "url"}}, written)
    assert mapping["input_mappings"] == {"url": "other"}


def test_a_mixed_file_is_converted_node_by_node():
    flow = load_document(
        {
            "nodes": [
                {"type": "llm", "params": {"model": "m"}},
                {"type": "Summarize", "params": {"input_key": "a/b"}},
                {"type": "Fetch", "input_bindings": {"url": "u"}},
            ],
            "mappings": {"llm": {"input_mappings": {"prompt": "text"}}},
        },
        "x",
    )
    assert [step.input_mappings for step in flow.steps] == [{"prompt": "text"}, {"a/b": "a/b"}, {"url": "u"}]
    assert flow.steps[0].params == {"model": "m"}
    assert flow.dialect == "bindings"
