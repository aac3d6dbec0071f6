"""Answers without text, in every protocol: each is a failure with its reason, and is neither cached nor logged."""

import llm
import pytest
from llm.default_plugins.openai_models import Chat, Completion, Responses

from pflow.errors import PflowError
from pflow.models import log
from pflow.models.ask import ModelRequest, ask
from pflow.models.ending import after_thoughts, called_in, without_thoughts
from tests.peers.replies import CHUNK, COMPLETION, Replies

TOOL = {"index": 0, "id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}
CUT_TOOL = {**TOOL, "function": {"name": "search", "arguments": '{"q": "oa'}}
CUSTOM = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "search", "input": "a"}}
OLD_CALL = {"function_call": {"name": "search", "arguments": "{}"}}
USED = {"prompt_tokens": 3, "completion_tokens": 50, "total_tokens": 53}
REASONED = {"usage": {**USED, "completion_tokens_details": {"reasoning_tokens": 50}}}
LIMIT = {"max_tokens": 50}


def chat(message, end="stop", **more):
    """Return an answer as a stream, of one delta or several, and as a whole."""
    deltas = message if isinstance(message, list) else [message]
    first = [{**CHUNK, "choices": [{"index": 0, "delta": each, "finish_reason": None}]} for each in deltas]
    stream = [*first, {**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": USED, **more}]
    choice = {"index": 0, "message": {"role": "assistant", **deltas[-1]}, "finish_reason": end}
    return [stream, (200, {**COMPLETION, "choices": [choice], "usage": USED, **more})]


def respond(*items, status="completed", **more):
    """Return an answer of OpenAI's newer protocol as a stream and as a whole."""
    usage = {"input_tokens": 3, "output_tokens": 50, "total_tokens": 53}
    about = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": [*items], "usage": usage}
    about |= {"status": status, "parallel_tool_calls": False, "tool_choice": "auto", "tools": [], **more}
    events = [
        {"type": f"response.output_item.{state}", "output_index": 0, "item": item, "sequence_number": 0}
        for item in items
        for state in ("added", "done")
    ]
    return [[*events, {"type": f"response.{status}", "response": about, "sequence_number": 0}], (200, about)]


def complete(text, end="stop"):
    about = {**CHUNK, "object": "text_completion", "usage": USED}
    return [[{**about, "choices": [{"index": 0, "text": text, "finish_reason": end}]}]]


THOUGHT = {"type": "reasoning", "id": "t", "summary": [{"type": "summary_text", "text": "A tree?"}]}
CALL = {"type": "function_call", "id": "f", "call_id": "c", "name": "search", "arguments": "{}", "status": "completed"}
INCOMPLETE = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
IN_CALL = "it wants to call the tool 'search', and pflow gave it none"
ALL_REASONING = "it is all reasoning, and has no text"
USED_UP = "it has no text, and the 50 tokens of --max-tokens are used up"
BY_LIMIT = "the 50 tokens of --max-tokens went into reasoning"

ANSWERS = [
    (Chat, chat({"content": ""}), {}, 75, "it has no text"),
    (Chat, chat({"content": None}, "eos"), {}, 75, "it has no text"),
    (Chat, chat([{"content": " \n"}, {"content": "\t\n"}]), {}, 75, "it has no text"),
    (Chat, chat({"content": None, "reasoning_content": "Oak"}), {}, 65, ALL_REASONING),
    (Chat, chat({"content": "", "reasoning": "Oak"}), {}, 65, ALL_REASONING),
    (Chat, chat({"content": "", "reasoning_details": [{"text": "Oak"}]}), {}, 65, ALL_REASONING),
    (Chat, chat({"content": "<think>Oak"}), {}, 65, ALL_REASONING),
    (Chat, chat({"content": "<think>Oak</think>\n"}), {}, 65, ALL_REASONING),
    (Chat, chat({"content": ""}, **REASONED), {}, 65, ALL_REASONING),
    (Chat, chat({"content": ""}, "length", **REASONED), LIMIT, 65, BY_LIMIT),
    (Chat, chat({"content": "", "reasoning_content": "Oak"}, "length"), LIMIT, 65, BY_LIMIT),
    (Chat, chat({"content": "<think>Oak"}, "length"), LIMIT, 65, BY_LIMIT),
    (Chat, chat({"content": "<think>Oak"}, "length"), {}, 65, "its 50 tokens went into reasoning"),
    (Chat, chat({"content": "<think>Oak"}, "length"), {"max_tokens": 99}, 65, "its 50 tokens went into reasoning"),
    (Chat, chat({"content": "<think>Oak"}, "length", usage=None), {}, 65, "all its tokens went into reasoning"),
    (Chat, chat({"content": ""}, "length"), LIMIT, 65, USED_UP),
    (Chat, chat({"content": "\u200b"}), {}, 75, "it has no text"),
    (Chat, chat([{"content": "<|im_"}, {"content": "end|>"}, {"content": "<|im_end|>"}]), {}, 75, "it has no text"),
    (Chat, chat({"content": "Hm.</think>\n<|im_end|>"}), {}, 65, ALL_REASONING),
    (Chat, chat({"content": None, "tool_calls": [TOOL]}, "tool_calls"), {}, 65, IN_CALL),
    (Chat, chat({"content": "", "tool_calls": [TOOL]}), {}, 65, IN_CALL),
    (Chat, chat({"content": '<think>a</think><tool_call>{"name": "search"}</tool_call>'}), {}, 65, IN_CALL),
    (Chat, chat({"content": 'Hm.</think>\n[TOOL_CALLS]search{"q": 1}'}), {}, 65, IN_CALL),
    (Chat, chat({"content": '<tool_call>{"name": "search", "argu'}, "length"), LIMIT, 65, IN_CALL),
    (Chat, chat({"content": "I look it up.", "tool_calls": [TOOL]}, "tool_calls"), {}, 65, IN_CALL),
    (Chat, chat({"content": None, "tool_calls": [CUT_TOOL]}, "length"), LIMIT, 65, IN_CALL),
    (Chat, chat({"content": None, "tool_calls": [CUSTOM]}, "tool_calls"), {}, 65, IN_CALL),
    (Chat, chat({"content": None, **OLD_CALL}, "function_call"), {}, 65, IN_CALL),
    (Chat, chat({"content": None}, "tool_calls"), {}, 65, "it wants to call a tool, and pflow gave it none"),
    (Chat, chat({"content": ""}, "content_filter"), {}, 1, "it refused"),
    (Chat, chat({"content": ""}, "insufficient_system_resource"), {}, 75, "the provider failed"),
    (Responses, respond(), {}, 75, "it has no text"),
    (Responses, respond(THOUGHT), {}, 65, ALL_REASONING),
    (Responses, respond(THOUGHT, **INCOMPLETE), LIMIT, 65, BY_LIMIT),
    (Responses, respond(CALL), {}, 65, IN_CALL),
    (Completion, complete(""), {}, 75, "it has no text"),
    (Completion, complete("\n\n", "length"), LIMIT, 65, USED_UP),
    (Completion, complete("<think>Oak", "length"), LIMIT, 65, BY_LIMIT),
]


@pytest.fixture(autouse=True)
def _settings(tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))


def asked(kind, reply, **about):
    """Ask a server that gives the reply; return the answer and the parts that were shown."""
    shown = []
    with Replies(reply) as server:
        model = kind("m", model_name="m", api_base=server.model("m").partition("#")[0])
        model.needs_key, model.can_stream = None, isinstance(reply, list)
        conversation = model.conversation()
        return ask(conversation, ModelRequest("Hi", is_logged=True, **about), shown.append), shown


@pytest.mark.parametrize(
    ("kind", "reply", "options", "exit", "why"),
    [(kind, reply, *rest) for kind, replies, *rest in ANSWERS for reply in replies],
)
def test_no_text_is_no_answer(kind, reply, options, exit, why, tmp_path):
    with pytest.raises(PflowError) as caught:
        asked(kind, reply, options=options)
    error = caught.value
    assert (error.exit, error.message.partition("': ")[2]) == (exit, why) or (exit == 1 and why in error.message)
    assert error.is_permanent == (exit in (1, 65) and why != ALL_REASONING)
    assert error.usage["model"] == "m"
    assert not (tmp_path / "logs.db").exists()


@pytest.mark.parametrize("reply", chat({"content": "Oak"}, "content_filter", usage=None))
def test_an_answer_that_began_counts_for_its_model_even_without_tokens(reply):
    with pytest.raises(PflowError) as caught:
        asked(Chat, reply)
    assert caught.value.usage["model"] == "m"


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        (Chat, chat({"content": " \n"})[0]),
        (Chat, chat({"content": "<think>Oak"}, "length")[1]),
        (Chat, chat({"content": None, "tool_calls": [TOOL]}, "tool_calls")[0]),
        (Responses, respond(THOUGHT)[0]),
    ],
)
def test_it_is_allowed_as_an_empty_text_that_is_neither_cached_nor_logged(kind, reply, tmp_path):
    answer, shown = asked(kind, reply, allows_no_answer=True)
    assert (answer.value, shown, "conversation" in answer.usage) == ("", [], False)
    assert answer.flaw == answer.warning != ""
    assert not (tmp_path / "logs.db").exists()


