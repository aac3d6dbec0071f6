"""Seed 000: nodes whose params say which keys they read and write."""

import json

import pocketflow
import pytest

import pflow
from tests.seeds.blocks import block, execute

TEXTS = {"raw_texts": {"doc1.txt": "Some input", "doc2.txt": "Another input"}, "summaries": {}}


def example(base):
    """The printed node and flow, its node inheriting from `base`; the store that it ends with."""
    names = execute("000", 1, {"Node": base, "call_llm": lambda text: f"Summary of {text}"})
    return execute("000", 2, names)["shared"]


def test_the_flow_example_runs_as_it_is_printed():
    """What a node's params `input_key` and `output_key` name is a path."""
    assert example(pflow.Node) == {**TEXTS, "summaries": {"doc1.txt": "Summary of Some input"}}


def test_to_a_plain_dict_a_path_is_one_key():
    with pytest.raises(KeyError, match=r"raw_texts/doc1\.txt"):
        example(pocketflow.Node)


def test_the_ir_runs_on_a_store_and_leaves_the_printed_trace(place):
    place.use("keys")
    ran = place.run(block("000", 3), "--from=json", stdin=json.dumps(TEXTS))
    assert ran.store == {**TEXTS, "stdin": TEXTS, "summaries": {"doc1.txt": "Summary of Some input"}}
    assert json.loads(place.read("stored.json")) == {"doc1.txt": "Summary of Some input"}
    summarized, stored = place.trace()["execution_trace"]
    assert summarized["reads"] == {"raw_texts/doc1.txt": ['raw_texts["doc1.txt"]']}
    assert summarized["writes"] == {"summaries/doc1.txt": ['summaries["doc1.txt"]']}
    assert stored["reads"] == {"summaries": ["summaries"]}


@pytest.mark.parametrize(
    ("texts", "flags", "code", "said"),
    [
        ({"raw_texts": {"doc2.txt": "Another input"}}, [], 66, "doc1.txt"),
        (TEXTS, ["--input_key=raw_texts/doc2.txt"], 2, "PF01"),
    ],
)
def test_a_missing_text_and_a_moved_key_stop_the_run(place, texts, flags, code, said):
    ran = place.use("keys").run(block("000", 3), "--from=json", *flags, stdin=json.dumps(texts))
    assert (ran.code, said in ran.err) == (code, True)
