"""A provider's failure in pflow's words: the exit code, one line, and no secret in it."""

import json
from types import SimpleNamespace

import pytest
from llm import ModelError

from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, FAILED, TRY_AGAIN, UNAVAILABLE, USAGE, PflowError
from pflow.models.errors import ErrorInAnswer, explain, hide_keys, no_key
from pflow.text.printable import LONGEST, foreign_line


def model(key=None, *, headers=None, api_base=None, needs_key="peer", variable=None):
    return SimpleNamespace(
        model_id="a-model",
        needs_key=needs_key,
        key_env_var=variable,
        get_key=lambda: key,
        headers=headers,
        api_base=api_base,
    )


class ProviderError(Exception):
    """What HTTP libraries raise, with what they put on it."""

    def __init__(self, words="", **about):
        super().__init__(words)
        self.__dict__.update(about)


def named(name, words=""):
    return type(name, (Exception,), {})(words)


@pytest.mark.parametrize(
    ("status", "exit"),
    [
        *((status, BAD_DATA) for status in (400, 413, 422)),
        *((status, DENIED) for status in (401, 402, 403)),
        (404, BAD_CONFIG),
        *((status, TRY_AGAIN) for status in (408, 409, 425, 429, 500, 502, 529)),
        *((status, FAILED) for status in (418, 499)),
    ],
)
def test_a_status_has_its_exit_code(status, exit):
    for error in (
        ProviderError("no", status_code=status),
        ProviderError("no", response=SimpleNamespace(status_code=status)),
        ProviderError("no", code=status),
    ):
        explained = explain(error, model())
        assert explained.exit == exit
        assert explained.message == f"cannot get an answer from 'a-model': {status}: no"