@pytest.mark.parametrize("reply", [*chat({"content": "", "tool_calls": [TOOL]}), *chat({"content": "<think>a"})])
def test_with_a_schema_nothing_is_allowed(reply):
    with pytest.raises(PflowError) as caught:
        asked(Chat, reply, schema={"type": "object"}, allows_no_answer=True)
    assert caught.value.exit == 65


def plugin(events, calls=(), **about):
    """Return the model of a plugin that answers with these events."""

    class Other(llm.Model):
        model_id, can_stream = "other", True

        class Options(llm.Options):
            max_tokens: int | None = None

        def execute(self, prompt, stream, response, conversation=None):
            response.response_json = about
            yield from events
            for name in calls:
                response.add_tool_call(llm.ToolCall(name=name, arguments={}))

    return Other()


@pytest.mark.parametrize(
    ("model", "exit", "why"),
    [
        (plugin([]), 75, "it has no text"),
        (plugin(["<think>", "a"]), 65, ALL_REASONING),
        (plugin([llm.parts.StreamEvent(type="reasoning", chunk="a")], stop_reason="max_tokens"), 65, BY_LIMIT),
        (plugin(["I look."], ["search"], stop_reason="tool_use"), 65, IN_CALL),
        (plugin([], candidates=[{"finishReason": "MALFORMED_FUNCTION_CALL"}]), 65, "it wants to call a tool, and"),
        (plugin([], candidates=[{"finishReason": "MAX_TOKENS"}]), 65, "it has no text, and the 50 tokens of"),
    ],
)
def test_a_plugin_s_model_is_judged_by_what_llm_keeps(model, exit, why):
    with pytest.raises(PflowError) as caught:
        ask(model.conversation(), ModelRequest("Hi", options=LIMIT), print)
    assert (caught.value.exit, why in caught.value.message) == (exit, True), caught.value


