"""Streams as servers write them: each body, asked for as a stream or whole, is the answer that it holds."""

import json

import pytest

from pflow.errors import PflowError
from pflow.models.ask import ModelRequest, ask
from pflow.models.choose import choose
from pflow.models.transport import as_stream
from tests.faults.families.models import points
from tests.faults.points import hold
from tests.peers.replies import Replies, chunk, whole


def events(*chunks, end="data: [DONE]\n\n"):
    return "".join(each if isinstance(each, str) else f"data: {json.dumps(each)}\n\n" for each in chunks) + end


OAK, TREE, STOP = chunk("Oak"), chunk(" tree"), chunk(end="stop")
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
PLAIN = events(OAK, TREE, STOP)
WHOLE = json.dumps(whole("Oak tree", usage=USAGE)[1])

BODIES = {
    "plain": PLAIN,
    "retry": "retry: 3000\nid: 1\n\n" + PLAIN,
    "event alone": "event: start\n\n: a comment\n\n" + PLAIN,
    "ping": events(OAK, 'event: ping\ndata: {"type": "ping"}\n\n', "event: ping\ndata: \n\n", TREE, STOP),
    "pings of other forms": events("data: ping\n\n", OAK, 'data: {"type":"heartbeat"}\n\n', "data:\n\n", TREE, STOP),
    "more pings": events("data: : WAIT\n\n", OAK, "event: keepalive\ndata: 1\n\n", TREE, "data: null\n\n", STOP),
    "no space": PLAIN.replace("data: ", "data:"),
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "CR": PLAIN.replace("\n", "\r"),
    "one newline": PLAIN.replace("\n\n", "\n"),
    "byte order mark": "\ufeff" + PLAIN,
    "named events": PLAIN.replace("data: {", "event: message\ndata: {"),
    "no DONE": events(OAK, TREE, STOP, end=""),
    "no newline at the end": events(OAK, TREE, STOP, end="").rstrip(),
    "two DONEs": PLAIN + "data: [DONE]\n\n",
    "blanks at DONE": events(OAK, TREE, STOP, end="data:   [DONE] \n\n"),
    "after the end": PLAIN + events(chunk(" forest"), "data: nonsense\n\n"),
    "no choices": events({"id": "a"}, OAK, {**OAK, "choices": []}, {**OAK, "choices": None}, TREE, STOP),
    "all is well": events({"message": "connected"}, OAK, TREE, STOP, {"base_resp": {"status_msg": "success"}}),
    "no delta": events({**OAK, "choices": [{"index": 0}]}, {**OAK, "choices": [{"delta": None}]}, OAK, TREE, STOP),
    "null content": events(chunk(), {**OAK, "choices": [{"delta": {"content": None}}]}, OAK, TREE, STOP),
    "usage first": events({**OAK, "choices": [], "usage": USAGE}, OAK, TREE, STOP),
    "usage in each": events(chunk("Oak", usage=USAGE), chunk(" tree", usage=USAGE), chunk(end="stop", usage=USAGE)),
    "no usage": events(chunk("Oak", usage=None), chunk(" tree", usage={}), STOP),
    "parts": events(chunk([THOUGHT]), chunk([{"type": "text", "text": "Oak"}]), TREE, STOP),
    "parts together": events(chunk([THOUGHT, {"type": "text", "text": "Oak"}, " tree", {"type": "reference"}]), STOP),
    "one part": events(chunk({"type": "output_text", "text": "Oak tree"}), STOP),
    "message for delta": events({**OAK, "choices": [{"message": {"content": "Oak tree"}, "finish_reason": "stop"}]}),
    "whole": WHOLE,
    "whole on several lines": json.dumps(json.loads(WHOLE), indent=2),
    "whole with parts": json.dumps(whole([THOUGHT, {"type": "text", "text": "Oak tree"}])[1]),
    "JSON on several lines": events("data: " + json.dumps(OAK, indent=1).replace("\n", "\ndata:") + "\n\n", TREE, STOP),
    "lines of JSON": "".join(json.dumps(each) + "\n" for each in (OAK, TREE, STOP)),
    "lines of JSON and DONE": "".join(json.dumps(each) + "\n" for each in (OAK, TREE, STOP)) + "[DONE]\n",
}  # fmt: skip


