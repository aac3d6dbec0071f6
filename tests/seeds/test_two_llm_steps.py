"""Two llm steps never overwrite each other, however the flow is written."""

import json

from tests.seeds.blocks import block

TEXT = 'llm --prompt="First" => llm --prompt="Second"'
PLAIN = {
    "nodes": [
        {"id": "one", "type": "llm", "inputs": {"prompt": "First"}},
        {"id": "two", "type": "llm", "inputs": {"prompt": "Second"}},
    ]
}


def both(store, one, two):
    """The answers and the by-products of both."""
    return [(store[id]["response"], store[id]["usage"]["model"]) for id in (one, two)]


def test_by_text(place):
    ran = place.pflow(TEXT)
    assert both(ran.store, "llm", "llm-2") == [("First", "echo"), ("Second\n\nFirst", "echo")]
    assert ran.store.keys() == {"llm", "llm-2"}


def test_by_text_with_names(place):
    ran = place.pflow(TEXT.replace("llm ", "llm:draft ", 1))
    assert both(ran.store, "draft", "llm") == [("First", "echo"), ("Second\n\nFirst", "echo")]


def test_by_ir_without_mappings_it_is_a_warning(place):
    """The second does write over the first: the flow says so, and PF16 says it to whoever runs it."""
    place.write("flow.pflow.json", PLAIN)
    checked = place.pflow("check", "flow.pflow.json")
    assert checked.code == 0
    assert [line.split(": ")[1:4] for line in checked.out.splitlines()] == [["nodes[1]", "PF16", "warning"]]
    ran = place.pflow("run", "flow.pflow.json")
    assert "PF16" in ran.err
    assert ran.store["response"] == "Second"


def test_the_mapping_that_the_warning_offers_keeps_them_apart(place):
    place.write("flow.pflow.json", PLAIN)
    remedy = place.pflow("check", "flow.pflow.json").out.partition("; ")[2]
    flow = {**PLAIN, **json.loads("{" + remedy + "}")}
    place.write("flow.pflow.json", flow)
    assert place.pflow("check", "--strict", "flow.pflow.json").code == 0
    ran = place.run(flow)
    assert (ran.store["response"], ran.store["two"]["response"]) == ("First", "Second")


def test_by_a_path_with_a_steps_name(place):
    """`one.response` in a mapping puts it there, without an output mapping."""
    flow = {**PLAIN, "mappings": {"two": {"input_mappings": {"text": "one.response"}}}}
    ran = place.run(flow)
    assert ran.store["one"]["response"] == "First"
    assert ran.store["response"] == "Second\n\nFirst"


def test_by_ir_as_a_planner_maps_it(place):
    flow = {
        **PLAIN,
        "mappings": {
            id: {"output_mappings": {key: f"{id}.{key}" for key in ("response", "usage")}} for id in ("one", "two")
        },
    }
    flow["mappings"]["two"]["input_mappings"] = {"text": "one.response"}
    place.write("flow.pflow.json", flow)
    assert place.pflow("check", "--strict", "flow.pflow.json").code == 0
    ran = place.run(flow)
    assert both(ran.store, "one", "two") == [("First", "echo"), ("Second\n\nFirst", "echo")]


def test_by_the_papers_ir(place):
    """Seed 004 maps the responses alone: what both used stands in one place, and nobody reads it."""
    ran = place.run(block("004", 5), "--analyzer.prompt=Go")
    assert ran.store["analyzer"] == ran.store["summarizer"] == {"response": "Go"}
    assert ran.store["usage"]["model"] == "echo"