def test_a_conversation_goes_on_without_what_was_no_answer():
    parts = llm.parts
    made, lost = (parts.ToolCallPart(name="search", arguments={}, tool_call_id=each) for each in "cd")
    result = llm.Message(role="tool", parts=[parts.ToolResultPart(name="search", output="oak", tool_call_id="c")])
    good = [llm.user("1"), llm.Message(role="assistant", parts=[made]), result, llm.assistant("Oak.")]
    said = [llm.system("s"), llm.user("empty"), *good, llm.user("2"), llm.Message(role="assistant", parts=[lost])]
    said += [llm.user("3"), llm.Message(role="assistant", parts=[parts.TextPart(text="Ash."), lost])]
    said += [llm.user("4"), llm.assistant(" \n"), llm.user("5"), llm.Message("assistant", [parts.ReasoningPart("a")])]
    assert log._without_gaps(said) == [llm.system("s"), *good, llm.user("3"), llm.assistant("Ash.")]


def test_thoughts_are_not_logged_and_do_not_go_back(tmp_path):
    reply = chat([{"content": "<thi"}, {"content": "nk>a</think>"}, {"content": "\nOak"}, {"content": "."}])[0]
    answer, shown = asked(Chat, reply)
    assert (answer.value, shown) == ("Oak.", ["Oak", "."])
    loaded = log.open_conversation("gpt-4o", id=answer.usage["conversation"])
    assert loaded.loaded_messages == [llm.user("Hi"), llm.assistant("Oak.")]


THOUGHTFUL = [
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
@pytest.mark.parametrize(("text", "answer"), THOUGHTFUL)
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


HERMES = '{"name": "search", "arguments": {"q": "bakery"}}'


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        (f"<tool_call>\n{HERMES}\n</tool_call>", "search"),
        (f"<tool_call>{HERMES}</tool_call>\n<tool_call>{HERMES}</tool_call><|im_end|>\n", "search"),
        ("<tool_call>\n<function=search>\n<parameter=q>\na\n</parameter>\n</function>\n</tool_call>", "search"),
        ("<tool_call>search\n<arg_key>q</arg_key>\n<arg_value>a</arg_value>\n</tool_call>", "search"),
        (f"<function_call>{HERMES}</function_call>", "search"),
        ('<function=search>{"q": "a"}</function>', "search"),
        ('<function_calls>\n<invoke name="search">\n</invoke>\n</function_calls>', "search"),
        (f"<minimax:tool_call>{HERMES}</minimax:tool_call>", "search"),
        (f"<TOOLCALL>[{HERMES}]</TOOLCALL>", "search"),
        (f"[TOOL_CALLS][{HERMES}]", "search"),
        ('[TOOL_CALLS]search{"q": "a"}', "search"),
        (f"<|tool_call|>[{HERMES}]<|/tool_call|>", "search"),
        ('<|tool_call>call:search{q:<|"|>a<|"|>}<tool_call|>', "search"),
        ('<|tool_call_start|>[search(q="a")]<|tool_call_end|>', "?"),
        ("<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{}", "search"),
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{}\n```", "search"),
        (f"<|python_tag|>{HERMES}", "search"),
        ("<|channel|>commentary to=functions.search <|constrain|>json<|message|>{}<|call|>", "search"),
        ("```tool_code\nprint(search(q='a'))\n```", "?"),
        ("<tool_call> begins a call.", ""),
        (f"A call: <tool_call>{HERMES}</tool_call>", ""),
        (f"<tool_call>{HERMES}</tool_call>\nThis is how a call looks.", ""),
        (f"```\n<tool_call>{HERMES}</tool_call>\n```", ""),
        (HERMES, ""),
    ],
)
def test_a_text_that_is_the_call_of_a_tool_is_found(text, tool):
    assert called_in(text, is_cut=False) == tool


def test_a_part_is_passed_on_as_soon_as_it_is_no_thought():
    arriving = without_thoughts(iter(["<think>a</thi", "nk>\n", "Oak", " and"]))
    assert [next(arriving) for _ in range(4)] == ["", "", "Oak", " and"]
