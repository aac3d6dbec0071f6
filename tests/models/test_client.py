"""The client of a model takes the way that the environment names, and a failure names the proxy."""

import pytest

from pflow.errors import BAD_CONFIG, PflowError
from pflow.models.ask import ModelRequest, ask
from pflow.models.choose import choose
from pflow.models.transport import current_ending
from tests.peers.proxy import Proxy
from tests.peers.replies import Replies, whole


@pytest.fixture
def environment(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch.setenv


def asked(name):
    return ask(choose(name).conversation(), ModelRequest("Hi"), lambda part: None).value


def test_a_question_goes_through_the_proxy_unless_it_is_for_this_machine(environment):
    with Replies(whole("Oak")) as server, Proxy(server.server_port) as proxy:
        environment("http_proxy", f"http://{proxy.place}")
        assert asked(server.model("m")) == asked("http://tree.example/v1#m") == "Oak"
        environment("NO_PROXY", "tree.example")
        assert asked(server.model("m")) == "Oak"
    there = f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
    assert proxy.asked == ["http://tree.example/v1/chat/completions", there]


@pytest.mark.parametrize("reply", [(403, "<html>denied</html>"), (502, "no way"), None])
def test_a_failure_names_the_proxy_and_not_its_password(environment, reply):
    with Replies(reply or (200, "")) as server, Proxy(server.server_port) as proxy:
        place = proxy.place if reply else "127.0.0.1:9"
        environment("http_proxy", f"http://me:secret@{place}")
        with pytest.raises(PflowError, match=f"through the proxy 'http://{place}' of http_proxy") as caught:
            asked("http://tree.example/v1#m")
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("variable", "said"),
    [("SSL_CERT_FILE", "/nowhere/ca.pem"), ("SSL_CERT_DIR", "/nowhere"), ("ALL_PROXY", "socks4://x")],
)
def test_an_environment_that_cannot_be_used_is_said_before_anything_is_sent(environment, variable, said):
    environment(variable, said)
    with pytest.raises(PflowError, match=variable) as caught:
        asked("http://tree.example/v1#m")
    assert caught.value.exit == BAD_CONFIG


def test_an_answer_that_its_reader_leaves_is_not_reported_to_any_more():
    def leave(part):
        raise KeyError(part)

    with Replies(whole("Oak")) as server, pytest.raises(KeyError) as caught:  # which holds on to the frames
        ask(choose(server.model("m")).conversation(), ModelRequest("Hi"), leave)
    assert caught.value.args == ("Oak",)
    assert current_ending() is None
