"""llm's own plugins, as they are, against servers of their protocols: what counts as an answer, and what not."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llm
import pytest
from llm.plugins import pm

from pflow.errors import PflowError
from pflow.models.choose import choose
from pflow.nodes.llm import Llm
from pflow.process.signals import Deadline, TimedOut, _send_again
from tests.peers.plugin_servers import REPLY, PluginServers
from tests.peers.warm import Warm

PLUGINS = {
    "anthropic": "anthropic/claude-haiku-4-5-20251001",
    "gemini": "gemini/gemini-2.5-flash",
    "ollama": "ollama/oak:latest",
}
TEXT = "".join(REPLY)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """The servers, with llm's plugins loaded and led to them."""
    with pytest.MonkeyPatch.context() as patch, PluginServers() as servers:
        patch.setenv("LLM_USER_PATH", str(tmp_path_factory.mktemp("llm")))
        for name, value in servers.environment.items():
            patch.setenv(name, value)
        modules = [import_module(f"llm_{name}") for name in PLUGINS]
        for module in modules:
            pm.register(module)
        yield servers
        for module in modules:
            pm.unregister(module)


def answer(plugin: str, scene: dict[str, Any] | str, **params: Any) -> Any:
    """The response and usage, and why it is not kept."""
    node = Llm()
    node.set_params({"model": PLUGINS[plugin], **params})
    shared = {"prompt": scene if isinstance(scene, str) else json.dumps(scene), "text": None}
    node.run(shared)
    return SimpleNamespace(**shared, flaw=node.not_kept)


def failure(plugin: str, scene: dict[str, Any], **params: Any) -> PflowError:
    """The failure, with its `words` after the model's name."""
    with pytest.raises(PflowError) as caught:
        answer(plugin, scene, **params)
    error: Any = caught.value
    assert "\n" not in error.message + error.hint
    error.words = error.message.partition("': ")[2]
    return error


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_whole_answer_counts_with_its_tokens_and_is_kept(servers, plugin):
    said = answer(plugin, "Name three trees")
    assert (said.response, said.flaw) == (TEXT, "")
    assert {"model": PLUGINS[plugin], "input": 12, "output": 5}.items() <= said.usage.items()


@pytest.mark.parametrize("plugin", PLUGINS)
@pytest.mark.parametrize(
    ("scene", "exit", "words"),
    [
        ({"say": [" \n"]}, 75, "it has no text"),
        ({"say": [], "thoughts": ["A tree?"]}, 65, "it is all reasoning, and has no text"),
        ({"say": [], "thoughts": ["A tree?"], "end": None}, 65, "the 5 tokens of --max-tokens went into reasoning"),
        ({"say": ["I look."], "tool": "search"}, 65, "it wants to call the tool 'search', and pflow gave it none"),
    ],
)
def test_no_text_is_no_answer(servers, plugin, scene, exit, words):
    end = {"end": LIMITS[plugin]} if "end" in scene else {}
    error = failure(plugin, {**scene, **end}, max_tokens=5)
    assert (error.exit, error.words) == (exit, words)


BLOCKED = {"candidates": None, "promptFeedback": {"blockReason": "SAFETY"}}
LIMITS = {"anthropic": "max_tokens", "gemini": "MAX_TOKENS", "ollama": "length"}


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize("plugin", PLUGINS)
def test_an_answer_that_stops_at_its_limit_counts_with_a_warning_and_is_not_kept(servers, plugin, stream, capfd):
    said = answer(plugin, {"end": LIMITS[plugin]}, option=[f"stream={stream}"])
    assert (said.response, said.flaw) == (TEXT, "the answer stops at its token limit, after 5 tokens")
    assert "stops at its token limit, after 5 tokens" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("plugin", "scene", "exit", "words"),
    [
        *[(plugin, {"end": None}, 75, "it was cut off") for plugin in PLUGINS],
        *[(plugin, {"end": None, "say": ["Oak"]}, 75, "it was cut off") for plugin in PLUGINS],
        *[(plugin, {"end": None, "say": []}, 75, "it ") for plugin in PLUGINS],
        ("anthropic", {"end": "pause_turn"}, 75, "the provider failed: pause_turn"),
        ("anthropic", {"end": "refusal"}, 1, "it refused: refusal"),
        ("anthropic", {"end": "refusal", "more": {"stop_details": {"explanation": "no"}}}, 1, "it refused: no"),
        *[("gemini", {"end": end, "say": []}, 1, f"it refused: {end}") for end in ("SAFETY", "RECITATION", "OTHER")],
        ("gemini", {"end": "SPII"}, 1, "it refused: SPII"),
        ("gemini", {"say": [], "more": BLOCKED}, 1, "it refused: SAFETY"),
        ("gemini", {"say": [], "more": {**BLOCKED, "modelVersion": None}}, 1, "it refused: SAFETY"),
    ],
)  # fmt: skip
def test_what_is_no_whole_answer_fails(servers, plugin, scene, exit, words):
    said = failure(plugin, scene)
    assert (said.exit, said.is_permanent) == (exit, exit == 1)
    assert said.words.startswith(words)


