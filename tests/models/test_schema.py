"""The value in an answer: where it may stand, why an answer has none, and what is asked once more."""

import json
import os
from types import SimpleNamespace

import pytest
from llm.default_plugins.openai_models import Responses

from pflow.errors import PflowError
from pflow.models.ask import ModelRequest, ask
from pflow.models.choose import choose
from pflow.models.request_form import change_form, takes_schema
from pflow.models.schema import is_bare, read_answer
from tests.peers.replies import Replies, chunk

TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "height": {"type": "integer"}},
    "required": ["name", "height"],
}
OAK = '{"name": "oak", "height": 40}'
ASH = '{"name": "ash", "height": 30}'
INTEGER = {"type": "integer"}
LISTS = {"type": "array"}


@pytest.mark.parametrize(
    ("bare", "texts"),
    [
        (True, [
            OAK, f"\ufeff{OAK}\r\n", f"```json\n{OAK}\n```", f"```json {OAK}```", f"```{OAK}```", f"~~~\n{OAK}\n~~~",
            f"````json\r\n{OAK}\r\n````", f'```json title="a tree"\n{OAK}\n```',
        ]),
        (False, [
            f"```json\n{OAK}", f"```json\n{OAK}\n``` I hope it helps.", f"JSON: {OAK}", f"Here it is: {OAK}",
            f"Sure!\n\n{OAK}\n\nAnything else?",
            f"<json>{OAK}</json>", f"**Answer:** `{OAK}`", f"See [1] and {{x}}:\n{OAK}",
            f"For example {ASH} would fit.\n{OAK}", f"It may be {ASH}?\n\n  {OAK} I think", f"{OAK} or {OAK}",
            f"{OAK}\n{OAK}", f"Not {ASH} but\n```json\n{OAK}\n```", f"```python\nprint(1)\n```\n```json\n{OAK}\n``` !",
        ]),
    ],
)  # fmt: skip
def test_a_value_stands_alone_or_in_a_fence_or_by_itself_among_words(bare, texts):
    for text in texts:
        assert (read_answer(text, TREE, "m"), is_bare(text)) == ({"name": "oak", "height": 40}, bare), text


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("42", INTEGER, 42), ("```json\n42\n```", INTEGER, 42), ('"oak"', {}, "oak"),
        ("null", {}, None), ("Here: [1]", LISTS, [1]), ('{"a": "b```c"}', {}, {"a": "b```c"}),
        ('```\n{"a": "b```c"}\n```', {}, {"a": "b```c"}),
    ],
)  # fmt: skip
def test_a_value_of_any_type_is_read(text, schema, value):
    assert read_answer(text, schema, "m") == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{OAK}\n{ASH}", "two values are in it: '{"),
        (f"```\n{OAK}\n{ASH}\n```", "two values are in it: '{"),
        (f"```json\n{OAK}\n```\n```json\n{ASH}\n```", "two values are in it: '{"),
        (f"```json\n{OAK}\n```\n```json\n{ASH}\n```\n```json\n{{}}\n```", "3 values are in it"),
        (f"{OAK} or {ASH}", "two values are in it"),
        (f"For example: {ASH}\n{OAK}", "two values are in it"),
        (f"I say {OAK} today", "its JSON stands within a sentence, and begins no line: 'I say {"),
        (f"[\n{OAK},\n]", "line 3, column 1: nothing follows the comma"),
        (f"{{'a': {OAK}}}", "line 1, column 2: JSON has only double quotes"),
        (f'[{OAK}, {{"na', "the string that begins here has no end"),
        (f"1]: {OAK}", "it is not JSON"),
        (f'{{"response": {OAK}}}', "'name' is a required property"),
        (json.dumps(OAK), "is not of type 'object'"),
        ('{"name": "oak", "height": NaN}', "NaN is not JSON"),
        ('{"name": "oak", "height": -Infinity}', "-Infinity is not JSON"),
        ('{"name": "oak", "height": None}', "JSON spells it null"),
        ('{"name": "oak", // a tree\n "height": 40}', "JSON has no comments"),
        ('{"name": "oak", "name": "ash", "height": 40}', "'name' appears twice"),
        ("An oak.", "it is not JSON: 'An oak.'"),
        ("[{" * 100_000, "it is not JSON"),
        ('{"name": "oak", "height": 123456789012345678901234567890}', "too large: line 1, column 27: the integer 1234"),
        ('Here:\n{"name": "oak", "height": 1e400}', "too large: line 2, column 27: the number 1e400"),
    ],
)
def test_no_other_value_is_taken_and_the_reason_is_said(text, why):
    with pytest.raises(PflowError) as caught:
        read_answer(text, TREE, "m")
    assert caught.value.exit == 65
    assert caught.value.is_permanent == ("too large" in why)
    assert why in caught.value.message
    assert "'{}'" not in caught.value.message  # two of several are enough


def said(text, end="stop"):
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return [chunk(text), chunk(end=end), {**chunk(), "choices": [], "usage": usage}]


