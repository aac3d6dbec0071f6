"""A refusal that names a member of the request is answered once, by the same request in another form."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace

import pytest

from pflow.driver.budget import Budget
from pflow.errors import PflowError
from pflow.models.ask import ModelRequest, ask, ask_after
from pflow.models.choose import choose
from pflow.models.request_form import refused_member
from pflow.values.usage import Calls, Usage
from tests.peers.replies import Replies, chunk, token, whole

SENT = ("model", "messages", "stream", "stream_options", "max_tokens", "response_format", "temperature")


@pytest.mark.parametrize(
    ("status", "said", "member"),
    [
        (400, {"error": {"message": "Unsupported: 'max_tokens'. Use 'max_completion_tokens' instead."}}, "max_tokens"),
        (400, {"error": {"message": "max_tokens is too large: 9000. This model does not support more."}}, ""),
        (400, {"error": {"message": "This model's maximum context length is 8 tokens, not 9 (max_tokens)"}}, ""),
        (400, {"error": {"message": "'stream_options' is only allowed when 'stream' is enabled"}}, "stream_options"),
        (400, {"error": {"message": "Unsupported value", "param": "stream", "code": "unsupported_value"}}, "stream"),
        (405, "Streaming is not supported", "stream"),
        (501, {"detail": "stream=true is not implemented"}, "stream"),
        (422, {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra input not permitted"}]}, "stream_options"),
        (400, {"message": "This response_format type is unavailable now"}, "response_format"),
        (400, {"error": "json_schema is unsupported"}, "response_format"),
        (404, {"error": {"message": "no such model 'mainstream'"}}, "model"),
        (400, {"error": {"message": "the stream is fine"}}, ""),
        (500, "streaming not supported yet", "stream"),
        (500, {"error": {"message": "response_format must be one of x", "type": "server_error"}}, "response_format"),
        (500, "no stream: the upstream failed, unexpectedly", ""),
        (422, {"detail": [{"loc": ["body", "response_format"], "msg": "Input should be 'text'"}]}, "response_format"),
        (400, {"error": "Model 'x' does not support structured outputs"}, "response_format"),
        (400, {"error": {"message": "'messages' must contain 'json' for 'response_format'"}}, "response_format"),
        (400, {"error": {"message": "Failed to validate JSON.", "code": "json_validate_failed"}}, "response_format"),
        (404, {"error": {"message": "The model 'a-stream' does not exist"}}, "model"),
        (401, "stream: invalid key", ""),
        (400, {"error": {"message": "You requested 9 max_tokens, but can only afford 2", "code": 402}}, ""),
        (400, {"error": {"message": "max_tokens: not now", "type": "overloaded_error"}}, ""),
    ],
)  # fmt: skip
def test_a_refusal_names_a_member(status, said, member):
    text = said if isinstance(said, str) else json.dumps(said)
    inner = said.get("error") if isinstance(said, dict) else None
    param = inner.get("param") if isinstance(inner, dict) else None
    error = Exception()
    error.response, error.param = SimpleNamespace(status_code=status, text=text), param
    assert refused_member(error, SENT) == member


def _asked(server, name, **about):
    said = []
    answer = ask(choose(server.model(name)).conversation(), ModelRequest("Hi", **about), said.append)
    return answer.value, "".join(said)


NOT_STREAMED = (400, {"error": {"message": "streaming is not supported by this model"}})
IN_THE_STREAM = [{"error": {"message": "streaming is not supported", "code": 400}}]
NO_OPTIONS = (422, {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]})
OTHER_LIMIT = (400, {"error": {"message": "'max_tokens' is not supported. Use 'max_completion_tokens' instead."}})
ANSWER = [chunk("Oak"), chunk(end="stop")]
OPTIONS = {"stream_options": {"include_usage": True}}


@pytest.mark.parametrize(
    ("replies", "options", "sent"),
    [
        ([NOT_STREAMED, whole("Oak")], {}, {}),
        ([IN_THE_STREAM, whole("Oak")], {}, {}),
        ([NO_OPTIONS, ANSWER], {}, {"stream": True}),
        ([OTHER_LIMIT, ANSWER], {"max_tokens": 50}, {"stream": True, "max_completion_tokens": 50, **OPTIONS}),
        ([OTHER_LIMIT, NOT_STREAMED, whole("Oak")], {"max_tokens": 50}, {"max_completion_tokens": 50}),
    ],
)
def test_a_refused_member_is_left_out_once_and_for_all(replies, options, sent):
    with Replies(*replies, replies[-1]) as server:
        for _ in range(2):
            assert _asked(server, "m", options=options)[1] == "Oak"
    assert len(server.asked) == len(replies) + 1
    for each in server.asked[-2:]:
        assert {name: value for name, value in each.items() if name not in ("messages", "model") and value} == sent


@pytest.mark.parametrize(
    "refusal", [OTHER_LIMIT, NOT_STREAMED, NO_OPTIONS, (400, {"error": {"message": "bad prompt"}})]
)
def test_a_refusal_that_no_form_mends_is_not_asked_again(refusal):
    with Replies(refusal) as server:
        for _ in range(2):
            with pytest.raises(PflowError, match="cannot get an answer"):
                _asked(server, "m", options={"max_tokens": 5})
    assert len(server.asked) <= 3


NO_SCHEMA = (400, {"error": {"message": "response_format is not supported"}})


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_budget_without_room_for_the_other_form_tells_the_reasons(most):
    account = Budget({"calls": most})
    words = (r"refused 'stream': 400: .*by this model \(-o stream=false", "refused 'response_format': 400", "'Oak'")
    with Replies(NOT_STREAMED, NO_SCHEMA, whole("Oak")) as server:
        with pytest.raises(PflowError) as caught:
            _asked(server, "m", schema="name", calls=Calls(account.answer))
        assert len(server.asked) == account.used["calls"] == Usage(caught.value.usage).calls == most
    assert caught.value.exit == 79
    assert re.search(".*".join(words[:most]), caught.value.message)


@pytest.mark.parametrize(("refusal", "member"), [(NOT_STREAMED, "stream"), (OTHER_LIMIT, "max_tokens")])
def test_questions_that_are_refused_at_once_are_each_asked_again(refusal, member):
    together = Barrier(4, timeout=60)

    def answer(asked):
        if asked.get(member):
            together.wait()
            return refusal
        return ANSWER if asked.get("stream") else whole("Oak")

    with Replies(answer) as server, ThreadPoolExecutor(4) as pool:
        said = [pool.submit(_asked, server, "m", options={"max_tokens": 5}) for _ in range(4)]
        assert [each.result()[1] for each in said] == ["Oak"] * 4
    assert len(server.asked) == 8


@pytest.mark.parametrize(("likely", "guess"), [([-2.9, -1.0], ""), ([-3.1, -4.0], "Oak-tree")])
def test_the_word_of_which_a_model_was_least_sure_is_a_guess(likely, guess, tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    tokens = map(token, (" Oak", "-tree"), likely)
    with Replies([chunk("An"), *tokens, token(" falls", -0.1), chunk(end="stop")], owner="llamacpp") as server:
        assert ask_after(choose(server.model("m")), "Sys", "Hi", Calls(), GRAMMAR).guess == guess


GRAMMAR = 'root ::= "oak" | "ash"'
NO_GRAMMAR = (400, {"error": {"code": 400, "message": "Failed to parse grammar"}})


@pytest.mark.parametrize(
    ("owner", "key", "replies", "has_grammar", "listed"),
    [
        ("llamacpp", None, [ANSWER], [True, True], 2),
        ("llamacpp", "sk-its", [NO_GRAMMAR, ANSWER], [True, False, False], 1),
        ("library", None, [ANSWER], [False, False], 2),
        (None, None, [ANSWER], [False, False], 2),
    ],
)
def test_a_grammar_goes_to_a_server_that_takes_one(owner, key, replies, has_grammar, listed, tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    with Replies(*replies, owner=owner, key=key or "DUMMY_KEY") as server:
        (tmp_path / "keys.json").write_text(json.dumps({server.model("m").partition("#")[0]: key} if key else {}))
        for _ in range(2):
            assert ask_after(choose(server.model("m")), "Sys", "Hi", Calls(), GRAMMAR).value == "Oak"
    assert (["grammar" in each for each in server.asked], server.listed) == (has_grammar, listed)
    for each in server.asked:
        line = {
            "grammar": GRAMMAR,
            "repeat_penalty": 1,
            "logprobs": True,
            "top_logprobs": 20,
            "temperature": 0,
            "max_tokens": 120,
            "stop": "\n",
        }
        assert {name: each.get(name) for name in line} == (line if "grammar" in each else dict.fromkeys(line))
