"""A model server that stalls, cuts, repeats and lies: there is the right answer or none, and a code that says why."""

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults.points import Point, spread
from tests.faults.programs import Ended, run, run_warm
from tests.peers import openai_server
from tests.peers.openai_server import REPLY, Call, OpenAIServer, last_words, stall

NEEDS: tuple[str, ...] = ()
WEIGHT = 220

PIECES = ["Oak, ", "ash ", "and ", "elm."]
EVENTS, JSON = "text/event-stream", "application/json"


def chunk(delta: Any, finish: Any = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "message": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def body(text: Any = REPLY, finish: Any = "stop", **more: Any) -> str:
    """The answer to a request without a stream."""
    usage = {"prompt_tokens": 1, "completion_tokens": 4, "total_tokens": 5}
    message = {"role": "assistant", "content": text}
    return json.dumps({**chunk(message, finish), "object": "chat.completion", "usage": usage, **more})


def events(*said: Any) -> str:
    return "".join(f"data: {each if isinstance(each, str) else json.dumps(each)}\n\n" for each in said)


def stream(pieces: list[Any] = PIECES, finish: Any = "stop", last: str = "[DONE]") -> str:
    end = [chunk({}, finish)] if finish else []
    return events(*(chunk({"content": piece}) for piece in pieces), *end, *([last] if last else []))


class Lie(NamedTuple):
    """How a server answers wrongly, as a stream or without one, the codes that are right then, and the answer at 0."""

    data: str | bytes
    codes: tuple[int, ...]
    is_stream: bool = False
    kind: str = ""
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012
    answer: str = REPLY
    is_whole: bool = True
    """False if an answer counts, but another may be better: it is not cached."""
    then: Callable[[Call], object] | None = None
    """What the server does before it closes the connection."""

    def __call__(self, call: Call) -> None:
        data = self.data.encode() if isinstance(self.data, str) else self.data
        if self.status:
            call._send(self.status, self.kind or (EVENTS if self.is_stream else JSON), self.headers)
        call.wfile.write(data)
        call.wfile.flush()
        if self.then is not None:
            self.then(call)


def both(stream: str | bytes, body: str | bytes, codes: int | tuple[int, ...] = 75, **more: Any) -> list[Lie]:
    codes = codes if isinstance(codes, tuple) else (codes,)
    return [Lie(stream, codes, is_stream=True, **more), Lie(body, codes, **more)]


def replaced(old: str, new: bytes, codes: int = 0, **more: Any) -> list[Lie]:
    return both(*(each.encode().replace(old.encode(), new) for each in (stream(), body())), codes, **more)


def headed(data: bytes, *codes: int, **more: Any) -> list[Lie]:
    """Bytes in place of the whole answer, with its head."""
    return [Lie(data, codes, is_stream=True, status=0, **more)]


def choices(of: Any, codes: int = 75) -> list[Lie]:
    return both(events({**chunk({}), "choices": of}, "[DONE]"), body(choices=of), codes)


def usage(of: Any) -> list[Lie]:
    return both(stream(last="") + events({**chunk({}), "choices": [], "usage": of}, "[DONE]"), body(usage=of), 0)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
TWICE = [piece for piece in PIECES for _ in range(2)]
LIES: dict[str, list[Lie]] = {
    "html": both("<html>", "<html>", 78, kind="text/html"),
    "html-as-json": both("<html>", "<html>", 78),
    "error-as-200": both(json.dumps({"error": {"message": "full"}}), json.dumps({"error": {"message": "full"}})),
    "error-event": both(events({"error": {"message": "full"}}), body(None, None, error={"message": "full"})),
    "nothing": both("", ""),
    **{f"value-{each[:4]}": both(events(each), each) for each in ("null", "[]", '"text"', "1", "{}")},
    "deep": both("data: " + "[" * 100_000, "[" * 100_000),
    "text/plain": both(stream(), body(), 0, kind="text/plain"),
    "charset": both(stream(), body(), 0, kind="application/json; charset=utf-16"),
    "swapped": both(body(), stream(), 0),
    "no-utf8": replaced("ash", b"\xff\xfe", 75),
    "cut-utf8": both(stream()[:-30].encode() + b"\xc3", body()[:-30].encode() + b"\xc3", (0, 75)),
    "surrogate": replaced("ash", b"\\ud800", 65),
    "nul": replaced("ash", b"\\u0000", answer="Oak, \0 and elm."),
    "bom": both(b"\xef\xbb\xbf" + stream().encode(), b"\xef\xbb\xbf" + body().encode(), 0),
    "crlf": both(stream().replace("\n", "\r\n"), body() + "\r\n", 0),
    "comments": both(": alive\n\n" * 99 + stream(), " " * 999 + body(), 0),
    "no-done": both(stream(last=""), body(), 0),
    "no-reason": both(stream(finish=None), body(finish=None)),
    "done-at-once": both(events("[DONE]"), "[DONE]"),
    "twice": both(stream() + stream(), body() + body(), (0, 75)),
    "end-twice": both(stream(last="") + stream([]), body(), 0),
    "chunks-twice": both(stream(TWICE), body("".join(TWICE)), 0, answer="".join(TWICE)),
    "length": both(stream(finish="length"), body(finish="length"), 0, is_whole=False),
    "filtered": both(stream(finish="content_filter"), body(finish="content_filter"), 1),
    "odd-reason": both(stream(finish="banana"), body(finish="banana"), 0),
    "number-reason": both(stream(finish=7), body(finish=7), 0),
    "empty": both(stream([]), body("")),
    "null-text": both(stream([None]), body(None)),
    "text-list": both(stream([["a"]]), body(["a"]), 0, answer="a"),
    **{f"text-{type(each).__name__}": both(stream([each]), body(each)) for each in (7, {"a": 1})},
    **{f"choices-{at}": choices(of) for at, of in enumerate(([], None, 7, "ab", [None], [{"index": 0}]))},
    "usage-negative": usage({"prompt_tokens": -5, "completion_tokens": -1, "total_tokens": -6}),
    "usage-absurd": usage({"prompt_tokens": 10**30, "completion_tokens": 1e308, "total_tokens": 1}),
    "usage-nan": usage({"prompt_tokens": float("nan"), "completion_tokens": float("inf")}),
    **{f"usage-{at}": usage(of) for at, of in enumerate((None, "many", [1], {"prompt_tokens": "12"}, {}))},
    "gzip": both(stream(), body(), headers={"Content-Encoding": "gzip"}),
    "chunked": both(stream(), body(), headers={"Transfer-Encoding": "chunked"}),
    "length-odd": both(stream(), body(), headers={"Content-Length": "banana"}),
    "length-short": both(stream(), body(), headers={"Content-Length": "60"}),
    "length-long": both(stream()[:-50], body(), headers={"Content-Length": "9000"}),
    "204": both("", "", status=204),
    "301-away": both("", "", 69, status=301, headers={"Location": "http://127.0.0.1:1/"}),
    "302-file": both("", "", 78, status=302, headers={"Location": "file:///etc/passwd"}),
    "418": both("", "", 1, status=418),
    "500-html": both("<html>", "<html>", status=500, kind="text/html"),
    "429-odd": both("", "", status=429, headers={"Retry-After": "-3 banana"}),
    "no-head": headed(b"", 75),
    "ssh": headed(b"SSH-2.0-OpenSSH_9\r\n", 75),
    "half-head": headed(b"HTTP/1.1 200 OK\r\nConte", 75),
    "long-head": headed(HEAD + b"X: " + b"y" * 200_000 + b"\r\n\r\n" + stream().encode(), 75),
    "nul-head": headed(HEAD + b"X: \0\1\r\n\r\n" + stream().encode(), 75),
    "continue": headed(b"HTTP/1.1 100 Continue\r\n\r\n" * 50 + HEAD + b"\r\n" + stream().encode(), 0),
    "stalls": headed(b"", 124, then=stall),
    "stalls-in-head": headed(b"HTTP/1.1 200 OK\r\nConte", 124, then=stall),
    "stalls-before-body": headed(HEAD + b"\r\n", 124, then=stall),
    "stalls-in-stream": headed(HEAD + b"\r\n" + stream(finish=None, last="").encode(), 124, then=stall),
    "stalls-at-end": headed(HEAD + b"\r\n" + stream().encode(), 0, then=stall),
    "drips": headed(HEAD + b"\r\n", 124, then=lambda call: drip(call)),
}
"""The server's behaviours by name, each as a stream and, where it has another form, without one."""


def drip(call: Call) -> None:
    """Send a comment ten times a second, and never an answer."""
    while True:
        call._write(": wait\n\n")
        time.sleep(0.1)


def named_lies() -> dict[str, Lie]:
    return {f"{name}{'' if lie.is_stream else '-body'}": lie for name, each in LIES.items() for lie in each}


class Place(NamedTuple):
    """A server whose models lie when they are asked for `odd`, and echo anything else."""

    server: OpenAIServer
    model: str
    lie: Lie

    def asked(self) -> int:
        """How often it was asked for what is odd."""
        return sum(last_words(each["body"]) == "odd" for each in self.server.requests(self.model))


def check_with(lie: Lie, name: str, check: Callable[[Place], None]) -> Callable[[Path], None]:
    def with_server(directory: Path) -> None:
        openai_server.MODELS[name] = lambda call: (lie if last_words(call.body) == "odd" else openai_server.echo)(call)
        openai_server.TRAITS[name] = {"can_stream": lie.is_stream}
        (directory / "server").mkdir()
        with OpenAIServer(directory / "server") as server:
            os.environ |= {"LLM_USER_PATH": str(server.llm_user_path), "NO_PROXY": "127.0.0.1", "PFLOW_MODEL": name}
            check(Place(server, name, lie))

    return with_server


def check_stage(place: Place, run: Callable[..., Ended] = run_warm) -> None:
    """A stage ends as the lie has it, asks once, and keeps only what is whole."""
    words = ("pflow-llm", "-n", "--prompt=odd", f"--timeout={_time(place.lie)}")
    ended = run(*words, "--cache")
    check_end(place, ended, "response")
    assert place.asked() == 1, f"asked {place.asked()} times"
    again = run(*words, "--cache=require")
    assert again.code == (0 if ended.code == 0 and place.lie.is_whole else 66), again
    assert place.asked() == 1, "asked for what was to be kept"
    assert run("pflow-llm", "-n", "--prompt=even", "-r").stdout.strip() == "even"


def check_step(place: Place) -> None:
    """A step asks once more where another try may help, never for what was answered, or once its time is over."""
    flow = f"llm --prompt=odd --retries=1 --wait=0 --timeout={_time(place.lie)}"
    ended = run_warm("pflow", "run", flow, "-n", "-j")
    check_end(place, ended, "response")
    assert place.asked() == (2 if ended.code in (69, 75) else 1), f"asked {place.asked()} times for {ended.code}"


def check_map(place: Place) -> None:
    """Of three items in a map one is lied to: the others are right, and only that one is asked for again."""
    Path("items").write_text("even\nodd\nuneven\n")
    flow = f"llm --prompt='$item' --timeout={_time(place.lie)}"
    ended = run_warm("pflow", "map", flow, "items", "--from=lines", "--jobs=3", "--ledger=l.db", "--format=record")
    records = {each["item"]: each for each in map(json.loads, ended.stdout.splitlines())}
    assert {records[item]["outputs"]["response"] for item in ("even", "uneven")} == {"even", "uneven"}
    code = records["odd"]["exit"]
    assert code in place.lie.codes, records["odd"]
    assert ended.code == (code != 0)
    if code:
        assert run_warm("pflow", "resume", "last", "--failed", "-q").code == 1
    assert (len(place.server.requests(place.model)), place.asked()) == ((4, 2) if code else (3, 1))


def _time(lie: Lie) -> str:
    """Seconds in which the other items of a map are answered too, on a busy machine."""
    return "4" if 124 in lie.codes else "60"


def check_end(place: Place, ended: Ended, key: str) -> None:
    assert ended.code in place.lie.codes, ended
    if ended.code == 0:
        assert json.loads(ended.stdout)[key] == place.lie.answer, ended.stdout
    elif ended.stdout:
        about = json.loads(ended.stdout)
        assert about["$pflow"]["error"]["exit"] == ended.code, about
        assert key not in about, about


def points(share: int, seed: int) -> Iterator[Point]:
    for name in ("openai.resources.chat", "pflow.models.choose", "pflow.models.ask", "pflow.map.execution"):
        import_module(name)  # once, before the forks
    lies = [*named_lies().items()]
    random.Random(seed).shuffle(lies)

    def of(kind: str, check: Callable[[Place], None]) -> Iterator[Point]:
        for name, lie in lies:
            if kind != "map" or lie.status not in (429, 503, 529):  # on a refusal a map waits for minutes
                yield Point(f"models/{kind}/{name}", check_with(lie, name, check))

    started = (each for each in of("program", lambda place: check_stage(place, run)) if "value" in each.id)
    return spread(share, of("stage", check_stage), of("step", check_step), of("map", check_map), started)