FORMS = {
    "OpenAI": lambda said: {"error": {**said, "param": None}},
    "its client": lambda said: {**said, "param": None},
    "Gemini": lambda said: [{"error": {**said, "details": [{"@type": "x", "reason": said["code"]}]}}],
    "Anthropic": lambda said: {"type": "error", "error": {"type": said["code"], "message": said["message"]}},
    "Ollama": lambda said: {"error": said["message"], "code": said["code"]},
    "FastAPI": lambda said: {"detail": {"error": said["message"], "type": said["code"]}},
    "problem+json": lambda said: {
        "type": "https://x.org/a",
        "status": said["code"],
        "title": "no",
        "detail": said["message"],
    },
    "a list": lambda said: {"success": False, "errors": [{"code": 7003, "message": "no"}, said]},
    "AWS": lambda said: {"__type": said["code"], "Message": said["message"]},
    "a proxy": lambda said: {"error": {"message": f"BadRequest - {json.dumps({'error': said})}", "code": None}},
    "OpenRouter": lambda said: {"error": {"message": "no", "metadata": {"raw": json.dumps({"error": said})}}},
    "Python's": lambda said: f"Error - {{'error': {said!r}, 'x': None}}",
}
CODES = {
    **dict.fromkeys(("insufficient_quota", "billing_not_active", "INSUFFICIENT_CREDITS", "payment-required"), DENIED),
    **dict.fromkeys(("invalid_api_key", "API_KEY_INVALID", "UNAUTHENTICATED", "PERMISSION_DENIED"), DENIED),
    **dict.fromkeys(("authentication_error", "AccessDeniedException", "account_deactivated"), DENIED),
    **dict.fromkeys(("insufficient_user_quota", "RequestForbidden"), DENIED),
    **dict.fromkeys(("context_length_exceeded", "exceed_context_size_error", "tokens_limit_reached"), BAD_DATA),
    **dict.fromkeys(("invalid_value", "unsupported_parameter", "string_above_max_length"), BAD_DATA),
    **dict.fromkeys(("model_not_found", "DeploymentNotFound", "model_decommissioned", "unknown_model"), BAD_CONFIG),
    **dict.fromkeys(("content_filter", "content_policy_violation", "data_inspection_failed"), FAILED),
    **dict.fromkeys(
        ("rate_limit_exceeded", "overloaded_error", "RESOURCE_EXHAUSTED", "ThrottlingException"), TRY_AGAIN
    ),
    **dict.fromkeys(("UNAVAILABLE", "server_error", "DEADLINE_EXCEEDED", "429", "502"), TRY_AGAIN),
    **dict.fromkeys(("401", "402"), DENIED),
    **dict.fromkeys(
        ("NotFoundError", "not_found_error", "404"), BAD_CONFIG
    ),  # with no status, the vague ones count, too
    **dict.fromkeys(("invalid_request_error", "INVALID_ARGUMENT", "BadRequestError", "400", "413"), BAD_DATA),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_code_says_what_an_error_means_in_every_form(form):
    for code, exit in CODES.items():
        body = FORMS[form]({"code": int(code) if code.isdigit() else code, "message": "WORDS: is it 'overloaded'?"})
        as_text = body if isinstance(body, str) else json.dumps(body)
        vague = code.isdigit() or code in [*CODES][-8:]
        errors = [ErrorInAnswer(body), ProviderError("x", body=body), ModelError(as_text)]
        errors += [ProviderError("x", response=SimpleNamespace(text=as_text, status_code=400))] * (not vague)
        for error in errors:
            explained = explain(error, model())
            assert (code, explained.exit, explained.is_permanent) == (code, exit, exit != TRY_AGAIN)
            assert "WORDS: is it 'overloaded'?" in explained.message
            assert "{" not in explained.message


@pytest.mark.parametrize(
    ("status", "words", "exit"),
    [
        (400, "API key not valid. Please pass a valid API key.", DENIED),
        (400, "Your credit balance is too low to access the Anthropic API.", DENIED),
        (400, "Incorrect API key provided: sk-x.", DENIED),
        (429, "You exceeded your current quota, please check your plan and billing details.", DENIED),
        (400, "The free tier is not available in your country. Please enable billing on your project.", DENIED),
        (429, "Your prepayment credits are depleted. Manage your project and billing.", DENIED),
        (500, "This request requires more credits, or fewer max_tokens.", DENIED),
        (None, "You exceeded your current quota. Quota exceeded for metric: x. Please retry in 34s.", TRY_AGAIN),
        (None, "Resource has been exhausted (e.g. check quota).", TRY_AGAIN),
        (None, "The model is overloaded. Please try again later.", TRY_AGAIN),
        (None, "HTTP 429 Too Many Requests", TRY_AGAIN),
        (None, "model 'x' is not there (status code: 404)", BAD_CONFIG),
        (429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30, Requested 40.", BAD_DATA),
        (429, "Too many tokens, please wait before trying again.", TRY_AGAIN),
        (500, "prompt is too long: 213462 tokens > 200000 maximum", BAD_DATA),
        (500, "The input token count (12) exceeds the maximum number of tokens allowed (10).", BAD_DATA),
        (500, "the request exceeds the available context size", BAD_DATA),
        (400, "The model `gpt-9.5` does not exist or you do not have access to it.", BAD_CONFIG),
        (400, "models/gemini-0.1 is not found for API version v1beta", BAD_CONFIG),
        (400, "Bad prompt 'why is the rate limit or an invalid API key'", BAD_DATA),
        (400, "Bad prompt: the rate limit, overloaded, try again later", BAD_DATA),
        (400, 'cannot read "your credit balance is too low"', BAD_DATA),
        (None, "invalid model name: `rate limit`", BAD_CONFIG),
        (400, "This organization has been disabled.", DENIED),
        (400, "User location is not supported for the API use.", DENIED),
        (403, "x requires moderation. Your input was flagged. No credits were charged.", FAILED),
        (405, "overloaded", BAD_CONFIG),
        (400, "<400> InternalError.Algo.DataInspectionFailed: Input data may contain inappropriate content.", FAILED),
        (429, "余额不足或无可用资源包,请充值。", DENIED),
        (None, "Sorry, your account balance is insufficient", DENIED),
        (500, "Input tokens exceed the configured limit of 272000 tokens.", BAD_DATA),
        (400, "No models loaded. Please load a model.", BAD_CONFIG),
        (413, "rate_limit", BAD_DATA),
        (None, "it did not work", FAILED),
    ],
)  # fmt: skip
def test_words_say_what_an_error_means_if_they_can_mean_nothing_else(status, words, exit):
    explained = explain(ProviderError(words, status_code=status), model())

    assert (explained.exit, words[-9:] in explained.message) == (exit, True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<!DOCTYPE html><html><head><title>502 Bad\nGateway</title></head><body>x</body>", "502: Bad Gateway"),
        ("<html><body><h1>a &amp; b</h1>", "502: a & b"),
        ("<Error><Code>X</Code><Message>no</Message></Error>", "502: no"),
        ("upstream down", "502: upstream down"),
        ({"detail": [{"loc": ["body", "a"], "msg": "x"}, {"loc": ["b"], "msg": "y"}]}, "502: body.a: x; b: y"),
        ({"why": "so"}, '502: {"why": "so"}'),
        ({"error": {"message": "a", "metadata": {"raw": "b"}}}, "502: a: b"),
        ("<p>", "502: a page without a title"),
        (None, "502: bad gateway"),
        ("[" * 50_000, "502: ["),
    ],
)
def test_the_words_are_found_in_every_form(body, said):
    error = ProviderError("Error code: 502", status_code=502, body=body)

    assert explain(error, model()).message.partition("'a-model': ")[2].startswith(said)


@pytest.mark.parametrize("code", ["12", "4290", "abc", None])
def test_a_code_that_is_no_status_is_passed_over(code):
    explained = explain(ProviderError("no", code=code), model())

    assert (explained.exit, explained.message) == (FAILED, "cannot get an answer from 'a-model': no")


@pytest.mark.parametrize(
    ("status", "needs_key", "hint"),
    [
        (401, "peer", "llm keys set peer"),
        (401, None, ""),
        (404, "peer", "the provider knows no such model, or its address is wrong"),
        (503, "peer", "try again, or let --retries do it"),
    ],
)
def test_the_hint_says_what_to_do(status, needs_key, hint):
    assert explain(ProviderError("no", status_code=status), model(needs_key=needs_key)).hint == hint


@pytest.mark.parametrize(
    ("name", "exit", "said"),
    [
        ("APITimeoutError", TRY_AGAIN, "no answer in time: why"),
        ("ConnectError", UNAVAILABLE, "cannot connect: why"),
        ("IncompleteRead", TRY_AGAIN, "the answer was cut: why"),
        ("JSONDecodeError", TRY_AGAIN, "its answer is garbled: why"),
        ("APIConnectionError", UNAVAILABLE, "no connection: why"),
        ("NotImplementedError", USAGE, "why"),
        ("APIError", TRY_AGAIN, "the provider failed: why"),
        ("SomethingElse", FAILED, "why"),
    ],
)
def test_an_exception_without_a_status_is_told_by_its_class(name, exit, said):
    explained = explain(named(name, "why"), model())

    assert explained.exit == exit
    assert explained.message.endswith(f"'a-model': {said}")


def test_an_answer_that_is_not_valid_http_is_never_asked_for_again():
    explained = explain(named("RemoteProtocolError", "illegal header line: bytearray(b'X : y')"), model())

    assert (explained.exit, explained.is_permanent) == (UNAVAILABLE, True)
    assert explained.message.endswith("its answer is not valid HTTP: illegal header line")


def test_the_cause_counts_that_lies_deepest():
    error = named("APIConnectionError", "outer")
    error.__cause__ = named("ReadError", "middle")
    error.__cause__.__context__ = named("gaierror", "inner")

    assert explain(error, model()).message.endswith("cannot connect: inner")


def test_a_system_error_is_told_without_its_number():
    error = named("ConnectError", "[Errno 111] Connection refused")

    assert explain(error, model()).message.endswith("cannot connect: connection refused")


def test_causes_that_lead_in_a_circle_end():
    error, other = named("APIError", "one"), named("Other", "two")
    error.__cause__, other.__cause__ = other, error

    assert explain(error, model()).exit == TRY_AGAIN


def test_what_was_explained_stays():
    error = PflowError("cannot", exit=FAILED)

    assert explain(error, model()) is error


@pytest.mark.parametrize(
    ("status", "code", "exit"),
    [
        (401, "upstream_error", DENIED),
        (400, "new_api_error", BAD_DATA),
        (429, "server_error", TRY_AGAIN),
        (None, "invalid_request_error", BAD_DATA),
    ],
)
def test_a_code_of_what_may_pass_counts_after_a_status_and_before_words(status, code, exit):
    body = {"error": {"message": "x is unavailable now", "type": code}}

    assert explain(ProviderError("x", status_code=status, body=body), model()).exit == exit


def test_the_message_in_the_body_is_what_the_provider_says():
    def said(message):
        error = ProviderError("Error code: 400 - {…}", status_code=400, body={"message": message})
        return explain(error, model()).message.partition("'a-model': ")[2]

    assert said("too\nlong") == "400: too long"
    assert said("") == said(7) == "400: {…}"


@pytest.mark.parametrize(("status", "seconds"), [(400, None), (401, None), (429, 7), (503, 7)])
def test_a_retry_after_counts_for_what_may_be_tried_again_only(status, seconds):
    response = SimpleNamespace(status_code=status, headers={"retry-after": "7"})

    assert explain(ProviderError("no", response=response), model()).retry_after == seconds


@pytest.mark.parametrize("key", ["k", "1234", "12345", "sk-peer-0123456789", "x" * 200])
def test_a_key_is_never_shown_however_short(key):
    error = ProviderError(f"bad key {key}!", status_code=401)

    assert key not in explain(error, model(key)).message.partition("401: ")[2].replace("bad key", "")
    assert hide_keys(f"<{key}>", model(key)) == "<***>"


def test_what_headers_and_the_address_hold_is_never_shown():
    secretive = model(headers={"Authorization": "Bearer tok-1"}, api_base="http://ann:pass@127.0.0.1/v1")

    assert hide_keys("tok-1 ann:pass Bearer tok-1", secretive) == "*** *** ***"
    assert hide_keys("four the of", model(headers={"X": "of the four"})) == "*** the of"


def test_a_key_that_cannot_be_read_hides_nothing_and_stops_nothing():
    broken = model()
    broken.get_key = lambda: 1 / 0

    assert hide_keys("words", broken) == "words"


def test_words_are_one_line_of_bounded_length():
    assert foreign_line("a\n b\x1b[31m\tc") == "a b [31m c"
    assert foreign_line("x" * LONGEST) == "x" * LONGEST
    assert foreign_line("x" * (LONGEST + 1)) == "x" * LONGEST + "…"


def test_a_missing_key_names_the_command_and_the_variable():
    error = no_key(model(variable="PEER_KEY"))

    assert (error.exit, error.hint) == (DENIED, "llm keys set peer, or set PEER_KEY")
    assert no_key(model(needs_key=None)).hint == "llm keys set NAME"
