"""http: ask a web server."""

import json
import subprocess

import pytest

from pflow.errors import PflowError
from pflow.nodes.http import Http
from tests.peers.web_server import TEXT
from tests.tools import need_for

TOKEN = "tok-0123456789abcdef"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("TOKEN", TOKEN)
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.delenv("NOBODY", raising=False)


def ask(url: str, body: object = None, step_key: str = "", **params: object) -> dict[str, object]:
    node, shared = Http(), {"url": url, "body": body}
    node.set_params(params)
    node.step_key = step_key
    action = node.run(shared)
    return {**shared, "action": action}


def refuse(url: str, body: object = None, **params: object) -> PflowError:
    with pytest.raises(PflowError) as caught:
        ask(url, body, **params)
    return caught.value


FLOW = '{"nodes": [{"id": "call", "type": "http", "inputs": {"url": "%s/echo", "body": "x"}}]}'


@pytest.mark.parametrize(
    ("words", "method"),
    [
        ("pflow-http {url} --form=a=b", "POST"),
        ("pflow-http {url} --body=x", "POST"),
        ("pflow-http {url} --body=x --dry-run 2>&1 | grep -q 'method: POST' && exit 9", 9),
        ("pflow run 'http {url}' --form=a=b --dry-run 2>&1 | grep -q 'method: POST' && exit 9", 9),
        ("pflow-http {url} --body=x -X PUT", "PUT"),
        ("pflow-http {url} --body:=null", "GET"),
        ("pflow-http {url} -X GET --body=x", 2),
        ("echo x | pflow-http {url}", 2),
        ("echo x | pflow-http {url} -X PATCH", "PATCH"),
        ("echo x | pflow run 'http {url}'", 2),
        ("echo x | pflow run 'template y => http {url} --body=$stdin'", "POST"),
        ("pflow run 'http {url}' --form=a=b", "POST"),
        ("pflow run call.pflow.json", "POST"),
        ("pflow run 'http {url} --form=a=b --cache'", 78),
    ],
)
def test_a_flag_for_the_body_makes_it_a_post_in_every_way_to_run(web, tmp_path, monkeypatch, words, method):
    need_for(words)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "call.pflow.json").write_text(FLOW % web.url)
    count, typed = len(web.requests()), words.format(url=f"{web.url}/echo")
    ran = subprocess.run(["sh", "-c", typed], cwd=tmp_path, capture_output=True, text=True, check=False)
    seen = web.requests()[count:]
    assert (seen[0]["method"] if ran.returncode == 0 else ran.returncode) == method, ran
    is_step = ran.returncode == 0 and "pflow run" in words and method == "POST"
    assert [bool(each["headers"].get("idempotency-key")) for each in seen if is_step] == [True] * is_step


@pytest.mark.parametrize(
    ("words", "repeats"), [("--form=a=b", False), ("--body=x", False), ("", True), ("--body=x --method=PUT", True)]
)
def test_a_post_that_its_body_implies_repeats_only_if_told(words, repeats):
    ran = subprocess.run(["pflow", "explain", "--json", f"http http://a {words}"], capture_output=True, check=True)
    assert json.loads(ran.stdout)["steps"][0]["repeats"] is repeats


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/text", TEXT),
        ("/latin-1", TEXT),
        ("/wrong-charset", TEXT),
        ("/png", b"\x89PNG\r\n\x1a\n\xff\0"),
        ("/json", '{"items": [{"name": "oak"}]}'),
        ("/empty", ""),
    ],
)
def test_an_answer_is_text_in_its_charset_or_bytes(web, path, body):
    answer = ask(web.url + path)
    assert (answer["body"], answer["action"]) == (body, "default")


def test_a_query_a_form_and_headers_are_pairs(web):
    ask(web.url + "/echo", method="PUT", query=["q=a=b", "q="], form=["x=1"], header=["Content-Type: a/b", "X-A:"])
    seen = web.requests()[-1]
    assert (seen["path"], seen["body"]) == ("/echo?q=a%3Db&q=", "x=1")
    assert (seen["headers"]["content-type"], seen["headers"]["x-a"]) == ("a/b", "")


