"""Thoughts in front of an answer, however the text is cut into parts."""

import pytest

from pflow.models.thoughts import after_thoughts, called_in, without_thoughts

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
    ("<THINK>a</THINK>\nOak.", "Oak."),
    ("<Think>a</think>Oak.", "Oak."),
    ('<think duration="3">a</think>Oak.', "Oak."),
    ("<Thinking\n  a='b' c>d</Thinking>Oak.", "Oak."),
    ("<think of a tree", "<think of a tree"),
    ("<think " + "a" * 300, "<think " + "a" * 300),
    ("<b class='a'>Oak</b>", "<b class='a'>Oak</b>"),
    ("\u200b\ufeff<think>a</think>Oak.", "Oak."),
    ("\ufeffOak.", "\ufeffOak."),
    ("\u2764\ufe0f", "\u2764\ufe0f"),
    ("</s> strikes a text through.", "</s> strikes a text through."),
    ("</sp", "</sp"),
    *((text, "") for text in ("\u200b", "\ufeff\n", "\0\0", "\u2060\u00ad\u200e", "\u3164", "\u2800", "\ufe0f")),
    *((text, "") for text in ("<|im_end|>", "</s>", "<|eot_id|>\n", "<end_of_turn>\u200b", "<eos><eos>", "<|end|>")),
    ("<think>a</think><|im_end|>", ""),
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
        ("Briefly. </think>\n\nOak.", "Oak."),
        ("Briefly. </think>", ""),
        ("Briefly.</THINK>\nOak.", "Oak."),
        ("Briefly.</think><|im_end|>", ""),
        ("Briefly.\n</thinking>\nOak.", "Oak."),
        ("Briefly.\n◁/think▷Oak.", "Oak."),
        ("Briefly.\n[/THINK]\nOak.", "Oak."),
        ("No `<think>`, no `</think>`.\n</think>\nOak.", "Oak."),
        ('He says "Summarize".</think>Oak.', "Oak."),
        ("A </think> ends thoughts.\n", "A </think> ends thoughts.\n"),
        ("So:\n```xml\na\n</think>\n```\nOak.", "So:\n```xml\na\n</think>\n```\nOak."),
        ("Use `a </think>`\nso.", "Use `a </think>`\nso."),
        ('{"html": "a</think>b"}', '{"html": "a</think>b"}'),
        ("<THINK>\na\n</think>b", "<THINK>\na\n</think>b"),
        ("`</think>` ends them ('</think>').", "`</think>` ends them ('</think>')."),
        ("So:\n<think>\na\n</think>\nOak.", "So:\n<think>\na\n</think>\nOak."),
    ],
)
def test_thoughts_whose_opening_mark_the_server_kept_end_at_the_closing_one(text, answer):
    assert after_thoughts(text) == answer


CALL = '{"name": "search", "arguments": {"q": "bakery"}}'


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        (f"<tool_call>\n{CALL}\n</tool_call>", "search"),
        (f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call><|im_end|>\n", "search"),
        ("<tool_call>\n<function=search>\n<parameter=q>\na\n</parameter>\n</function>\n</tool_call>", "search"),
        ("<tool_call>search\n<arg_key>q</arg_key>\n<arg_value>a</arg_value>\n</tool_call>", "search"),
        (f"<function_call>{CALL}</function_call>", "search"),
        ('<function=search>{"q": "a"}</function>', "search"),
        ('<function_calls>\n<invoke name="search">\n</invoke>\n</function_calls>', "search"),
        (f"<minimax:tool_call>{CALL}</minimax:tool_call>", "search"),
        (f"<TOOLCALL>[{CALL}]</TOOLCALL>", "search"),
        (f"[TOOL_CALLS][{CALL}]", "search"),
        ('[TOOL_CALLS]search{"q": "a"}', "search"),
        (f"<|tool_call|>[{CALL}]<|/tool_call|>", "search"),
        ('<|tool_call>call:search{q:<|"|>a<|"|>}<tool_call|>', "search"),
        ('<|tool_call_start|>[search(q="a")]<|tool_call_end|>', "?"),
        ("<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{}", "search"),
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{}\n```", "search"),
        (f"<|python_tag|>{CALL}", "search"),
        ("<|channel|>commentary to=functions.search <|constrain|>json<|message|>{}<|call|>", "search"),
        ("```tool_code\nprint(search(q='a'))\n```", "?"),
        ("<tool_call> begins a call.", ""),
        (f"A call: <tool_call>{CALL}</tool_call>", ""),
        (f"<tool_call>{CALL}</tool_call>\nThis is how a call looks.", ""),
        (f"```\n<tool_call>{CALL}</tool_call>\n```", ""),
        (CALL, ""),
    ],
)
def test_a_text_that_is_the_call_of_a_tool_is_found(text, tool):
    assert called_in(text, is_cut=False) == tool


def test_a_part_is_passed_on_as_soon_as_it_is_no_thought():
    arriving = without_thoughts(iter(["<think>a</thi", "nk>\n", "Oak", " and"]))
    assert [next(arriving) for _ in range(4)] == ["", "", "Oak", " and"]