def test_what_a_plugin_stumbles_over_after_the_end_costs_no_answer(servers):
    assert answer("gemini", {"more": {"modelVersion": None}}).response == TEXT


class Unknown(llm.Model):
    """A model of a plugin that nobody knows, which keeps `said` of an answer."""

    model_id = "unknown"

    def __init__(self, streams: bool, said: Any) -> None:
        self.can_stream, self.said = streams, said

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Any:
        yield from REPLY
        response.response_json = self.said


SILENT = "the model's plugin does not say whether the answer is whole"


@pytest.mark.parametrize(
    ("streams", "said", "flaw"),
    [
        (True, None, SILENT),
        (True, {"id": "x"}, SILENT),
        (False, None, ""),
        (True, {"choices": [{"finish_reason": "stop"}]}, ""),
        (True, {"done": True}, ""),
        (True, {"finish_reason": "COMPLETE"}, ""),
        (True, {"finish_reason": "model_length"}, "the answer stops at its token limit"),
        (True, {"object": "chat.completion.chunk", "choices": [{"finish_reason": None}]}, None),
        (True, {"type": "message", "stop_reason": None}, None),
        (True, {"finish_reason": "ERROR_TOXIC"}, None),
    ],
)
def test_a_stream_counts_with_a_word_and_is_not_kept_if_its_plugin_tells_no_end(
    monkeypatch, capfd, streams, said, flaw
):
    monkeypatch.setattr("pflow.process.worker._said", set())
    monkeypatch.setattr("pflow.models.log.choose", lambda name: Unknown(streams, said))
    if flaw is None:
        assert failure("anthropic", {}).exit in (1, 75)
        return
    assert answer("anthropic", {}, option=["stream=false"]).flaw == flaw.replace(SILENT, "")
    answers = [answer("anthropic", {}) for _ in range(2)]
    assert [(each.response, each.flaw) for each in answers] == [(TEXT, flaw)] * 2
    assert capfd.readouterr().err.count("does not say whether its answers are whole") == (flaw == SILENT)


def refusal(plugin: str, status: int, kind: str, words: str) -> Any:
    """The body of a refusal, as the provider writes it."""
    return {
        "anthropic": {"type": "error", "error": {"type": kind, "message": words}},
        "gemini": [{"error": {"code": status, "message": words, "status": kind}}],
        "ollama": {"error": words},
    }[plugin]


def test_a_model_that_ollama_does_not_have_is_brought_by_ollama_pull(servers, monkeypatch):
    with pytest.raises(PflowError) as caught:
        choose("ollama/elm:1b")
    assert (caught.value.exit, "`ollama pull elm:1b` brings it" in caught.value.hint) == (78, True)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    with pytest.raises(PflowError, match=r"no Ollama answers: \w") as caught:
        choose("ollama/oak:latest")
    assert (caught.value.exit, "ollama serve" in caught.value.hint) == (69, True)


def test_an_ollama_that_hangs_holds_no_other_model_up(servers, monkeypatch):
    monkeypatch.setattr("pflow.models.settings.PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{mute.getsockname()[1]}")
        assert choose(PLUGINS["gemini"]).model_id == PLUGINS["gemini"]
        with pytest.raises(PflowError, match="no Ollama answers: timed out"):
            choose(PLUGINS["ollama"])


