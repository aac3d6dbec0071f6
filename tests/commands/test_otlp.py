"""The spans of `pflow trace --otlp`, as a receiver takes them from a run or a map with a model on a server."""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.peers.openai_server import REPLY
from tests.peers.otlp_receiver import OTLPReceiver, read_request

FLOW = """
    shell --command='echo [1,2]' => parse-json => llm:many --each --prompt='a $item' --model=reply
    => llm:ask --prompt='a private question' --model=http://127.0.0.1:{0.port}/v1#reply
    => llm:twice --model=rate-limited-once --retries=1 --wait=0 => llm:bad --model=broken
"""
MAP = "llm --prompt='a $item' --model=reply => llm:twice --model=rate-limited-once --retries=1 --wait=0"


def post(receiver: OTLPReceiver, line: bytes) -> int:
    request = Request(receiver.url, line, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=10) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


@pytest.fixture
def pflow(server, tmp_path, warm):
    """Run pflow's command in a home of its own."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def run(*words: str, stdin: str | None = None, **variables: str) -> subprocess.CompletedProcess[bytes]:
        env = {**os.environ, "PATH": path, "HOME": str(tmp_path), **variables}
        if "PYTHONPATH" in variables:  # what has been loaded is found no more
            return subprocess.run(["pflow", *words], env=env, input=os.fsencode(stdin or ""), capture_output=True)
        return warm.run(["pflow", *words], cwd=tmp_path, env=env, input=stdin, text=False)

    return run


@pytest.fixture
def printed(server, pflow):
    """What pflow prints of a run whose last step fails."""
    pflow("run", " ".join(FLOW.format(server).split()), "-q")
    return pflow("trace", "last", "--otlp").stdout


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
        *(("ask", "flow", 1, 1), ("chat reply", "ask", 3, 1), ("twice", "flow", 1, 1)),
        *(("chat rate-limited-once", "twice", 3, 2), ("chat rate-limited-once", "twice", 3, 1)),
        *(("bad", "flow", 1, 2), ("chat broken", "bad", 3, 2)),
    ]
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in scope.spans)
    run, _, _, _, ask, chat, _, refused, _, bad, failed = spans
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
        "mlflow.llm.cost": '{"input_cost":0,"output_cost":0,"total_cost":0.0}',
    }
    assert tokens_in(request) == [29, 16]  # of four answers, each once
    assert "429: slow down" in refused.status.message
    assert failed.status == bad.status
    assert [about(span).get("error.type") for span in (run, ask, bad)] == ["75", None, "75"]
    assert "500: the server is broken" in bad.status.message
    assert b"private" not in printed
    assert REPLY.encode() not in printed


def about(span) -> dict:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def tokens_in(request) -> list[int]:
    spans = request.resource_spans[0].scope_spans[0].spans
    return [sum(about(span).get(f"gen_ai.usage.{side}_tokens", 0) for span in spans) for side in ("input", "output")]


def test_protobuf_and_what_is_sent_say_what_the_json_says(pflow, printed):
    read = ExportTraceServiceRequest.FromString(pflow("trace", "last", "--otlp=protobuf").stdout)
    with OTLPReceiver() as receiver:
        post(receiver, printed)
        sent = pflow("trace", "last", "--otlp", "--send", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=receiver.url)
    by_json, by_exporter = receiver.requests
    assert (sent.returncode, sent.stdout) == (0, b""), sent.stderr
    assert f"13 spans sent to {receiver.url}" in sent.stderr.decode()
    for request in (read, by_exporter):
        (resource,), (known,) = request.resource_spans, by_json.resource_spans
        assert resource.scope_spans[0].schema_url == known.scope_spans[0].schema_url
        for span, other in zip(resource.scope_spans[0].spans, known.scope_spans[0].spans, strict=True):
            span.flags = 0
            assert span == other


def test_each_item_of_a_map_is_a_span_with_its_calls(pflow, server):
    assert pflow("map", MAP, "-q", stdin='"x"\n"y"\n').returncode == 0
    total = json.loads(pflow("trace", "last", "--json").stdout)["usage"]
    request = read_request(pflow("trace", "last", "--otlp").stdout)
    spans = request.resource_spans[0].scope_spans[0].spans
    names = {span.span_id: span.name for span in spans}
    assert sorted((span.name, names.get(span.parent_span_id, "")[:4], span.status.code) for span in spans) == [
        *(("chat rate-limited-once", "item", code) for code in (1, 1, 2)),
        *(("chat reply", "item", 1), ("chat reply", "item", 1)),
        *(("item 1", "map", 1), ("item 2", "map", 1), ("map", "", 1)),
    ]
    assert tokens_in(request) == [total["tokens"]["in"], total["tokens"]["out"]]


def test_the_span_of_a_map_says_how_many_of_its_items_failed(pflow):
    assert pflow("map", """shell --command='exit "$1"' --args='$item'""", "-q", stdin="0\n1\n").returncode == 1
    request = read_request(pflow("trace", "last", "--otlp").stdout)
    (status,) = [each.status for each in request.resource_spans[0].scope_spans[0].spans if each.name == "map"]
    assert (status.code, status.message) == (2, "1 of 2 items failed")


@pytest.mark.parametrize(
    ("way", "exit", "words"),
    [
        ("400/", 65, "400 Bad Request: no: ***"),
        *((f"{status}/", 77, f"{status} ") for status in (401, 403)),
        *((f"{status}/", 75, f"{status} ") for status in (429, 500, 503)),
        *((way, 78, "it takes no spans there") for way in ("301/", "404/", "200-html/")),
        ("200-part/", 65, "it refused 2 of them: too old"),
    ],
)
def test_a_receiver_that_does_not_take_the_spans_is_a_failure(pflow, tmp_path, way, exit, words):
    with OTLPReceiver() as receiver:
        address = receiver.url.replace("/v1/traces", f"/{way}")
        given = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=s3cr3t%20key"}
        sent = pflow("trace", "--otlp", "--send", stdin='{"$pflow":{"v":1,"steps":[]}}', **given)
    assert (sent.returncode, words in sent.stderr.decode(), b"s3cr3t" in sent.stderr) == (exit, True, False), (
        sent.stderr
    )
    assert b"--retries" not in sent.stderr


@pytest.mark.parametrize(
    ("words", "exit", "said"),
    [
        ("--send", 2, "cannot take --send without --otlp"),
        ("--otlp=xml", 2, "cannot take --otlp='xml'"),
        ("--otlp --send -o x", 2, "cannot take both --send and --output"),
        ("--otlp --json", 2, "cannot take both --json and --otlp"),
        ("--otlp --send", 69, "no connection"),
        ("--otlp --send", 78, "this is not an address"),
        ("--otlp --send", 78, "cannot send the spans: opentelemetry-exporter-otlp-proto-http is not inst"),
        ("--otlp=protobuf", 78, "cannot write protobuf: opentelemetry-exporter-otlp-proto-http is not inst"),
    ],
)
def test_spans_that_cannot_go_there_are_refused_in_words(pflow, tmp_path, words, exit, said):
    given = {"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1" if "address" in said else "http://127.0.0.1:1"}
    if "not inst" in said:
        (tmp_path / "opentelemetry.py").touch()
        given["PYTHONPATH"] = str(tmp_path)
    given["OTEL_EXPORTER_OTLP_TIMEOUT"] = "1"  # for tries without a connection
    done = pflow("trace", *words.split(), stdin='{"$pflow":{"v":1,"steps":[]}}', **given)
    assert (done.returncode, said in done.stderr.decode()) == (exit, True), done.stderr