@pytest.mark.parametrize(
    ("body", "params", "exit", "words"),
    [
        ("x", {}, 2, "cannot GET with a body"),
        ({}, {"method": "HEAD"}, 2, "cannot HEAD with a body"),
        (None, {"form": ["a=b"]}, 2, "cannot GET with a body"),
        ("x", {"method": "POST", "form": ["a=b"]}, 2, "a form and a body"),
        (None, {"query": ["a"]}, 2, "cannot read --query='a'"),
        (None, {"header": ["Accept"]}, 2, "cannot read the header 'Accept'"),
        (None, {"max_silence": 0}, 2, "cannot wait for 0 s"),
        (None, {"max_silence": float("inf")}, 2, "at most 100000000"),
        *[
            (None, {"header": [f"{name}: {TOKEN}"]}, 2, f"cannot send '{name}' with its value written out")
            for name in ("Authorization", "cookie", "X-API-Key", "Private-Token")
        ],
        (None, {"header": ["Authorization: Bearer env:NOBODY"]}, 77, "the variable NOBODY is not set"),
        (None, {"header": ["X-A: env:EMPTY"]}, 77, "the variable EMPTY is not set"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_sent(web, body, params, exit, words):
    count = len(web.requests())
    error = refuse(web.url + "/echo", body, **params)
    assert (error.exit, words in error.message) == (exit, True), error.message
    assert TOKEN not in f"{error.message} {error.hint}"
    assert len(web.requests()) == count


def test_a_key_comes_from_the_environment_and_no_answer_shows_it(web):
    answer = ask(web.url + "/echo", header=["Authorization: Bearer env:TOKEN", "X-Two: a=env:TOKEN;b"])
    seen = web.requests()[-1]["headers"]
    assert (seen["authorization"], seen["x-two"]) == (f"Bearer {TOKEN}", f"a={TOKEN};b")
    assert TOKEN not in str(answer)
    assert json.loads(answer["body"])["headers"]["authorization"] == answer["headers"]["x-echo"] == "Bearer ***"


def test_a_failure_shows_no_key(web):
    error = refuse(web.url + "/status/403", header=["Authorization: Bearer env:TOKEN", f"X-Status: {TOKEN}"])
    assert error.exit == 77
    assert TOKEN not in error.message


def test_a_status_that_is_not_checked_is_the_action_error(web):
    answer = ask(web.url + "/status/503", check=False)
    assert (answer["body"], answer["status"], answer["action"]) == ("this is 503", 503, "error")
    assert ask(web.url + "/redirect/302?to=/text", follow=False)["status"] == 302


@pytest.mark.parametrize(
    ("method", "step_key", "header", "sent"),
    [
        ("POST", "k", [], True),
        ("PATCH", "k", [], True),
        ("POST", "", [], False),
        ("PUT", "k", [], False),
        ("POST", "k", ["idempotency-key: mine"], "mine"),
    ],
)
def test_what_may_not_be_done_twice_carries_the_key_of_its_step(web, method, step_key, header, sent):
    keys = []
    for key in (step_key, step_key, step_key and "other"):
        ask(web.url + "/echo", method=method, step_key=key, header=header)
        keys.append(web.requests()[-1]["headers"].get("idempotency-key"))
    if sent is True:
        assert keys[0] == keys[1] != keys[2]
        assert len(keys[0]) == 64
    else:
        assert set(keys) == {sent or None}


def test_only_get_is_cached_and_for_one_key_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    node = Http()
    parts = [node.cache_parts({})]
    for token in (TOKEN, "another-0123456789"):
        monkeypatch.setenv("TOKEN", token)
        node.set_params({"header": ["X-Key: env:TOKEN"]})
        parts.append(node.cache_parts({}))
    assert len({str(each) for each in parts}) == 3
    assert TOKEN not in str(parts)
    node.set_params({"method": "POST"})
    with pytest.raises(PflowError, match="only GET"):
        node.cache_parts({})