@pytest.mark.parametrize("plugin", PLUGINS)
@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
def test_a_busy_server_is_asked_once_and_waited_for(servers, plugin, status):
    before = len(servers.requests)
    words = f"try later {plugin} {status}"
    said = failure(
        plugin, {"status": status, "headers": {"Retry-After": "7"}, "body": refusal(plugin, status, "X", words)}
    )
    assert (said.exit, said.retry_after, said.is_permanent) == (75, 7, False)
    assert words in said.words
    assert bool(said.refusal) == (status in (429, 503, 529))
    assert len(servers.requests) == before + 1


def test_gemini_says_how_long_to_wait_in_its_words(servers):
    body = refusal("gemini", 429, "RESOURCE_EXHAUSTED", "Please retry in 34.07s.")
    body[0]["error"]["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    assert failure("gemini", {"status": 429, "body": body}).retry_after == 34.5
    assert failure("gemini", {"status": 429, "body": body, "headers": {"Retry-After": "2"}}).retry_after == 2


@pytest.mark.parametrize(
    ("plugin", "status", "kind", "words", "exit", "hint"),
    [
        ("anthropic", 400, "invalid_request_error", "Your credit balance is too low to access the API.", 77, "credit"),
        ("anthropic", 401, "authentication_error", "invalid x-api-key", 77, "llm keys set anthropic"),
        ("anthropic", 404, "not_found_error", "model: claude-x", 78, "no such model"),
        ("anthropic", 400, "invalid_request_error", "prompt is too long: 3 tokens > 2 maximum", 65, "shorten"),
        ("anthropic", 413, "request_too_large", "Request exceeds the maximum size", 65, ""),
        (
            "gemini",
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            77,
            "llm keys set gemini",
        ),
        ("gemini", 403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers.", 77, ""),
        ("gemini", 404, "NOT_FOUND", "models/gemini-x is not found for API version v1beta", 78, "no such model"),
        ("gemini", 400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens", 65, ""),
        ("ollama", 404, "", "model 'oak:latest' not found", 78, "no such model"),
        ("ollama", 400, "", '"oak:latest" does not support thinking', 65, ""),
        ("ollama", 401, "", "unauthorized", 77, ""),
    ],
)
def test_a_refusal_that_stays_is_named_by_its_words(servers, plugin, status, kind, words, exit, hint):
    said = failure(plugin, {"status": status, "body": refusal(plugin, status, kind, words)})
    assert (said.exit, said.is_permanent, said.words) == (exit, True, f"{status}: {words}")
    assert hint in said.hint


@pytest.mark.parametrize(
    ("plugin", "then", "words"),
    [
        *[
            ("anthropic", f"event: error\ndata: {json.dumps(refusal('anthropic', 200, kind, 'oh'))}\n\n", "oh")
            for kind in ("overloaded_error", "api_error", "rate_limit_error", "what_is_that_error")
        ],
        (
            "gemini",
            f",{json.dumps(refusal('gemini', 503, 'UNAVAILABLE', 'The model is overloaded.')[0])}]",
            "The model",
        ),
        ("gemini", f",{json.dumps(refusal('gemini', 500, 'INTERNAL', 'oh')[0])}]", "the provider failed: oh"),
        ("gemini", ",{garbled", "its answer is garbled"),
        ("ollama", '{"error": "unexpected EOF"}\n', "the provider failed: unexpected EOF"),
        ("ollama", '{"error": "server busy, please try again"}\n', "server busy"),
        ("ollama", '{"message"', "its answer is garbled"),
    ],
)
def test_an_error_in_the_middle_of_an_answer_may_pass(servers, plugin, then, words):
    said = failure(plugin, {"then": then})
    assert (said.exit, said.is_permanent, words in said.words) == (75, False, True)


@pytest.mark.parametrize(("plugin", "variable"), [("anthropic", "ANTHROPIC_BASE_URL"), ("ollama", "OLLAMA_HOST")])
def test_a_server_that_is_not_there_is_unavailable(servers, monkeypatch, plugin, variable):
    model = choose(PLUGINS[plugin])
    monkeypatch.setattr("pflow.models.log.choose", lambda name: model)
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    assert failure(plugin, {}).exit == 69


@pytest.mark.parametrize("plugin", ["anthropic", "ollama"])
def test_a_plugin_reaches_this_machine_without_a_proxy_unless_no_proxy_says_otherwise(servers, monkeypatch, plugin):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    assert answer(plugin, "Name three trees").response == TEXT
    monkeypatch.setenv("NO_PROXY", "x.example")
    assert failure(plugin, {}).exit in (69, 78)  # a plugin that asks its server for its models has none


@pytest.mark.parametrize("body", ["", "<html>bad</html>", {"error": {"message": "x"}}])
@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_refusal_of_any_form_has_its_status(servers, plugin, body):
    said = failure(plugin, {"status": 500, "body": body})
    assert (said.exit, "500" in said.words) == (75, True)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_page_in_place_of_an_answer_is_a_wrong_address(servers, plugin):
    said = failure(plugin, {"status": 200, "body": "<html>", "headers": {"Content-Type": "text/html; charset=utf-8"}})
    assert (said.exit, said.is_permanent, "a web page came" in said.words) == (78, True, True)
    said = failure(plugin, {"status": 200, "body": "<html>"})
    assert (said.exit, "its answer is garbled" in said.message or "it is garbled" in said.message) == (75, True)


@pytest.mark.parametrize("start", [lambda it: it(), lambda it: ThreadPoolExecutor(1).submit(it).result()])
@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_stalled_stream_obeys_the_time_limit_in_any_thread(servers, plugin, start, monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", _send_again)  # as in a stage: a callback drops the limit's exception

    def stalled():
        with pytest.raises(TimedOut), Deadline(0.5):
            answer(plugin, {"end": None, "stall": True})

    start(stalled)


@pytest.fixture(scope="module")
def warm():
    """Runs pflow as forks of a process that has loaded the plugins too."""
    modules = [f"llm_{name}" for name in PLUGINS]
    with Warm(*modules, LLM_LOAD_PLUGINS=",".join(modules).replace("_", "-")) as warm:
        yield warm


@pytest.fixture
def program(tmp_path, monkeypatch, warm):
    """Runs a program of pflow's in which llm loads the plugins."""
    for name in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))

    def start(*words: str, input: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return warm.run(words, cwd=tmp_path, env={**os.environ, **more}, input=input)

    return start


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_cut_answer_is_written_over_no_file_and_a_whole_one_is_asked_once(servers, program, tmp_path, plugin):
    (tmp_path / "out").write_text("before")

    def ask(scene: dict[str, Any]) -> int:
        words = ("-n", "-m", PLUGINS[plugin], f"--prompt={json.dumps(scene)}", "--verbatim", "--cache")
        document = program("pflow-llm", *words).stdout
        return program("pflow-write-file", "--path=out", input=document).returncode

    before = len(servers.requests)
    for count in (1, 2):
        assert ask({"end": None}) == 75
        assert (len(servers.requests) - before, (tmp_path / "out").read_text()) == (count, "before")
    for _ in range(2):
        assert ask({"say": [plugin]}) == 0
        assert (len(servers.requests) - before, (tmp_path / "out").read_text()) == (3, plugin)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_map_does_not_ask_twelve_times_with_a_bad_key(servers, program, plugin):
    body = refusal(plugin, 401, "UNAUTHENTICATED", "API key not valid. Please pass a valid API key.")
    before = len(servers.requests)
    items = "".join(json.dumps({"status": 401, "body": body, "n": n}) + "\n" for n in range(12))
    ran = program("pflow", "map", "--jobs=1", f"llm --model={PLUGINS[plugin]} --prompt=$item", input=items)
    assert (ran.returncode, len(servers.requests) - before) == (77, 3), ran.stderr


@pytest.mark.parametrize("proxy", ["gopher://x", "http://a:b:c"])
def test_a_plugin_that_fails_for_the_environment_is_not_a_model_that_is_not_there(servers, proxy):
    words = [str(Path(sys.executable).with_name("pflow-llm")), "-n", "--model=gpt-4o-mini", "--prompt=x"]
    env = {**os.environ, "LLM_LOAD_PLUGINS": "llm-ollama", "HTTP_PROXY": proxy}
    ran = subprocess.run(words, env=env, text=True, capture_output=True, check=False)
    assert (ran.returncode, "pflow-llm: cannot use the proxy of HTTP_PROXY: " in ran.stderr) == (78, True), ran.stderr
