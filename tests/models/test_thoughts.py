"""Thoughts in front of an answer, however the text is cut into parts."""

import pytest

from pflow.models.thoughts import after_thoughts, without_thoughts

ANSWERS = [
    ("<think>\nA tree?\n</think>\n\nOak.", "Oak."),
    ("\n<think></think>\n\n  Oak. \n", "Oak. \n"),
    ("<thinking>a</thinking><thought>b</thought>Oak.", "Oak."),
    ("<reasoning>a</reasoning>\n<Thought>b</Thought> Oak.", "Oak."),
    ("<seed:think>a < b</seed:think>Oak.", "Oak."),
    ("[THINK]a[/THINK]Oak.", "Oak."),
    ("◁think▷İ a◁/think▷Oak.", "Oak."),
    ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Oak.", "Oak."),
    ("<|channel>thought\na<channel|>Oak.", "Oak."),
    ("<|channel|>final", "<|channel|>final"),
    ("<think>a</thin</think>Oak.", "Oak."),
    ("<think>a </think> b", "b"),
    ("<think>it never ends </thinking>", ""),
    ("<think>a</think>\n\n", ""),
    ("<think>", ""),
    ("", ""),
    (" \n\t", ""),
    ("  Oak.", "  Oak."),
    ("<thi", "<thi"),
    ("<", "<"),
    ("<thinker>a</thinker>", "<thinker>a</thinker>"),
    ("Write <think>a</think> so.", "Write <think>a</think> so."),
    ("```\n<think>a</think>\n```", "```\n<think>a</think>\n```"),
    ("<think>a</think>Oak. <think>b</think>", "Oak. <think>b</think>"),
    ('<think>{"name": 1}</think>{"name": "oak"}', '{"name": "oak"}'),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(("text", "answer"), ANSWERS)
def test_only_thoughts_at_the_beginning_are_no_part_of_an_answer(text, answer, size):
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    read = [*without_thoughts(parts)]
    assert "".join(read) == answer
    assert len(read) >= len(parts), "the reader of endless thoughts has a say at each part"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("A tree?\n</think>\n\nOak.", "Oak."),
        ("A tree?\n</think>", ""),
        ("</think>\nOak.", "Oak."),
        ("2. Briefly.</think>391", "391"),
        ('Or {"a": 1}?\n</think>{"a": 2}', '{"a": 2}'),
        ("A </think> ends thoughts.\n", "A </think> ends thoughts.\n"),
        ("`</think>` ends them ('</think>').", "`</think>` ends them ('</think>')."),
        ("So:\n<think>\na\n</think>\nOak.", "So:\n<think>\na\n</think>\nOak."),
    ],
)
def test_thoughts_whose_opening_mark_the_server_kept_end_at_a_line_of_its_own(text, answer):
    assert after_thoughts(text) == answer


def test_a_part_is_passed_on_as_soon_as_it_is_no_thought():
    arriving = without_thoughts(iter(["<think>a</thi", "nk>\n", "Oak", " and"]))
    assert [next(arriving) for _ in range(4)] == ["", "", "Oak", " and"]
