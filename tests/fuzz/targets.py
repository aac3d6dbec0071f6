"""What `make fuzz` holds everything that is read to: it is taken, and comes back as it was, or is refused in words."""

import asyncio
import contextlib
import copy
import json
import re
import socket
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import mcp_types
from hypothesis import strategies as st
from pydantic import ValidationError

from pflow.broker.broker import Broker
from pflow.broker.replies import reply_of
from pflow.broker.servers import Server
from pflow.broker.tools import tool_nodes
from pflow.catalog.interfaces import program_interface
from pflow.catalog.kinds import find_kind
from pflow.catalog.lines import describe
from pflow.errors import EXIT_CODES, PflowError
from pflow.explain.account import explain
from pflow.explain.text import account_text, graph_text
from pflow.export import exporter, targets
from pflow.flow.findings import errors_of
from pflow.flow.flags import FlowFlags
from pflow.flow.flow import FlowSpec
from pflow.flow.load import load_document, load_text
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.script import read_script
from pflow.flow.pipe.write import write_pipe
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_hash, flow_to_ir
from pflow.flow.wiring import wire
from pflow.flow.written import escaped, rewritten
from pflow.help.text import help_text
from pflow.help.usage import usage_of_node
from pflow.interface.common import COMMON
from pflow.interface.grammar import parse_interface
from pflow.interface.source import read_python
from pflow.kit.mcp import client
from pflow.many.ledger import Ledger
from pflow.many.report import map_report, map_text
from pflow.models.talk import Said
from pflow.plan.conversation import read_flow
from pflow.plan.planner import judge
from pflow.record.journal import pieces_of, read_lines
from pflow.record.records import Records, compacted
from pflow.record.runs import TRACE, Run
from pflow.record.trace import Trace, trace_of_document, trace_of_run, trace_text
from pflow.record.trace_formats import FORMATS
from pflow.stage.document import Document, read_document, read_json
from pflow.stage.flags import flags_of
from pflow.values.plain import change_texts
from pflow.values.templates import broken_references, double_braces, expand, parse_template, references
from tests.flow.test_schema import SOUND
from tests.flow.test_unload import again
from tests.fuzz.mutation import data, texts, values
from tests.many.test_ledger import ABOUT, result

ROOT = Path(__file__).parent.parent.parent
PAGES = [path.read_text() for place in ("man/man[157]/*", "docs/*.md") for path in sorted(ROOT.glob(place))]
NODES = [path.stem.replace("_", "-") for path in sorted(ROOT.glob("nodes/*.py"))]

TARGETS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], None]]] = {}


