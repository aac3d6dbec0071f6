"""Seed 000: nodes whose params say which keys they read and write."""

import json

import pocketflow
import pytest

import pflow
from tests.seeds.blocks import block, execute

TEXTS = {"raw_texts": {"doc1.txt": "Some input", "doc2.txt": "Another input"}, "summaries": {}}


def summarize(base):
    names = {"Node": base, "call_llm": lambda text: f"Summary of {text}"}
    return execute("000", 1, names)


BASES = pytest.mark.parametrize("base", [pocketflow.Node, pflow.Node])


@BASES
def test_a_node_uses_the_keys_that_its_params_name(base):
    node = summarize(base)["Summarize"]()
    node.set_params({"input_key": "text", "output_key": "gist"})
    shared = {"text": "Some input"}
    node.run(shared)
    assert shared == {"text": "Some input", "gist": "Summary of Some input"}


@BASES
def test_a_path_for_a_key_needs_the_proxy(base):
    """To a plain dict, `raw_texts/doc1.txt` is one key: the example fails as it stands (DESIGN.md, section 3)."""
    names = summarize(base)
    with pytest.raises(KeyError, match=r"raw_texts/doc1\.txt"):
        execute("000", 2, names)
    node, shared = names["node"], names["shared"]
    wanted, given = node.params["input_key"], node.params["output_key"]
    node.run(pflow.NodeAwareSharedStore(shared, {wanted: wanted}, {given: given}))
    assert shared == {**TEXTS, "summaries": {"doc1.txt": "Summary of Some input"}}


def test_the_ir_runs_on_a_store(place):
    place.use("keys")
    ran = place.run(block("000", 3), "--from=json", stdin=json.dumps(TEXTS))
    assert ran.store == {**TEXTS, "summaries": {"doc1.txt": "Summary of Some input"}}
    assert json.loads(place.read("stored.json")) == {"doc1.txt": "Summary of Some input"}


def test_the_trace_shows_what_was_read_and_written(place):
    place.use("keys").run(block("000", 3), "--from=json", stdin=json.dumps(TEXTS))
    summarized, stored = place.trace()["execution_trace"]
    assert summarized["reads"] == {"raw_texts/doc1.txt": ['raw_texts["doc1.txt"]']}
    assert summarized["writes"] == {"summaries/doc1.txt": ['summaries["doc1.txt"]']}
    assert stored["reads"] == {"summaries": ["summaries"]}


def test_a_missing_text_stops_the_run_before_the_node(place):
    ran = place.use("keys").run(block("000", 3), "--from=json", stdin='{"raw_texts": {"doc2.txt": "Another input"}}')
    assert (ran.code, "doc1.txt" in ran.err) == (66, True)


def test_the_ir_can_be_inspected(place):
    """`pflow explain` and `pflow trace` are for any flow; `plan` makes one."""
    place.use("keys").write("flow.pflow.json", block("000", 3))
    ran = place.pflow("explain", "flow.pflow.json")
    assert ran.code == 0
    assert "raw_texts" in ran.out
    assert "summaries" in ran.out


def test_check_says_which_form_it_read(place):
    place.use("keys").write("flow.pflow.json", block("000", 3))
    assert json.loads(place.pflow("check", "--json", "flow.pflow.json").out)["dialect"] == "keys"
    ran = place.pflow("check", "flow.pflow.json")
    assert "the form of input_key and output_key" in ran.out + ran.err


def test_the_command_line_cannot_move_a_key(place):
    ran = place.use("keys").run(
        block("000", 3), "--from=json", "--input_key=raw_texts/doc2.txt", stdin=json.dumps(TEXTS)
    )
    assert ran.code == 2
    assert "PF01" in ran.err
