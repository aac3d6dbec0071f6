"""The dialects of the seeds."""

from pathlib import Path

import pytest

from pflow.flow.dialects import convert
from pflow.flow.load import load_document, load_file

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


@pytest.mark.parametrize(
    "node",
    [
        {"id": "a", "params": {"x": 1}, "inputs": {"input_key": "a"}},
        {"id": "a", "params": {"input_key": 5, "output_key": None}},
        {"id": "a", "params": {"config": {}, "input_bindings": {}}},
        {"id": "a"},
    ],
)
def test_any_other_node_stays_as_it_is(node):
    mapping = {"input_mappings": {"a": "b"}}
    assert convert(node, mapping) == (node, mapping, "pflow")


@pytest.mark.parametrize(
    ("node", "dialect"),
    [
        ({"input_bindings": {}}, "bindings"),
        ({"output_bindings": {}}, "bindings"),
        ({"config": {}}, "bindings"),
        ({"params": {"input_key": "a"}}, "keys"),
        ({"params": {"output_key": "a"}}, "keys"),
        ({"params": {"output_key": "a"}, "config": {}}, "bindings"),
    ],
)
def test_one_member_of_a_dialect_is_enough(node, dialect):
    assert convert(node, {})[2] == dialect


def test_a_node_in_bindings_has_all_three_objects():
    node, _, _ = convert({"id": "a", "params": {"x": 1, "language": "de"}, "config": {"language": "en"}}, {})
    assert node["params"] == {
        "x": 1, "language": "en", "input_bindings": {}, "output_bindings": {}, "config": {"language": "en"},
    }  # fmt: skip


def test_what_mappings_say_counts_before_what_the_node_says():
    written = {"input_mappings": {"url": "other"}, "output_mappings": {"more": "x"}}
    _, mapping, _ = convert({"id": "a", **OBJECTS}, written)
    assert mapping == {"input_mappings": {"url": "other"}, "output_mappings": {"t": "raw", "more": "x"}}
    _, mapping, _ = convert({"id": "a", "params": {"input_key": "url"}}, written)
    assert mapping["input_mappings"] == {"url": "other"}


def test_what_is_converted_stays_as_it_was():
    node, mapping = {"id": "a", "params": {"input_key": "k"}, "config": {"n": 1}}, {"input_mappings": {}}
    convert(node, mapping)
    assert (node, mapping) == ({"id": "a", "params": {"input_key": "k"}, "config": {"n": 1}}, {"input_mappings": {}})


@pytest.mark.parametrize("name", ["002-fragment", "002-flow"])
def test_seed_002_has_what_its_nodes_look_for(name):
    fetch, summarise = load_file(str(SEEDS / f"{name}.pflow.json")).flow.steps
    assert fetch.params["input_bindings"]["url"] == "video_url"
    assert fetch.params["config"].get("language") == fetch.params["language"] == "en"
    assert fetch.params["output_bindings"]["transcript"] == "raw_transcript"
    assert fetch.input_mappings == {"url": "video_url"}
    assert summarise.input_mappings == {"text": "raw_transcript"}
    assert summarise.output_mappings == {"summary": "article_summary"}
    assert summarise.params["temperature"] == 0.7


def test_seed_000_has_what_its_nodes_look_for():
    summarize, store = load_file(str(SEEDS / "000-keys.pflow.json")).flow.steps
    assert summarize.params == {"input_key": "raw_texts/doc1.txt", "output_key": "summaries/doc1.txt"}
    assert summarize.input_mappings == {"raw_texts/doc1.txt": "raw_texts/doc1.txt"}
    assert summarize.output_mappings == {"summaries/doc1.txt": "summaries/doc1.txt"}
    assert (store.params, store.input_mappings) == ({}, {})


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
    ).flow
    assert [step.input_mappings for step in flow.steps] == [{"prompt": "text"}, {"a/b": "a/b"}, {"url": "u"}]
    assert flow.steps[0].params == {"model": "m"}
    assert flow.dialect == "bindings"