REFUSED = (400, {"error": {"message": "This response_format type is unavailable now"}})
NO_GRAMMAR = (400, {"error": {"message": "failed to parse grammar"}})
BAD_SCHEMA = (422, {"detail": "Invalid schema: 'additionalProperties' is required"})
LARGE = OAK.replace("40", "9" * 30)
SENT, WORDS, BOTH, AGAIN = "sent", "in words", "sent, in words", "sent, in words, wrong"


def form_of(body):
    prompt = str(body["messages"][-1]["content"])
    signs = {SENT: "response_format" in body, WORDS: "JSON schema" in prompt, "wrong": "earlier answer" in prompt}
    return ", ".join(name for name, is_there in signs.items() if is_there)


@pytest.mark.parametrize(
    ("replies", "asked", "ends"),
    [
        ([said(OAK)], [SENT, SENT], [1, 1]),
        ([REFUSED, said(OAK)], [SENT, WORDS, WORDS], [1, 1]),
        ([NO_GRAMMAR, said(OAK)], [SENT, WORDS, WORDS], [1, 1]),
        ([BAD_SCHEMA, said(OAK)], [SENT, WORDS, WORDS], [1, 1]),
        ([said("An oak."), said(OAK)], [SENT, AGAIN, BOTH], [2, 1]),
        ([said("An oak.")], [SENT, AGAIN, SENT, AGAIN], ["An oak", "An oak"]),
        ([REFUSED, said("An oak."), said(OAK)], [SENT, WORDS, "in words, wrong", WORDS], [2, 1]),
        ([REFUSED], [SENT, WORDS, WORDS], ["unavailable", "unavailable"]),
        ([said('{"name": "o', "length")], [SENT, SENT], ["has no end", "has no end"]),
        ([said(LARGE)], [SENT, SENT], ["64 bits", "64 bits"]),
        ([(400, {"error": {"message": "bad prompt"}})], [SENT, SENT], ["bad prompt", "bad prompt"]),
    ],
)
def test_a_refused_or_ignored_schema_goes_into_the_prompt(replies, asked, ends):
    with Replies(*replies) as server:
        for end in ends:
            before = len(server.asked)
            conversation = choose(server.model("m")).conversation()
            if isinstance(end, str):
                with pytest.raises(PflowError, match=end) as caught:
                    ask(conversation, ModelRequest("Name a tree", schema=TREE), lambda _: None)
                assert caught.value.exit == 65
                assert caught.value.usage.get("calls", 1) == len(server.asked) - before
            else:
                answer = ask(conversation, ModelRequest("Name a tree", schema=TREE), lambda _: None)
                assert (answer.value["name"], answer.flaw) == ("oak", "")
                assert answer.usage["input"] == 10 * end
                assert answer.usage.get("calls", 1) == len(server.asked) - before
                assert len(conversation.responses) == 1
    assert [form_of(body) for body in server.asked] == asked


@pytest.mark.parametrize(
    "refusal",
    [
        {
            "message": "Invalid schema for response_format 'output': 'required' is missing",
            "param": "text.format.schema",
        },
        {"message": "Unsupported parameter: text.format", "param": "text"},
    ],
)
def test_openai_s_newer_protocol_refuses_a_schema_by_another_name(refusal):
    with Replies((400, {"error": refusal})) as server:
        model = Responses(
            "m", model_name="m", api_base=f"http://127.0.0.1:{server.server_port}/v1", supports_schema=True
        )
        model.needs_key = None
        with pytest.raises(PflowError):
            ask(model.conversation(), ModelRequest("Name a tree", schema=TREE), lambda _: None)
    assert [("format" in body.get("text", {}), "JSON schema" in str(body)) for body in server.asked] == [
        (True, False),
        (False, True),
    ]


def test_a_pipe_that_is_attached_is_read_once_for_both_questions():
    reading, writing = os.pipe()
    os.write(writing, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde")
    os.close(writing)
    with Replies(said("An oak."), said(OAK)) as server:
        request = ModelRequest("Which tree?", places=[f"/dev/fd/{reading}"], schema=TREE)
        ask(choose(server.model("m")).conversation(), request, lambda _: None)
    os.close(reading)
    assert ["image/png" in str(body) for body in server.asked] == [True, True]


def test_retries_ask_once_each_in_the_form_that_names_what_was_wrong():
    request = ModelRequest("Name a tree", schema=TREE)
    with Replies(said("An oak.")) as server:
        for _ in range(3):  # as --retries=2 does
            with pytest.raises(PflowError, match="it is not JSON"):
                ask(choose(server.model("m")).conversation(), request, lambda _: None)
    assert [form_of(body) for body in server.asked] == [SENT, AGAIN, AGAIN, AGAIN]


def test_a_schema_is_sent_to_no_model_that_refuses_it_or_would_call_a_tool():
    models = [SimpleNamespace(supports_schema=able, model_id=str(able)) for able in (True, False)]
    models.append(SimpleNamespace(supports_schema=True, use_structured_outputs=False, model_id="an older Claude"))
    assert [takes_schema(model, TREE) for model in models] == [True, False, False]
    refusals = [change_form(models[0], "response_format", TREE) for _ in range(2)]  # in two threads of a map
    assert (refusals, takes_schema(models[0], TREE), takes_schema(models[0], INTEGER)) == ([True, True], False, True)
