"""The HTTP client, against a real server that behaves badly."""

import gzip
import random
import signal
import time
import zlib
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.process.signals import Deadline, TimedOut
from pflow.web import client
from pflow.web.client import request, unpack
from pflow.web.response import check
from tests.peers.web_server import CERTIFICATE, WebServer

TOKEN = "tok-0123456789abcdef"


@pytest.fixture(scope="module")
def web():
    with WebServer() as server:
        yield server


@pytest.fixture(scope="module")
def other():
    with WebServer() as server:
        yield server


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def refuse(method: str, url: str, **more: object) -> PflowError:
    with pytest.raises(PflowError) as caught:
        check(request(method, url, **more), more.get("secrets", ()))
    return caught.value


@pytest.mark.parametrize(
    ("method", "given", "kind", "body"),
    [
        ("GET", {}, None, ""),
        ("GET", {"headers": {"X-Trace": "7"}}, None, ""),
        ("POST", {"body": b"as it is"}, "application/octet-stream", "as it is"),
        ("POST", {"body": {"ä": [1, None], "$bytes": "AA=="}}, "application/json", '{"ä":[1,null],"$bytes":"AA=="}'),
        ("POST", {"body": False}, "application/json", "false"),
        ("POST", {"body": "Öl"}, "text/plain; charset=utf-8", "Öl"),
        ("PATCH", {"body": {}, "headers": {"content-type": "a/b"}}, "a/b", "{}"),
        ("PUT", {"form": [("a", "1"), ("a", "ä &=")]}, "application/x-www-form-urlencoded", "a=1&a=%C3%A4+%26%3D"),
        ("DELETE", {}, None, ""),
    ],
)
def test_a_request_is_sent_as_it_was_asked_for(web, method, given, kind, body):
    answer = request(method, f"{web.url}/echo?a=b%20c", query=[("d", "e f")], **given)
    seen = web.requests()[-1]
    assert answer.status == 200
    assert (seen["method"], seen["path"]) == (method, "/echo?a=b%20c&d=e+f")
    assert (seen["headers"].get("content-type"), seen["body"]) == (kind, body)
    assert seen["headers"]["user-agent"].startswith("pflow/")
    assert all(seen["headers"][name.lower()] == value for name, value in given.get("headers", {}).items())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/hops/20", b"arrived"),
        ("/cookie", b"welcome"),
        ("/packed", b"first second"),
        ("/empty", b""),
        ("/too-long", b"half"),  # what comes after the length that was said belongs to no answer
        ("/png", b"\x89PNG\r\n\x1a\n\xff\0"),
    ],
)
def test_an_answer_comes_whole_and_unpacked(web, path, body):
    assert request("GET", web.url + path).body == body


def test_a_head_has_no_body(web):
    answer = request("HEAD", web.url + "/text")
    assert (answer.body, answer.headers["content-length"]) == (b"", "15")


@pytest.mark.parametrize(
    ("path", "exit", "words"),
    [
        ("/loop", 65, "redirects more than 20 times"),
        ("/hops/21", 65, "redirects more than 20 times"),
        ("/redirect/302?to=file:///etc/passwd", 65, "is not an http or https URL"),
        ("/redirect/302?to=http://127.0.0.1:x/", 65, "invalid port"),
        ("/redirect/302?to=http://user:hush@127.0.0.1:1/", 77, "may not have a user or password"),
        ("/cut", 75, "received 4 bytes, expected 1000"),
        ("/cut-chunks", 75, "the answer was cut"),
        ("/cut-gzip", 75, "its gzip data has no end"),
        ("/silent", 75, "without sending a response"),
        ("/garbage", 69, "its answer is not valid HTTP: illegal status line"),
        ("/large-header", 65, "the headers of its answer are too large"),
        ("/many-headers", 65, "the headers of its answer are too large"),
        ("/bomb/1", 73, "more than 1,000,000 bytes"),
        ("/zeros", 73, "more than 1,000,000 bytes"),
        ("/stall", 75, "nothing came for 0.2 s"),
        ("/stall-midway", 75, "nothing came for 0.2 s"),
        ("/status/400", 65, "400 Bad Request: this is 400"),
        ("/json-error", 65, "400 Bad Request: no oak here"),
        ("/deep-error", 65, "400 Bad Request"),
        ("/no-json-error", 65, "400 Bad Request"),
        ("/status/401", 77, "401 Unauthorized"),
        ("/status/403", 77, "403"),
        ("/nowhere", 66, "404 Not Found: there is no such page"),
        ("/status/409", 65, "409"),
        ("/status/429", 75, "429"),
        ("/status/503", 75, "503"),
        ("/status/600", 1, "600"),
    ],
)
def test_what_a_server_does_wrong_is_said_with_its_exit_code(web, path, exit, words):
    error = refuse("GET", web.url + path, max_size=1_000_000, max_silence=0.2 if "stall" in path else 10)
    assert (error.exit, words in error.message) == (exit, True), error.message
    assert error.message.startswith("cannot GET 'http://127.0.0.1")
    assert error.is_permanent == (exit != 75)
    assert "hush" not in f"{error.message} {error.hint}"


