"""PF02, PF05, PF07 and PF10: the keys that a flow makes, and those that it is given."""

import pytest

from tests.flow.checked import flow, found, only


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (flow("ask", mappings={"ask": {"input_mappings": {"prompt": "stdin"}}}), []),
        (
            flow("ask", mappings={"ask": {"output_mappings": {"answer": "stdin"}}}),
            ["PF05 mappings.ask.output_mappings.answer"],
        ),
        (
            flow("ask", mappings={"ask": {"output_mappings": {"answer": "stdin.text"}}}),
            ["PF05 mappings.ask.output_mappings.answer"],
        ),
        (
            flow("ask", mappings={"ask": {"output_mappings": {"answer": "$pflow"}}}),
            ["PF05 mappings.ask.output_mappings.answer"],
        ),
        (flow("ask", inputs={"stdin": {}, "prompt": {}}), ["PF05 inputs.stdin"]),
        (flow("ask", outputs={"stdin": "ask.answer"}), ["PF05 outputs.stdin"]),
        (
            flow({"id": "ask", "type": "ask", "batch": {"over": "list", "as": "stdin"}}),
            ["PF05 nodes[0].batch.as"],
        ),
        (flow("ask", inputs={"prompt": {"pipe": True}, "text": {"pipe": True}}), ["PF05 inputs.text.pipe"]),
    ],
)
def test_stdin_is_reserved(document, expected):
    assert found(document) == expected


@pytest.mark.parametrize("target", ["summary", "out.summary_2", "_x", "ask.answer", "my-ask.answer"])
def test_plain_words_are_left_alone(target):
    document = flow("ask", "my-ask:judge", mappings={"ask": {"output_mappings": {"answer": target}}})
    assert [each for each in found(document) if "PF10" in each] == []


@pytest.mark.parametrize("target", ["mySummary", "out.Summary", "summary-2", "texts/doc1.txt", "out.1st", "out.ÄÖ"])
def test_a_key_that_is_no_plain_word_is_a_warning(target):
    finding = only(flow("ask", mappings={"ask": {"output_mappings": {"answer": target}}}))
    assert finding.startswith("mappings.ask.output_mappings.answer: PF10: warning: ")


def test_inputs_outputs_and_items_are_keys_too():
    node = {"id": "ask", "type": "ask", "batch": {"over": "allTexts", "as": "text"}, "inputs": {"prompt": "$thePrompt"}}
    assert found(flow(node, outputs={"theAnswer": "ask.answer"})) == [
        "PF10? outputs.theAnswer",
        "PF10? nodes[0].batch.over",
        "PF10? nodes[0].inputs.prompt",
    ]
    assert found(flow("ask", inputs={"Prompt": {}, "prompt": {}})) == ["PF10? inputs.Prompt"]


def test_an_input_that_a_step_writes_before_anything_takes_it_is_of_no_use():
    load = {"id": "load", "type": "load", "inputs": {"path": "p"}}
    save = {"id": "save", "type": "save", "inputs": {"path": "q"}}
    assert found(flow(load, save, inputs={"content": {}})) == ["PF07 inputs.content"]
    assert found(flow(save, load, inputs={"content": {}})) == []


def test_nothing_can_be_written_inside_an_input_that_is_a_text():
    document = flow("ask", mappings={"ask": {"output_mappings": {"answer": "prompt.answer"}}})
    assert found({**document, "inputs": {"prompt": {"type": "str"}}}) == ["PF07 inputs.prompt"]
    assert found({**document, "inputs": {"prompt": {}}}) == []


@pytest.mark.parametrize("name", ["from", "json", "dry_run", "jobs"])
def test_an_input_that_a_flag_of_the_run_is_called_like_is_warned_of(name):
    document = flow("ask", inputs={name: {"type": "str"}}, mappings={"ask": {"input_mappings": {"prompt": name}}})
    assert only(document).startswith(f"inputs.{name}: PF02: warning: ")
    assert only(document).endswith("; --ask.prompt does")


def test_two_inputs_that_no_flag_tells_apart_are_warned_of():
    document = flow("ask", inputs={"a-b": {"type": "str"}, "a_b": {"type": "str"}})
    assert "PF02? inputs.a_b" in found(document)
    assert "PF02? inputs.a_b" not in found(flow("ask", inputs={"a_c": {"type": "str"}, "a_b": {"type": "str"}}))
