"""The way to a server: which proxy of the environment is used, which is not, and what is wrong with it."""

import os
import re
from functools import partial

import pytest

from pflow.errors import BAD_CONFIG, PflowError
from pflow.web.client import request
from pflow.web.route import bypass_proxies_here, check_bundle, fault_behind, route, via
from tests.peers.proxy import Proxy
from tests.peers.replies import Replies

VARIABLES = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
)
PROXY = "http://me:secret@proxy.example:3128"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # so that it is reset afterwards
        monkeypatch.delenv(name)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch.setenv


@pytest.mark.parametrize(
    ("variables", "proxied", "direct"),
    [
        ({"http_proxy": PROXY}, ["http://a.example/v1", "http://10.0.0.1/"], ["https://a.example/"]),
        ({"HTTPS_PROXY": PROXY}, ["https://a.example/"], ["http://a.example/", "https://localhost/"]),
        ({"ALL_PROXY": PROXY}, ["https://a.example/", "http://a.example/"], ["http://127.0.0.1/", "https://[::1]:8/"]),
        (
            {"all_proxy": "proxy.example:3128"},
            ["http://localhost.example/", "http://128.0.0.1/"],
            ["http://127.8.9.1/", "http://LOCALHOST:80/", "http://ollama.localhost/", "http://0.0.0.0:1/"],
        ),
        ({"ALL_PROXY": PROXY, "NO_PROXY": "a.example."}, ["http://127.0.0.1/", "http://localhost/"], ["http://a.example"]),
        ({"ALL_PROXY": PROXY, "NO_PROXY": "*"}, [], ["http://127.0.0.1/", "http://a.example/"]),
        ({"ALL_PROXY": PROXY, "no_proxy": " .example, x"}, ["http://example.org"], ["http://a.example/", "http://X/"]),
        ({"ALL_PROXY": PROXY, "no_proxy": "*.a.example"}, ["http://ba.example"], ["http://b.a.example/"]),
        ({"ALL_PROXY": PROXY, "no_proxy": "10.0.0.0/8"}, ["http://11.0.0.1", "http://127.0.0.1"], ["http://10.2.3.4/"]),
        ({"ALL_PROXY": PROXY, "no_proxy": "a:80,b:81,[::1]:82"}, ["http://b/", "http://[::1]/"], ["http://a", "http://[::1]:82"]),
        ({"ALL_PROXY": PROXY, "no_proxy": "::1,localhost"}, ["http://127.0.0.1"], ["http://[::1]:9", "http://localhost:9"]),
        ({"ALL_PROXY": PROXY, "NO_PROXY": ""}, ["http://a.example"], ["http://127.0.0.1"]),
    ],
)  # fmt: skip
def test_this_machine_and_what_no_proxy_lists_are_reached_directly(environment, variables, proxied, direct):
    for name, said in variables.items():
        environment(name, said)
    assert all(next(iter(variables)) in via(url) and "secret" not in via(url) for url in proxied)
    assert not any(map(via, direct))


@pytest.mark.parametrize("variable", ["http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("socks4://me:secret@127.0.0.1:1", "'socks4' is none of http, https, socks5, socks5h"),
        ("gopher://me:secret@x", "'gopher' is none of"),
        ("http://me:secret@proxy.example:port", "it is not a URL"),
        ("me:secret@proxy.example:port", "it is not a URL"),
        ("http://:3128", "it has no host"),
        ("http://", "it has no host"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable(environment, variable, said, why):
    environment(variable, said)
    for ask in (lambda: route("http://a.example"), lambda: request("GET", "http://a.example")):
        with pytest.raises(PflowError) as caught:
            ask()
        assert caught.value.exit == BAD_CONFIG
        assert f"cannot use the proxy of {variable}: {why}" in caught.value.message
        assert "secret" not in f"{caught.value.message}{caught.value.hint}"
    assert route("http://127.0.0.1:1")["proxy"] is None
    assert fault_behind(ValueError("Unknown scheme for proxy URL")).exit == BAD_CONFIG


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"])
def test_certificates_that_cannot_be_read_are_named_with_their_variable(environment, variable, tmp_path):
    (tmp_path / "notes.txt").write_text("no certificate")
    for path in ("/nowhere/ca.pem", *[str(tmp_path / "notes.txt")], *[str(tmp_path)] * (variable == "SSL_CERT_FILE")):
        environment(variable, path)
        check = check_bundle if variable == "REQUESTS_CA_BUNDLE" else partial(route, "https://a.example")
        with pytest.raises(PflowError, match=f"cannot read the trusted certificates of {variable}, '{path}'") as caught:
            check()
        assert caught.value.exit == BAD_CONFIG


def test_a_proxy_of_socks_is_used(environment):
    pytest.importorskip("socksio")
    with Replies((200, "Oak")) as server, Proxy(server.server_port, is_socks=True) as proxy:
        for scheme in ("socks5", "socks5h"):
            environment("ALL_PROXY", f"{scheme}://{proxy.place}")
            assert request("POST", "http://tree.example/", body="{}").body == b"Oak"
    assert proxy.asked == ["tree.example"] * 2


def test_other_libraries_spare_this_machine_unless_no_proxy_is_set(environment):
    bypass_proxies_here()
    assert "NO_PROXY" not in os.environ
    environment("http_proxy", PROXY)
    bypass_proxies_here()
    assert os.environ["NO_PROXY"] == "localhost,.localhost,127.0.0.0/8,127.0.0.1,0.0.0.0,::1"
    assert not any(map(via, ("http://127.8.9.1", "http://0.0.0.0", "http://localhost")))
    environment("NO_PROXY", "a.example,10.0.0.0/8")
    bypass_proxies_here()
    assert os.environ["NO_PROXY"] == "a.example,10.0.0.0/8"
    for listed in ("a.example,127.0.0.0/8", ""):  # httpx reads no network
        environment("no_proxy", listed)
        bypass_proxies_here()
        assert re.match(f"{listed}.*,127.0.0.1,", os.environ["NO_PROXY"])