OK, TWO = b"HTTP/1.1 200 OK\r\n", b"Content-Length: 2\r\n\r\nok"


def raw(web, said: bytes) -> str:
    return f"{web.url}/raw?{quote(said, safe='')}"


@pytest.mark.parametrize(
    "said",
    [
        *(OK + head + b"\r\n" + TWO for head in (b"X-N\xc3\xa4me: v", b"X : b", b"word", b": v", b"X: \0", b" X: a")),
        *(b"HTTP/1.1 %s x\r\n" % status + TWO for status in (b"20", b"099", b"101", b"1000", b"ok")),
        *(OK + b"Content-Length: %s\r\n" % size + TWO for size in (b"3", b"-2", b"x", b"")),
        *(line + b"\r\n" + TWO for line in (b"HTTP/2 200", b"ICY 200 OK", b"")),
        OK + b"Transfer-Encoding: gzip, chunked\r\n" + TWO,
        OK + b"Transfer-Encoding: chunked\r\n\r\nx\r\nok",
    ],
)
def test_an_answer_that_is_not_valid_http_is_refused_for_good(web, said):
    error = refuse("GET", raw(web, said))
    assert (error.exit, error.is_permanent) == (69, True)
    assert "its answer is not valid HTTP: " in error.message
    assert "bytearray" not in error.message


@pytest.mark.parametrize(
    ("place", "asked"),
    [
        *((each, "a%20b") for each in (b"/echo?a b", b"echo?a%20b#part", b"./../echo?a\t b")),
        (b"/echo?a b\r\nLocation: /loop", "a%20b"),
        ("/echo?ä".encode(), "%C3%A4"),
        (b"/echo?\xe4", "%E4"),
        (b"", None),
    ],
)
def test_the_place_of_a_redirect_is_read_as_browsers_read_it(web, place, asked):
    said = b"HTTP/1.1 302 F\r\nLocation: " + place + b"\r\nRefresh: 0;url=/loop\r\n" + TWO
    answer = request("GET", raw(web, said))
    assert (answer.status, web.requests()[-1]["path"]) == (200, f"/echo?{asked}") if asked else answer.status == 302


@pytest.mark.parametrize(
    ("url", "exit", "words"),
    [
        ("http://127.0.0.1:1/", 69, "connection refused"),
        ("https://{web}/", 69, "no TLS"),
        ("http://a..b/", 65, "its host is not a valid name"),
        ("http://127.0.0.1:99999/", 65, "99999 is not a valid port"),
        ("", 66, "the URL is empty"),
        ("http://127.0.0.1:1/a b", 2, "it has a space inside"),
        ("example.com/x", 65, "is not an http or https URL"),
        ("file:///etc/passwd", 65, "is not an http or https URL"),
        ("http:///x", 65, "is not an http or https URL"),
        ("http://[::1/", 65, "invalid port"),
        ("http://127.0.0.1/\n", 69, "connection refused"),
        ("http://127.0.0.1/a\nb", 65, "it has several lines"),
        ("http://me:hush@127.0.0.1/", 77, "may not have a user or password"),
        ("ftp://me:hush@127.0.0.1/?key=hush", 65, "is not an http or https URL"),
    ],
)
def test_what_cannot_be_asked_says_why(web, url, exit, words):
    error = refuse("GET", url.format(web=f"127.0.0.1:{web.port}"))
    assert (error.exit, words in error.message) == (exit, True), error.message
    assert "hush" not in f"{error.message} {error.hint}"


