"""The spans of `pflow trace --otlp`, as a receiver takes them from a run with a model on a server."""

import os
import subprocess
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.peers.openai_server import REPLY
from tests.peers.otlp_receiver import OTLPReceiver

FLOW = """
    shell --command='echo [1,2]' => parse-json => llm:many --each --prompt='a $item' --model=reply
    => llm:ask --prompt='a private question' --model=http://127.0.0.1:{0.port}/v1#reply => llm:bad --model=broken
"""


def post(receiver: OTLPReceiver, line: bytes) -> int:
    request = Request(receiver.url, line, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=10) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


@pytest.fixture
def printed(server, tmp_path):
    """What pflow prints of a run whose last step fails."""
    environment = {**os.environ, "HOME": str(tmp_path)}
    run = ["pflow", "run", " ".join(FLOW.format(server).split()), "-q"]
    for command in (run, ["pflow", "trace", "last", "--otlp"]):
        given = {"cwd": tmp_path, "env": environment, "stdin": subprocess.DEVNULL, "timeout": 60}
        done = subprocess.run(command, capture_output=True, check=False, **given)
    return done.stdout


def test_a_receiver_takes_the_spans_of_a_run_and_of_its_calls_of_a_model(server, printed):
    with OTLPReceiver() as receiver:
        assert [post(receiver, line) for line in printed.splitlines()] == [200]
        assert post(receiver, printed.replace(b'"kind"', b'"sort"')) == 400
    (request,) = receiver.requests
    (resource,) = request.resource_spans
    (scope,) = resource.scope_spans
    assert scope.schema_url == "https://opentelemetry.io/schemas/gen-ai/0.1.0"
    names = {span.span_id: span.name for span in scope.spans}
    spans = [span for span in scope.spans if names.get(span.parent_span_id) != "many"]
    assert [(span.name, names.get(span.parent_span_id), span.kind, span.status.code) for span in spans] == [
        *(("flow", None, 1, 2), ("shell", "flow", 1, 1), ("parse-json", "flow", 1, 1), ("many", "flow", 1, 1)),
        *(("ask", "flow", 1, 1), ("chat reply", "ask", 3, 1), ("bad", "flow", 1, 2)),
    ]
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in scope.spans)
    run, _, _, _, ask, chat, bad = spans
    assert run.start_time_unix_nano <= ask.start_time_unix_nano == chat.start_time_unix_nano
    assert ask.end_time_unix_nano == chat.end_time_unix_nano <= run.end_time_unix_nano
    assert about(chat) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "reply",
        "server.address": "127.0.0.1",
        "server.port": server.port,
        "pflow.cost.usd": 0.0,
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 4,
    }
    counted = [
        about(span).get(key, 0) for span in scope.spans for key in ("gen_ai.usage.output_tokens", "pflow.tokens.out")
    ]
    assert sum(counted) == 12  # of three answers, each once
    assert [about(span).get("error.type") for span in (run, ask, bad)] == ["75", None, "75"]
    assert "500: the server is broken" in bad.status.message
    assert b"private" not in printed
    assert REPLY.encode() not in printed


def about(span) -> dict:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}
