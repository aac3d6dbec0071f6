"""Flags of inputs, words that are reserved, and the names of keys."""

from tests.flow.checked import flow, found
from tests.flow.rules.flows import LOAD, SAVE, batch, has_just, mapped, says, step, written

KEYS = [
    (mapped("stdin", key="text"), []),
    (written("stdin.text"), ["PF05 mappings.query.output_mappings.answer"]),
    (written("$pflow"), ["PF05 mappings.query.output_mappings.answer"]),
    (flow("stdin:query"), ["PF05 nodes[0].id"]),
    (flow("query", inputs={"stdin": {}, "prompt": {}}), ["PF05 inputs.stdin"]),
    (flow("query", outputs={"stdin": "query.answer"}), ["PF05 outputs.stdin"]),
    (step("query", batch={"over": "list", "as": "stdin"}), ["PF05 nodes[0].batch.as"]),
    (flow("query", inputs={"prompt": {"pipe": True}, "text": {"pipe": True}}), ["PF05 inputs.text.pipe"]),
    *((written(target), []) for target in ("summary", "out.summary_2", "_x", "query.answer")),
    *(
        (written(target), ["PF10? mappings.query.output_mappings.answer"])
        for target in ("mySummary", "out.Summary", "summary-2", "texts/doc1.txt", "out.1st", "out.ÄÖ")
    ),
    (flow("query", inputs={"Prompt": {}, "prompt": {}}), ["PF02? inputs.Prompt", "PF10? inputs.Prompt"]),
    (flow("query", inputs={"prompt": {}, "stdin": {}}), ["PF05 inputs.stdin"]),
    *((flow("query", inputs={"prompt": {}, "more": more}), ["PF02? inputs.more"]) for more in ({}, {"pipe": True})),
    (flow("query", inputs={"prompt": {}, "more": {}}, outputs={"it": "more"}), []),
    (flow("query", inputs={"prompt": {}, "answer": {}}), ["PF07 inputs.answer"]),
    (flow("query", "anything", inputs={"prompt": {}, "more": {}}), ["PF11? nodes[1].type"]),
    (flow("judge", inputs={"anser": {}}), ["PF03 nodes[0]"]),
    (step("query", inputs={"prompt": "$promt"}) | {"inputs": {"prompt": {}}}, ["PF14 nodes[0].inputs.prompt"]),
    (step("query", inputs={"prompt": "${m}", "text": ["${more.x}"]}) | {"inputs": {"m": {}, "more": {}}}, []),
    (
        step("query", inputs={"prompt": "$quiet ${retries} $each $größe $日"}),
        ["PF02? nodes[0].inputs.prompt", "PF02? nodes[0].inputs.prompt", "PF14? nodes[0].inputs.prompt"],
    ),
    (batch("allTexts", prompt="$thePrompt"), ["PF10? nodes[1].batch.over", "PF10? nodes[1].inputs.prompt"]),
    (flow(LOAD, SAVE, inputs={"content": {}}), ["PF07 inputs.content"]),
    (flow(SAVE, LOAD, inputs={"content": {}}), []),
    (written("prompt.answer", inputs={"prompt": {"type": "str"}}), ["PF07 inputs.prompt"]),
    (written("prompt.answer", inputs={"prompt": {}}), []),
]

WORDS = [
    (
        flow("query", inputs={"json": {}}, mappings={"query": {"input_mappings": {"prompt": "json"}}}),
        "inputs.json: PF02: warning: --json is a flag of pflow run",
    ),
    (
        flow("query", inputs={"as": {}}, mappings={"query": {"input_mappings": {"prompt": "as"}}}),
        "inputs.as: PF02: warning: --as is a flag of a step in pipe syntax, and does not give this input there",
    ),
]


test_a_flow_has_just_these_findings = has_just(KEYS)
test_a_finding_says_what_is_wrong_and_what_to_do = says(WORDS)


def test_two_inputs_that_no_flag_tells_apart_are_warned_of():
    assert "PF02? inputs.a_b" in found(flow("query", inputs={"a-b": {"type": "str"}, "a_b": {"type": "str"}}))


def test_below_the_name_of_a_step_only_the_key_must_be_a_plain_word():
    mappings = {"as-k": {"output_mappings": {"answer": "as-k.answer", "used": "as-k.Used"}}}
    assert found(flow("as-k:query", mappings=mappings)) == ["PF10? mappings.as-k.output_mappings.used"]


def test_an_input_that_was_taken_may_be_written_over_but_nothing_goes_below_a_text():
    inputs = {"x": {"type": "str"}}

    def of(place):
        asked = {"input_mappings": {"prompt": "x"}, "output_mappings": {"answer": place}}
        return found(flow("query", inputs=inputs, mappings={"query": asked}))

    assert "PF07 inputs.x" in of("x.y")
    assert "PF07 inputs.x" not in of("x")
