"""Secrets: what looks like one is known; however one is quoted or encoded, no text shows it, and other words stay."""

import json
import shlex
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pflow.errors import PflowError, shorten
from pflow.values.secrets import (
    Secrets,
    find_secrets,
    hider,
    is_secret_name,
    is_secret_value,
    mask_flags,
    secret_variables,
)
from tests.tools import limited


def masked(text, *secrets):
    known = Secrets()
    for each in secrets:
        known.add(each)
    return known.mask(text)


WAYS = {
    "as it is": str,
    "repr": repr,
    "ascii": ascii,
    "repr of bytes": lambda text: repr(text.encode()),
    "JSON": json.dumps,
    "JSON in UTF-8": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": text})),
    "repr of JSON": lambda text: repr(json.dumps([text])),
    "a URL": quote,
    "all of a URL": lambda text: quote(text, safe=""),
    "a form": quote_plus,
    "a shell's word": shlex.quote,
    "one line": lambda text: " ".join(text.split()),
}
secrets = st.text(st.characters(exclude_categories=["Cs"]), min_size=4, max_size=16).map(str.strip)


@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)
@settings(max_examples=30)
@given(st.one_of(secrets, secrets.map(lambda text: text + "/\"+'\\ \t&é😀\x00")))
def test_a_secret_is_masked_however_it_is_written(write, secret):
    assume(len(secret) >= 4 and "M" not in secret and "\n" not in secret)
    bare = {ord(each): None for each in "'\"\\[]{}"}
    assert masked(f"<{write(secret)}>", secret).translate(bare) == f"<{write('M')}>".translate(bare).replace("M", "***")


def test_threads_may_add_secrets_while_others_mask():
    secrets = Secrets()

    def learn(number):
        secrets.add(f"canary-{number}")
        return secrets.mask(f"is canary-{number}")

    with ThreadPoolExecutor(8) as pool:
        assert {*pool.map(learn, range(200))} == {"is ***"}


def test_a_long_one_is_masked_where_a_message_cuts_it():
    assert masked(f"cannot take '{shorten('x1' * 50)}'", "x1" * 50) == "cannot take '***…'"


def test_each_line_and_each_member_is_a_secret():
    key = "-----BEGIN KEY-----\nabcdefgh\nijklmnop\n}\n"
    assert masked("bad line 'abcdefgh' } in it", key) == "bad line '***' } in it"
    assert masked("no hunter2, no 4711, yes true", {"a": ["hunter2", 4711, True, None]}) == "no ***, no ***, yes true"
    assert masked("no hunter2", '{"password": "hunter2"}') == "no ***"
    assert masked("no hunter2", b"hunter2\n") == "no ***"


def test_a_secret_is_new_once():
    secrets = Secrets()
    assert [secrets.add("hush"), secrets.add("hush"), secrets.add("hush\nmore"), secrets.add(None)] == [
        *(True, False, True, False)
    ]


def test_a_short_one_is_masked_as_a_word():
    assert masked("a cat, an abc and 'ab' at 42", "ab", 42) == "a cat, an abc and '***' at ***"


def test_of_two_secrets_the_longer_one_is_masked_first():
    assert masked("swordfish and swordfish9", "swordfish", "swordfish9") == "*** and ***"


def test_an_error_is_masked_in_message_hint_and_details():
    known = Secrets()
    known.add("hunter2")
    error = known.hide(PflowError("no hunter2", hint="not hunter2", details={"a": [{"b": "hunter2"}]}))
    assert (str(error), error.message, error.hint, error.details) == (
        "no ***",
        "no ***",
        "not ***",
        {"a": [{"b": "***"}]},
    )


def test_words_of_100_kb_are_searched_for_secret_flags_at_once():
    with limited():
        for word in ("-" * 100_000, "--a-" * 25_000, "a.-" * 33_000):
            mask_flags(PflowError("no"), [word], ["token"])


def test_what_is_no_secret_stays():
    assert masked("nothing is known", "", None, True, [], " \n") == "nothing is known"
    assert masked("\\ " * 2000, "\\\\" * 20 + "x" * 8) == "\\ " * 2000


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "token", "db_password", "AWS_SECRET_ACCESS_KEY", "apiKey", "ssh-key"]
)
def test_a_secrets_name_is_known(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["key", "path", "tokens_used", "keyboard", "monkey", "author", "HOME", "max_tokens"])
def test_a_plain_name_is_no_secrets(name):
    assert not is_secret_name(name)


def test_a_secrets_value_is_known():
    assert is_secret_value("Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijkl")
    assert is_secret_value("-----BEGIN RSA PRIVATE KEY-----")
    assert not is_secret_value("sk-ipping stones are a task-force")


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("POST_TOKEN", "swordfish9", True),
        ("POST", "swordfish9", False),
        ("POST_TOKEN", "swordfi9", True),
        ("POST_TOKEN", "swordf9", False),
        ("POST_TOKEN", "password", False),
        ("POST_TOKEN_FILE", "/dev/null", False),
        ("POST_TOKEN", "/not/a/file", True),
    ],
)
def test_a_secret_of_the_environment_is_known(monkeypatch, name, value, is_secret):
    monkeypatch.setenv(name, value)
    assert is_secret_value(f"log in with {value} please") == is_secret
    assert (value not in hider()(f"log in with {value}, please")) == is_secret


def test_of_two_secrets_the_one_that_holds_the_other_is_hidden_whole(monkeypatch):
    monkeypatch.setenv("A_TOKEN", "swordfish9")
    monkeypatch.setenv("B_TOKEN", "swordfish9-and-more")
    assert hider()("swordfish9-and-more swordfish9") == "*** ***"


@pytest.mark.parametrize(
    "text",
    [
        'curl -H "$API_TOKEN"',
        "echo ${API_TOKEN:-none}",
        "echo ${!API_TOKEN}",
        "printenv API_TOKEN",
        "os.environ.get('API_TOKEN')",
        'os.getenv("API_TOKEN")',
        "process.env.API_TOKEN",
        "awk 'BEGIN { print ENVIRON[\"API_TOKEN\"] }'",
    ],
)
def test_who_asks_the_environment_for_a_secret_is_known(text):
    assert secret_variables(text) == ["API_TOKEN"]


def test_a_word_is_no_question_for_a_secret():
    assert secret_variables("grep -n API_TOKEN a.py; echo $HOME $token") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("--token=abc x", ["abc"]),
        ("--token abc x", ["abc"]),
        ("TOKEN=abc x", ["abc"]),
        ("--ask.api-key=abc", ["abc"]),
        ("--name=token --note password", []),
        ("--token.name=abc", []),
        ("--own=abc", ["abc"]),
    ],
)
def test_the_value_of_a_secret_flag_is_found_by_the_flags_name_alone(text, found):
    assert [text[start:end] for start, end in find_secrets(text, ["own"])] == found