def answered(*replies, **options):
    said = []
    with Replies(*replies) as server:
        answer = ask(choose(server.model("m")).conversation(), ModelRequest("Hi", options=options), said.append)
    assert "".join(said) == answer.value
    return answer


@pytest.mark.parametrize("is_stream", [True, False])
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in BODIES.items()])
def test_the_answer_of_a_body_is_its_text(body, is_stream):
    for kind in ("text/event-stream", "application/json", "text/plain; charset=utf-8"):
        answer = answered((200, body, {"Content-Type": kind}), **({} if is_stream else {"stream": "false"}))
        assert answer.value == "Oak tree"
        assert "output" not in answer.usage or answer.usage["output"] == 2


def test_halves_of_a_character_in_two_chunks_are_one_character():
    for chunks in ([chunk("\ude00b"), STOP], [chunk("\ude00b", end="stop")], [chunk("\ude00"), chunk("b"), STOP]):
        body = events(chunk("a\ud83d"), *chunks)
        assert answered((200, body)).value == answered((200, body), stream=False).value == "a😀b"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (events(OAK, "data: nonsense\n\n", STOP), "garbled"),
        (events(OAK, end=""), "cut off"),
        (events(OAK, 'data: {"id": "a", "choi', end=""), "cut off"),
        ("<html>Log in</html>", r"a web page came in place of an answer \(a page without a title\)"),
        ("<html><title>We are temporarily unavailable</title></html>", "': We are temporarily unavailable"),
        ("<?xml version='1.0'?><Error><Message>overloaded</Message></Error>", "': overloaded"),
        (events({**OAK, "choices": [{"delta": {"content": "Oak"}, "finish_reason": "null"}]}), "cut off"),
        ('{"choices": [', "garbled"),
        (events(OAK, 'event: error\ndata: {"message": "overloaded"}\n\n'), "overloaded"),
        (events(OAK, "event: error\ndata: overloaded\n\n"), "overloaded"),
        (events({"object": "error", "message": "overloaded"}), "overloaded"),
        (json.dumps([{"error": {"message": "overloaded"}}]), "overloaded"),
    ],
)
def test_what_is_no_answer_is_said(body, words):
    with pytest.raises(PflowError, match=words):
        answered((200, body))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_pieces_of_a_body_make_no_difference(size):
    for name, body in {**BODIES, "other letters": events(chunk("Öak"), chunk("🌳"), STOP)}.items():
        data = body.encode()
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert b"".join(as_stream(iter(pieces))) == b"".join(as_stream(iter([data]))), name


def test_a_connection_that_breaks_after_the_end_takes_nothing_away():
    body = events(OAK, TREE, STOP, end="")
    assert answered((200, body, {"Content-Length": "9999"})).value == "Oak tree"


def test_no_stream_is_asked_for_where_the_option_says_so():
    with Replies(whole("Oak")) as server:
        for said in ("false", False, "0", "true"):
            ask(choose(server.model("m")).conversation(), ModelRequest("Hi", options={"stream": said}), print)
    assert [each["stream"] for each in server.asked] == [False, False, False, True]
    with pytest.raises(PflowError, match="cannot set 'stream' to 'maybe'"):
        answered((200, PLAIN), stream="maybe")


NAMES = (
    "value-null-body",
    "value-text",
    "choices-0-body",
    "text-int",
    "no-utf8",
    "gzip-body",
    "number-reason",
    "bom",
    "usage-0-body",
    "stalls-at-end",
    "models/map/drips",
)
POINTS = [point for point in points(10_000, 0) if point.id.removeprefix("models/stage/") in NAMES]


@pytest.mark.parametrize("point", [pytest.param(point, id=point.id) for point in POINTS])
def test_a_stage_ends_as_it_should(point, tmp_path):
    assert hold(point, tmp_path / "point") == ""