@pytest.mark.parametrize(
    "headers", [{"": "x"}, {"a b": "x"}, {"X": "a\r\nY: b"}, {"X": "ä"}, {"X:": "y"}, {"content-length": "1"}]
)
def test_a_header_that_cannot_be_is_refused_without_its_value(web, headers):
    count = len(web.requests())
    assert refuse("GET", web.url + "/echo", headers=headers).exit == 65
    assert len(web.requests()) == count


@pytest.mark.parametrize(
    ("said", "seconds"), [("7", 7), ("0", 0), ("-3", 0), ("soon", None), ("inf", None), ("9" * 400, None)]
)
def test_retry_after_is_taken_in_seconds(web, said, seconds):
    assert refuse("GET", f"{web.url}/status/429?after={said}").retry_after == seconds


def test_retry_after_is_taken_as_a_date(web):
    assert 50 < refuse("GET", f"{web.url}/later?at={int(time.time()) + 60}").retry_after <= 60
    assert refuse("GET", f"{web.url}/later?at=86400").retry_after == 0


@pytest.mark.parametrize(
    ("status", "method", "then", "body"),
    [
        (301, "POST", "GET", ""),
        (302, "POST", "GET", ""),
        (302, "DELETE", "DELETE", ""),
        (303, "PUT", "GET", ""),
        (303, "HEAD", "HEAD", ""),
        (307, "POST", "POST", '["b"]'),
        (308, "PUT", "PUT", '["b"]'),
    ],
)
def test_a_redirect_keeps_the_method_unless_its_status_says_get(web, capfd, status, method, then, body):
    request(method, f"{web.url}/redirect/{status}?to=/echo", body=["b"] if method in ("POST", "PUT") else None)
    seen = web.requests()[-1]
    assert (seen["method"], seen["body"]) == (then, body)
    assert ("content-type" in seen["headers"]) == bool(body)
    assert ("so a GET followed, without the body" in capfd.readouterr().err) == (then == "GET" and status != 303)


def test_a_redirect_that_is_not_followed_is_an_answer(web):
    answer = request("GET", f"{web.url}/redirect/302?to=/echo", follow=False)
    assert (answer.status, answer.headers["location"]) == (302, "/echo")


def test_a_key_goes_to_its_own_origin_alone(web, other):
    keys = {"Authorization": "Basic abc", "Cookie": "a=b", "X-Key": f"key {TOKEN}", "Host": "a.test"}
    sent = {"headers": {**keys, "X-Trace": "7"}, "secrets": [TOKEN]}
    for origin, has_keys in ((web, True), (other, False)):
        request("GET", f"{web.url}/redirect/307?to={origin.url}/echo", **sent)
        seen = origin.requests()[-1]["headers"]
        assert seen["x-trace"] == "7"
        assert [name for name, value in keys.items() if seen.get(name.lower()) == value] == list(keys) * has_keys


def test_no_message_shows_a_secret(web):
    error = refuse("POST", f"{web.url}/status/400", headers={"X": f"a\n{TOKEN}"}, secrets=[TOKEN])
    assert TOKEN not in error.message
    said = refuse("GET", f"{web.url}/redirect/302?to=ftp://h/{TOKEN}", secrets=[TOKEN])
    assert "ftp://h/***" in said.message


def test_https_is_trusted_by_its_certificate_and_never_left_for_http(web, monkeypatch):
    with WebServer(tls=True) as safe:
        assert "certificate is not trusted: self-signed" in refuse("GET", safe.url + "/text").message
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        assert request("GET", f"{web.url}/redirect/302?to={safe.url}/echo").status == 200
        error = refuse("GET", f"{safe.url}/redirect/302?to={web.url}/echo")
        assert (error.exit, "redirects from https to" in error.message) == (77, True)
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    assert refuse("GET", "https://127.0.0.1:1/").exit == 78


@pytest.mark.parametrize(("proxy", "exit"), [("http://127.0.0.1:1", 69), ("gopher://x", 78), ("socks4://x", 78)])
def test_the_proxy_of_the_environment_is_used(web, monkeypatch, proxy, exit):
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("no_proxy", "localhost")
    assert refuse("GET", web.url + "/text").exit == exit
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert exit == 78 or request("GET", web.url + "/text").status == 200