def target(strategy: st.SearchStrategy[Any]) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Add a function to TARGETS, under its name, with what it is called with."""

    def add(check: Callable[[Any], None]) -> Callable[[Any], None]:
        TARGETS[check.__name__] = strategy, check
        return check

    return add


def tried(act: Callable[..., Any], *given: Any, exits: Iterable[int] = (65,)) -> Any:
    """Return what an act returns; the error, if it is refused with one of these codes."""
    try:
        return act(*given)
    except PflowError as error:
        assert error.exit in exits, (error.exit, error.message)
        return error


def is_shown(*words: str) -> None:
    """Fail if a terminal would obey any of these texts."""
    assert not [each for each in words if not each.replace("\n", "").isprintable()]


DOCUMENTS = [
    '{"$pflow":{"v":1,"by":"pflow 1.0.0","run":"01ARZ3NDEKTSV4RRFFQ69G5FAV","last":"a.b","steps":[{"id":"a","node":"llm",'
    '"ms":1.5,"reads":{"text":["stdin"]},"writes":{"b":["a.b"]},"tokens":{"in":3,"out":4},"cost":0.5}],"members":3},\n'
    '"stdin":"x",\n"a":{"b":[1,{"$bytes":"/w=="}]},\n"é \\u00e9":"\\ud83d\\ude00"\n}\n',
    '{"$pflow":{"v":1,"members":0}\n}\n',
    '{"$pflow":{"v":1,"error":{"exit":66,"message":"no"},"dry":["a"],"failed":2},\n"a":null\n}\n',
    '{\n  "a": [1, 2.50, -0.0, 1e3, true],\n  "$pflow": {\n    "v": 1\n  },\n  "b": {"c": "d, \\n e"}\n}\n',
    '[\n{"$pflow": {"v": 1}, "a": "b"}\n]\n',
]


@target(data(DOCUMENTS, [",\n", '"a":', '"members":1', "}\n", ",", ":", "]", '{"$bytes":"', "1e400", "\\ud800"]))
def document(text: bytes) -> None:
    for read in (read_document, read_json):
        found = tried(read, text)
        if not isinstance(found, Document):
            continue
        raw = {key: bytes(found.json(key)) for key in found}
        written = b"".join(found.pieces())
        then = read_document(written)
        assert then is not None
        assert {key: bytes(then.json(key)) for key in then} == raw
        assert b"".join(then.pieces()) == written
        if any(isinstance(tried(found.__getitem__, key), PflowError) for key in found):
            continue
        assert {key: json.loads(each) for key, each in raw.items()}.items() <= json.loads(written).items()
        if read is read_document:
            (whole,) = json.loads(f"[{text.decode().strip()}]" if text[:1] != b"[" else text)
            assert {key: json.loads(each) for key, each in raw.items()} == {k: whole[k] for k in whole if k != "$pflow"}
        traced(trace_of_document(found, with_store=True))


def traced(trace: Trace) -> None:
    is_shown(trace_text(trace, now=2e9, with_store=True).decode())
    for write in FORMATS.values():
        json.loads(write(trace, now=2e9, with_store=True))


CLASSES = [path.read_text() for place in ("nodes/*.py", "examples/nodes/*.py", "tests/seeds/nodes/*.py") for path in sorted(ROOT.glob(place))]
BLOCKS = [re.sub("(?m)^    ", "", each) for code in CLASSES for each in re.findall('    """(.*?)"""', code, re.S)[:1]]
GRAMMAR = ["- Reads: ", '- Writes: shared["x"]: any', "- Params: y: int = 1", "- Actions: ", "- Effects: none", "- Repeats: "]
GRAMMAR += ["[pipe]", "[secret]", "[env X]", "[short x pair]", "[flag x]", "[word]", "list[", "dict{a: ", "a|b", " = null", "#"]
GRAMMAR += ["Interface:\n", "Examples:\n", "unless x is a, b", "/*", "*/", "//", "--", ";", "[implies x=1]", "}", "]"]
CODE = ["shared[", "shared.get('a', 1)", "self.params['x']", "class A(Node):\n", "    def prep(self, shared):\n", "*", "if ", "return "]


@target(st.tuples(texts(BLOCKS, GRAMMAR), texts(CLASSES, CODE), st.sampled_from(["# ", "// ", "-- ", " * ", "; ", ""])))
def interfaces(drawn: tuple[str, str, str]) -> None:
    block, code, sign = drawn
    script, python = Path("pflow-x" if sign else "x.interface"), Path("x.py")
    start = {" * ": "/*\n", "": ""}.get(sign, "#!/bin/sh\n")
    script.write_bytes((start + "\n".join(sign + line for line in block.split("\n"))).encode("utf-8", "replace"))
    python.write_bytes(code.encode("utf-8", "replace"))
    Path("y.py").write_bytes(f'class Y:\n    r"""{block}"""\n'.encode("utf-8", "replace"))
    for read, given in [(parse_interface, block), (lambda file: program_interface(file)[0], "pflow-x" if sign else "x.interface"), (read_python, "x.py"), (read_python, "y.py")]:
        found = tried(read, given)
        if not isinstance(found, PflowError):
            is_shown(help_text(usage_of_node("x", found)), found.fault)
            described = json.dumps(describe("x", found, version="1.0.0", flow_safe=False), default=repr)
            assert described


PIPES = [each for page in PAGES for each in re.findall(r"'([^'`]{1,300} => [^'`]{1,300})'", page)]
PIPES += [re.sub("^exec pflow run '|'[^']*$", "", path.read_text(), flags=re.M) for path in sorted(ROOT.glob("examples/flows/*")) if path.suffix != ".json"]
SCRIPTS = [path.read_text() for place in ("scripts", "jobs", "cron") for path in sorted(ROOT.glob(f"examples/{place}/*"))]
SIGNS = [" => ", " =error=> ", " =no=> ", " | ", "(", " ) ", "; ", " --each", " --each=a.b", "llm", "llm:a", ":a", "a", " # ", "\\\n", "'", '"']
SIGNS += [" --map-in=text=a", " --map-out=response=x", " --id=b", "--prompt='$a'", "pflow-", "pflow run ", " --", " -x", "flow:x", " :: ", "$(a)"]


@target(st.tuples(texts(PIPES, SIGNS), texts(SCRIPTS, [*SIGNS, "x=$1\n", "set -e\n", "$x"]) | st.none()))
def pipe(drawn: tuple[str, str | None]) -> None:
    text, script = drawn
    for read, given in [(lambda text: parse_pipe([text], FlowCatalog()), text), (lambda text: read_script(text, FlowCatalog()), script)]:
        is_small = given is not None and len(given) < 20_000  # tests/flow/test_growth.py has many steps
        flow = tried(read, given, exits=(2, 65, 66, 77)) if is_small else None
        if isinstance(flow, FlowSpec):
            held(flow)


def held(flow: FlowSpec) -> None:
    """Hold a flow to all that is made of one."""
    loaded = tried(again, flow) if 0 < len(flow.steps) < 100 else None  # tests/flow/test_growth.py has more steps
    if not isinstance(loaded, FlowSpec):  # it has no step, or a lone surrogate
        return
    loaded.catalog = flow.catalog
    wired = wire(flow)
    findings = check(wired)
    assert [str(each) for each in check(wire(flow))] == [str(each) for each in findings]
    is_shown(*map(str, findings))
    account = explain(wired, findings)
    is_shown(account_text(account, 80), graph_text(account, 80))
    assert flow_hash(wired) == flow_hash(wire(loaded))
    FlowFlags(wired)
    said = tried(write_pipe, flow)
    if isinstance(said, str):
        back = parse_pipe([said], FlowCatalog())
        assert said.endswith(write_pipe(back))  # without a comment on versions
    for name in targets() if not errors_of(findings) else ():
        tried(exporter(name).export, wired)


TEMPLATES = ["$a", "${a.b[0]}", "x $a and ${b}, $$5", '${["odd key"].c}', "out/${a}/$b.txt", "${a:-b} {{a}} ${1x}", "template:${a}"]
INSERTED = ["$a", "${b}", "$$", "", None, 5, [1, "$a"], {"a": "${a}"}, b"\xff$a", "\ud800", "x", "../.."]


@target(st.tuples(texts(TEMPLATES, ["$", "${", "}", "$$", ".a", "[0]", '["', '"]', "{{", "}}", ":-", "é"]), st.lists(st.sampled_from(INSERTED), min_size=1)))
def templates(drawn: tuple[str, list[Any]]) -> None:
    text, given = drawn
    broken_references(text) if (parts := parsed(text)) is not None else None
    assert len([*double_braces(text)]) <= text.count("{{")
    assert expand(escaped(text), lambda path: "WRONG") == text
    if parts is None:
        return
    asked: list[Any] = []

    def look_up(path: Any) -> Any:
        asked.append(path)
        return given[len(asked) % len(given)]

    found = tried(expand, text, look_up)
    assert references(text) == [each for each in parts if not isinstance(each, str)]
    if not isinstance(found, PflowError) and len(parts) > 1:
        assert asked == references(text)
        place = 0
        for part in parts:
            if isinstance(part, str):
                place = found.index(part, place) + len(part)
    assert parse_template(rewritten(text, {path: path for path in parts if not isinstance(path, str)})) == parts


def parsed(text: str) -> list[Any] | None:
    try:
        return parse_template(text)
    except ValueError:
        return None


FILES = [path for place in ("tests/flow/seeds", "examples", "examples/flows") for path in sorted(ROOT.glob(f"{place}/*.json"))]
FLOWS = [json.loads(path.read_text()) for path in FILES if "3-complex" not in path.name and "put-map" not in path.name]
FLOWS += [SOUND]


@target(values(FLOWS, ["llm", "shell", "error", "template:$a", "a.b", {"over": "a", "as": "item"}]))
def ir(document: Any) -> None:
    flow = tried(load_document, document, "x", FlowCatalog())
    if isinstance(flow, FlowSpec):
        is_shown(*map(str, flow.findings))
        held(flow.usable() if not flow.findings else load_document(flow_to_ir(flow), "x", FlowCatalog()))


INTERFACES = {name: find_kind(name).interface for name in NODES}
FLAGS = {name: [*{flag for item in (*about.reads.values(), *about.params.values()) for flag in (item.flag, f"-{item.letter}" if item.letter else item.flag)}, *map("--{}".format, COMMON)] for name, about in INTERFACES.items()}
WORDS = texts(["a", "5", "true", "0.5", '["a"]', '{"a": 1}', "a=b", "$a", "text=a.b", "x.txt", "-", "--", "=", ":=", "@x", "null", "2020-01-01"])


@st.composite
def command_lines(draw: st.DrawFn) -> tuple[str, list[list[str]]]:
    name = draw(st.sampled_from(NODES))
    pairs = st.tuples(st.sampled_from(FLAGS[name]) | texts(FLAGS[name]), WORDS).map(list)
    return name, draw(st.lists(pairs | WORDS.map(lambda word: [word]), max_size=5))


@target(command_lines())
def argv(drawn: tuple[str, list[list[str]]]) -> None:
    name, units = drawn
    about = INTERFACES[name]
    outcomes = []
    for sign in ("=", None):
        words = [word for unit in units for word in ([sign.join(unit)] if sign else unit)]
        found = tried(flags_of, [word.replace("\0", "") for word in words], about, exits=(2, 66, 77))
        outcomes.append(found if isinstance(found, PflowError) else {key: [value.value for value in getattr(found, key).values()] for key in ("data", "params")} | {"map": [found.map_in, found.map_out]})
    kinds = {flag: item.type.name for item in (*about.reads.values(), *about.params.values(), *COMMON.values()) for flag in [item.flag]}
    if all(len(unit) == 2 and kinds.get(unit[0], "bool") != "bool" and unit[0].startswith("--") for unit in units):
        one, other = outcomes
        assert str(one) == str(other)


def event(kind: str, time: float, **more: Any) -> dict[str, Any]:
    return {"v": 1, "event": kind, "time": time, **more}


ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
STEP = {"step": "a", "node": "llm", "visit": 1}
LOG = [
    event("run", 1e9, run=ID, name="fix", flow_hash="ab", steps=2, traceparent=f"00-{'a' * 32}-{'b' * 16}-01"),
    event("start", 1e9 + 1, **STEP),
    event("item", 1e9 + 2, step="a", index=0, exit=1, message="no", usage={"tokens": {"in": 1}}),
    event("end", 1e9 + 3, **STEP, version="1.0.0", ms=5.5, reads={"p": ["x.y"], "q": []}, writes={"r": ["a.r"]}, exit=1,
          message="bad", action="default", tokens={"in": 3, "out": 4}, cost=0.5, model="m", calls=2, tries=2, items={"done": 1, "failed": 1}),
    event("start", 1e9 + 4, step="a/b", node="shell", lane="x"),
    event("end", 1e9 + 5, step="a/b", node="shell", lane="x", ms=1, cache={"verdict": "miss", "why": "new"}),
    event("budget", 1e9 + 5, used={"cost": 1}, limits={"cost": 2}),
    event("resume", 1e9 + 6),
    event("finish", 1e9 + 7, exit=66, ms=7000, store={"r": {"type": "str", "size": 3, "value": "abc"}}, usage={"calls": 2, "tokens": {"in": 3}, "cost": 0.5},
          error={"step": "a", "node": "llm", "exit": 66, "message": "bad"}),
]  # fmt: skip
LINES = "".join(json.dumps(each) + "\n" for each in LOG)


@target(values([LOG]) | data([LINES], ['"event":"end",', '"time":', '{"v":1,', "\n"]))
def log(drawn: Any) -> None:
    events = drawn if isinstance(drawn, list) else [drawn]
    lines = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in events if not isinstance(drawn, bytes))
    directory = Path(ID)
    directory.mkdir(exist_ok=True)
    (directory / TRACE).write_bytes(drawn if isinstance(drawn, bytes) else lines.encode())
    run = Run(ID)
    run.progress()
    traced(trace_of_run(run, run.events()[0]))


RECORDS: list[dict[str, Any]] = [
    {"begin": ID, "flow": {"nodes": []}, "store": {"a": "é"}, "steps": ["a"]},
    {"model": ["a", "model", "m"]},
    {"start": "a@1"},
    {"end": "a@1", "changes": [[["a", "r"], "x"], [["b"], {"c": 1}], [["c"]]], "usage": {}},
    {"start": "b@1/x@1[0123]"},
    {"end": "b@1/x@1[0123]", "changes": [[["b"], None, "digest"]]},
    {"failed": "b@1", "exit": 1, "error": "no"},
    {"again": "b@1"},
    {"decided": [{"end": "b@1", "changes": []}, {"again": "a@1"}]},
    {"end": "a@2", "changes": [[["a", "r"], "y"]], "error": {}, "over": ["b@1"]},
]
JOURNAL = "".join(b"".join(pieces_of(each)).decode() for each in RECORDS)


@target(st.tuples(st.lists(st.sampled_from(RECORDS), max_size=12), data([JOURNAL], ["\n", JOURNAL[:200]]), st.integers(0, 2000)))
def journal(drawn: tuple[list[dict[str, Any]], bytes, int]) -> None:
    records, damaged, cut = drawn
    records = copy.deepcopy([RECORDS[0], *records])
    lines = b"".join(piece for each in records for piece in pieces_of(each))
    assert read_lines(lines) == (records, len(lines))
    found, size = read_lines(lines[:cut])
    assert found == records[: len(found)]
    assert size == len(b"".join(piece for each in found for piece in pieces_of(each))) - (size == cut and not lines[:cut].endswith(b"\n") and bool(found))
    known, fewer = (Records(copy.deepcopy(each)) for each in (records, [*compacted(copy.deepcopy(records))]))
    assert all(fewer.done_with(path) for path in known.done)
    read = tried(read_lines, damaged)
    if not isinstance(read, PflowError):
        assert all(each in RECORDS for each in read[0])
        tried(Records, copy.deepcopy(read[0]))


def _ledger() -> bytes:
    Path("map.db").unlink(missing_ok=True)
    with contextlib.closing(Ledger("map.db")) as ledger:
        ledger.begin(ABOUT)
        for number, status in enumerate(["done", "failed", "poison", "begun", "todo"] * 4):
            ledger.claim(number, f"digest{number}")
            ledger.end(f"digest{number}.0", result(status, usage={"calls": 1, "cost": 0.5, "model": "m", "tokens": {"in": 1, "out": 2}}))
    return Path("map.db").read_bytes()


EDITS = st.lists(st.tuples(st.integers(0, 20_000) | st.integers(0, 110), st.binary(min_size=1, max_size=8), st.booleans()), max_size=6)


@target(st.tuples(EDITS, st.integers(0, 40_000)))
def ledger(drawn: tuple[list[tuple[int, bytes, bool]], int]) -> None:
    edits, size = drawn
    file = bytearray(_ledger())
    for at, new, is_text in edits:
        at %= len(file)
        at = max(0, file.rfind(b"{" if is_text else b"digest", 0, at)) if is_text is not None and at > 110 else at
        file[at : at + len(new)] = new
    Path("map.db").write_bytes(file[:size] if size < len(file) else file)
    for name in ("map.db-wal", "map.db-shm", "map.db-journal"):
        Path(name).unlink(missing_ok=True)
    tried(read_ledger, exits=(65, 66))
    tried(write_ledger, exits=(65, 73, 75, 78))


def read_ledger() -> None:
    with contextlib.closing(Ledger("map.db", is_read=True)) as ledger:
        [*ledger.entries()], ledger.counts(), ledger.used(), ledger.about(), ledger.missed()
        for word in ("1", "digest1", "digest7.0"):
            tried(ledger.find, word, exits=(65, 66))
    run = mock.Mock(ledger="map.db", items={"total": 20, "done": 4, "failed": 12, "left": 4})
    is_shown(map_text(ID, map_report(run)))


def write_ledger() -> None:
    with contextlib.closing(Ledger("map.db")) as ledger:
        ledger.begin(ABOUT)
        for number in range(20):
            ledger.claim(number, f"digest{number}")
            ledger.start(f"digest{number}.0")
            ledger.end(f"digest{number}.0", result("done"))
        ledger.note_used({"calls": 100, "tokens": 100, "cost": 100})


ANSWERS = [json.dumps(each, indent=1) for each in FLOWS]
ANSWERS = [*ANSWERS, *(f"<think>so</think>Here it is:\n```json\n{each}\n```\nDone." for each in ANSWERS), '{"cannot": "no"}']


@target(st.tuples(values(FLOWS, ["llm", "shell", "rm -rf /", "$a", "a.b"]), texts(ANSWERS, ["```", "<think>", "</think>", '{"nodes":[', "{{"]), st.booleans(), st.booleans()))
def answers(drawn: tuple[Any, str, bool, bool]) -> None:
    document, text, is_text, is_limited = drawn
    found, findings = read_flow(Said(text if is_text else json.dumps(document), is_limited=is_limited))
    is_shown(*map(str, findings))
    if found is None:
        assert findings
        return
    flow, findings = judge(found, "ask 'a' to copy a.txt to b.txt")
    is_shown(*map(str, findings))
    assert (flow is None) == bool(errors_of(findings))
    if flow is not None:
        assert not errors_of(check(wire(flow)))
        assert judge(flow_to_ir(flow), "ask 'a' to copy a.txt to b.txt")[0] is not None
        held(flow)


TOOLS = [[{"name": "get_time", "description": "Tell the time.", "annotations": {"readOnlyHint": True},
          "inputSchema": {"type": "object", "required": ["zone"], "$defs": {"Z": {"enum": ["a", "b"]}},
                          "properties": {"zone": {"$ref": "#/$defs/Z"}, "n": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 1},
                                         "l": {"type": "array", "items": {"type": "string"}, "description": "Some."}}}}, {"name": "b"}]]  # fmt: skip
RESULTS = [{"content": [{"type": "text", "text": "It is $a."}, {"type": "image", "data": "AA==", "mimeType": "image/png"},
                        {"type": "resource_link", "uri": "file:///a", "name": "a"},
                        {"type": "resource", "resource": {"uri": "file:///b", "blob": "AA==", "mimeType": "x/y"}}],
            "structuredContent": {"result": [1.5]}, "isError": False}]  # fmt: skip
REPLIES = ['{"progress": "1/2 on"}\n{"result": {"result": 1, "files": [{"type": "x", "data": "AA=="}], "links": []}}\n',
           '{"error": {"message": "cannot", "hint": "try", "exit": 69, "details": {}}}\n']  # fmt: skip
REQUESTS = ['{"call": {"server": "s", "tool": "t", "arguments": {}, "timeout": 1}}\n', '{"up": ["s"]}\n', '{"status": true}\n{"down": true}\n']
MESSAGES = ['"result"', '"error"', '"progress"', "{}", "[]", "null", "1e400", '"exit"', "\n", '"AA"']


@target(st.tuples(values(TOOLS), values(RESULTS), texts(REPLIES, MESSAGES), texts(REQUESTS, MESSAGES)))
def mcp(drawn: tuple[Any, Any, str, str]) -> None:
    tools, result, replies, requests = drawn
    with contextlib.suppress(ValidationError):
        listed = mcp_types.ListToolsResult.model_validate({"tools": tools})
        nodes = tried(tool_nodes, Server("s"), [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in listed.tools])
        for node in nodes if isinstance(nodes, list) else ():
            Path("node.py").write_text(node.text)
            found = read_python("node.py")
            assert (found.effects, found.fault) == (("anything",), "")
            is_shown(help_text(usage_of_node(node.name, found)))
    with contextlib.suppress(ValidationError):
        reply = reply_of(mcp_types.CallToolResult.model_validate(result))
        called(json.dumps({"result": reply}).encode() + b"\n")
    called(replies.encode("utf-8", "surrogatepass"))
    for answer in asyncio.run(answered(requests[:2000].encode("utf-8", "surrogatepass"))):
        assert answer.keys() in ({"result"}, {"error"})
        assert answer.get("error", {"exit": 0})["exit"] in EXIT_CODES


def called(lines: bytes) -> None:
    """Have the client of the broker hear these lines."""
    ours, theirs = socket.socketpair()
    with theirs, mock.patch.object(client, "_connect", return_value=ours), mock.patch.object(client, "run_socket", return_value="x"):
        theirs.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            theirs.send(lines)
        theirs.shutdown(socket.SHUT_WR)
        reply = tried(client.call, "s", "t", {"a": 1}, lambda text: None, exits=EXIT_CODES)
    if not isinstance(reply, PflowError):
        Document().set("a", reply)


async def answered(lines: bytes) -> list[dict[str, Any]]:
    """Return what the broker answers to these lines."""
    reader, sent = asyncio.StreamReader(1 << 27), list[bytes]()
    reader.feed_data(lines)
    reader.feed_eof()
    writer = mock.Mock(write=sent.append, drain=mock.AsyncMock())
    await Broker(0)._answer_all(reader, writer)
    return [json.loads(each) for each in sent]