def test_a_glance_waits_for_no_more_than_it_needs(web):
    assert request("GET", web.url + "/stall-midway", glance=1).body


def test_a_time_limit_ends_a_stalled_call(web):
    begun = time.monotonic()
    with pytest.raises(TimedOut), Deadline(0.1):
        request("GET", web.url + "/stall-midway")
    assert time.monotonic() - begun < 20
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


RANDOM = random.Random(1)
CONTENTS = [b"", b"a", bytes(300_000), RANDOM.randbytes(300_000), RANDOM.randbytes(1_000) * 900]
"""Nothing, little, and more than one part of what packs well, badly and in between."""


def unpacked(packed: bytes, size: int, codings: str = "gzip") -> bytes:
    return b"".join(unpack((packed[at : at + size] for at in range(0, len(packed), size)), codings, "cannot GET"))


@settings(max_examples=30)
@given(st.lists(st.sampled_from(CONTENTS), max_size=4), st.sampled_from([997, 16_384, 10_000_000]))
def test_members_come_one_after_the_other_however_they_are_cut_into_parts(members, size):
    assert unpacked(b"".join(map(gzip.compress, members)), size) == b"".join(members)


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("left", [1, 12, -8, -1])
def test_what_has_no_end_is_no_answer(content, left):
    with pytest.raises(PflowError, match="has no end"):
        unpacked(gzip.compress(content)[:left], 16_384)


def test_no_part_is_large():
    packed = gzip.compress(gzip.compress(bytes(10_000_000)))
    assert max(map(len, unpack(iter([packed]), "gzip, gzip", ""))) <= 1 << 18


OAK = b"oak " * 99
GZIP, ZLIB = gzip.compress(OAK), zlib.compress(OAK)


@pytest.mark.parametrize("size", [1, 3, 10_000])
@pytest.mark.parametrize(
    ("codings", "packed", "result"),
    [
        *((each, OAK, OAK) for each in ("", "identity", "UTF-8", "aws-chunked", "none", "a, b,")),
        *((each, GZIP, OAK) for each in ("gzip", "X-GZip", "identity, gzip", "aws-chunked,gzip", "gzip,utf-8")),
        ("gzip, gzip", gzip.compress(GZIP), OAK),
        ("deflate, gzip", gzip.compress(ZLIB), OAK),
        ("deflate", ZLIB, OAK),
        ("deflate", ZLIB[2:-4], OAK),  # raw, as some servers send it
        ("deflate", GZIP, OAK),
        ("gzip", ZLIB, OAK),
        *(("gzip", GZIP + more, OAK) for more in (bytes(16), b"\r\n", b"\x1f", b"garbage")),
        ("gzip", GZIP + GZIP, OAK + OAK),
        ("gzip", b"", b""),
        ("gzip", GZIP + GZIP[:-3], (75, "its gzip data has no end")),
        ("deflate", ZLIB[:-3], (75, "its deflate data has no end")),
        ("gzip", GZIP[:-8] + bytes(8), (75, "its gzip data is broken: incorrect data check")),
        *((each, OAK, (65, f"is called {each}, and is not")) for each in ("gzip", "deflate")),
        ("gzip, gzip", GZIP, (65, "is called gzip, and is not")),
        (",".join(["gzip"] * 6), GZIP, (65, "packed 6 times")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # packed data holds the time
)
def test_what_is_packed_is_unpacked_as_browsers_and_curl_do_it(codings, packed, result, size):
    if isinstance(result, bytes):
        assert unpacked(packed, size, codings) == result
        return
    with pytest.raises(PflowError, match=result[1]) as caught:
        unpacked(packed, size, codings)
    assert caught.value.exit == result[0]


def test_what_httpx_unpacks_by_a_library_names_it_where_it_is_missing(monkeypatch):
    monkeypatch.setattr(client, "SUPPORTED_DECODERS", {})
    for coding, library in (("br", "brotli"), ("zstd", "backports.zstd")):
        with pytest.raises(PflowError, match=f"'{coding}', for which a library is missing") as caught:
            unpacked(OAK, 9, coding)
        assert (caught.value.exit, caught.value.hint) == (65, f"pip install {library}")
