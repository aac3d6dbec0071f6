"""What `make fuzz` holds everything that is read to: it is taken, and comes back as it was, or is refused in words."""

import asyncio
import contextlib
import copy
import json
import re
import socket
import tempfile
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any
from unittest import mock

import mcp_types
from hypothesis import strategies as st
from pydantic import ValidationError

from pflow.catalog.find import find_type
from pflow.catalog.node_type import program_interface
from pflow.errors import EXIT_CODES, PflowError
from pflow.explain.account import explain
from pflow.explain.text import account_text, graph_text
from pflow.export import exporter, targets
from pflow.flow.expressions import escape_dollars, move_references
from pflow.flow.findings import errors_of
from pflow.flow.flags import FlowFlags
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import flow_hash, flow_to_ir, load_document
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.script import read_script
from pflow.flow.pipe.write import write_pipe
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.help.spec import help_text, spec_of_node
from pflow.interface.account import account_of
from pflow.interface.common import COMMON
from pflow.interface.grammar import parse_interface
from pflow.interface.source import read_python
from pflow.map.ledger import Ledger
from pflow.map.report import map_report, map_text
from pflow.mcp.client import node as client
from pflow.mcp.client.broker import Broker
from pflow.mcp.client.servers import Server
from pflow.mcp.client.session import reply_of
from pflow.mcp.client.tools import tool_nodes
from pflow.models.ask import ModelAnswer
from pflow.page.page import run_page
from pflow.plan.conversation import read_plan
from pflow.plan.planner import judge
from pflow.record.journal import pieces_of, read_lines
from pflow.record.log import EVENTS
from pflow.record.records import Records, compacted
from pflow.record.runs import RecordedRun
from pflow.record.trace import Trace, trace_of_document, trace_of_run, trace_text
from pflow.record.trace_formats import FORMATS
from pflow.stage.document import Document, read_document, read_json
from pflow.stage.flags import flags_of
from pflow.values.templates import broken_references, double_braces, expand, parse_template, references
from tests.flow.pipe.test_write import step_of
from tests.flow.test_ir import again
from tests.flow.test_schema import SOUND
from tests.fuzz.mutation import SAMPLES, TOKENS, data, texts, values
from tests.map.test_ledger import ABOUT, result

ROOT = Path(__file__).parent.parent.parent
TARGETS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], None]]] = {}
ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
SMALL = 100
"""Steps of a flow up to which it is held to all; tests/flow/test_growth.py has more."""


def target(strategy: st.SearchStrategy[Any]) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Add a function to TARGETS, under its name, with what it is called with; it runs in a folder of its own."""

    def add(check: Callable[[Any], None]) -> Callable[[Any], None]:
        def check_in_folder(drawn: Any) -> None:
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                check(drawn)

        TARGETS[check.__name__] = strategy, check_in_folder
        return check_in_folder

    return add


def tried(act: Callable[..., Any], *given: Any, exits: Container[int] = (65,)) -> Any:
    """Return what an act returns; the error, if it is refused with one of these codes."""
    try:
        return act(*given)
    except PflowError as error:
        if error.exit not in exits:
            raise
        return error


def is_shown(*words: str) -> None:
    """Fail if a terminal would obey any of these texts."""
    assert not [each for each in words if not each.replace("\n", "").isprintable()]


def files(*places: str) -> list[str]:
    return [path.read_text() for place in places for path in sorted(ROOT.glob(place))]


@target(data(SAMPLES["document"], TOKENS["document"]))
def document(text: bytes) -> None:
    for read in (read_document, read_json):
        found = tried(read, text)
        if not isinstance(found, Document):
            continue
        members = {key: bytes(found.json(key)) for key in found}
        written = b"".join(found.pieces())
        then = read_document(written)
        assert {key: bytes(then.json(key)) for key in then} == members
        assert b"".join(then.pieces()) == written
        if any(isinstance(tried(found.__getitem__, key), PflowError) for key in found):
            continue
        whole = json.loads(text if read is read_document else written)
        whole = whole[0] if isinstance(whole, list) else whole
        assert {"$pflow": whole["$pflow"], **{key: json.loads(each) for key, each in members.items()}} == whole
        traced(trace_of_document(found, with_store=True))


def traced(trace: Trace) -> None:
    is_shown(trace_text(trace, now=2e9, with_store=True).decode())
    for write in FORMATS.values():
        for line in write(trace, now=2e9, with_store=True).split(b"\n")[:-1]:
            json.loads(line)
    run_page(trace, now=2e9)


CLASSES = files("nodes/*.py", "examples/nodes/*.py", "tests/seeds/nodes/*.py")
BLOCKS = [re.sub("(?m)^    ", "", each) for code in CLASSES for each in re.findall('    """(.*?)"""', code, re.S)[:1]]


@target(
    st.tuples(texts(BLOCKS, TOKENS["block"]), st.sampled_from(["# ", "-- ", " * ", "; ", ""]))
    | texts(CLASSES, TOKENS["class"])
)
def interfaces(drawn: tuple[str, str] | str) -> None:
    block, sign = (drawn, None) if isinstance(drawn, str) else drawn
    script, python = Path("pflow-x" if sign else "x.interface"), Path("x.py")
    commented = "\n".join(f"{sign or ''}{line}" for line in block.split("\n"))
    script.write_text({" * ": "/*\n", "": ""}.get(sign or "", "#!/bin/sh\n") + commented, errors="replace")
    python.write_text(block if sign is None else f'class Y:\n    r"""{block}"""\n', errors="replace")
    for read, given in ((parse_interface, block), (program_interface, str(script)), (read_python, "x.py")):
        found = tried(read, given)
        found = found[0] if isinstance(found, tuple) else found
        if not isinstance(found, PflowError):
            is_shown(help_text(spec_of_node("x", found)), found.fault)
            assert account_of(found)


PAGES = files("man/man[157]/*", "docs/*.md")
PIPES = [each for page in PAGES for each in re.findall(r"'([^'`]{1,300} => [^'`]{1,300})'", page)]
PIPES += [
    re.sub("(?m)^exec pflow run '|'[^']*$", "", text)
    for text in files("examples/flows/fix-*", "examples/flows/su*t-fix")
]
SCRIPTS = files("examples/scripts/*", "examples/jobs/*", "examples/cron/*")


@target(
    st.tuples(texts(PIPES, TOKENS["pipe"]), st.just(False)) | st.tuples(texts(SCRIPTS, TOKENS["pipe"]), st.just(True))
)
def pipe(drawn: tuple[str, bool]) -> None:
    text, is_script = drawn
    read = read_script if is_script else lambda text, catalog: parse_pipe([text], catalog)
    flow = tried(read, text, FlowCatalog(), exits=(2, 66, 77)) if text.count("=>") + text.count("|") < SMALL else None
    if isinstance(flow, FlowSpec):
        held(flow)


def held(flow: FlowSpec) -> None:
    """Hold a flow to all that is made of one."""
    are_unique = len({step.id for step in flow.steps}) == len(flow.steps)
    loaded = tried(again, flow) if 0 < len(flow.steps) < SMALL and are_unique else None
    if not isinstance(loaded, FlowSpec):  # it has a lone surrogate
        return
    loaded.catalog = flow.catalog
    before, after = ([step_of(step, step.output_mappings) for step in each.steps] for each in (flow, loaded))
    assert after == before
    assert (loaded.outputs, loaded.max_visits) == (flow.outputs, flow.max_visits)
    wired = wire(flow)
    findings = check(wired)
    account = explain(wired, findings)
    is_shown(*map(str, findings), account_text(account, 80), graph_text(account, 80))
    assert flow_hash(wired) == flow_hash(wire(loaded))
    FlowFlags(wired)
    said = tried(write_pipe, flow)
    if isinstance(said, str):
        compiled = parse_pipe([said], FlowCatalog())
        assert flow_to_ir(parse_pipe([write_pipe(compiled)], FlowCatalog())) == flow_to_ir(compiled)
    for module in map(exporter, targets()) if not errors_of(findings) else ():
        if hasattr(module, "export"):  # a pack is a directory
            tried(module.export, wired)


@target(
    st.tuples(
        texts(SAMPLES["templates"], TOKENS["templates"]),
        st.lists(st.sampled_from([*SAMPLES["inserted"], b"\xff$a"]), min_size=1),
    )
)
def templates(drawn: tuple[str, list[Any]]) -> None:
    text, given = drawn
    assert len([*double_braces(text)]) <= text.count("{{")
    assert expand(escape_dollars(text), lambda path: "WRONG") == text
    try:
        parts = parse_template(text)
    except ValueError:
        return
    broken_references(text)
    paths = [each for each in parts if not isinstance(each, str)]
    assert references(text) == paths
    assert parse_template(move_references(text, {path: tuple(path) for path in paths})) == parts
    asked: list[Any] = []
    found = tried(expand, text, lambda path: asked.append(path) or given[len(asked) % len(given)])
    assert asked == paths
    if isinstance(found, str) and len(parts) > 1:
        place = 0
        for part in filter(lambda part: isinstance(part, str), parts):
            place = found.index(part, place) + len(part)


FLOWS = [SOUND]
for each in files("tests/flow/seeds/*.json", "examples/*.json", "examples/flows/*.json"):
    with contextlib.suppress(ValueError):  # two papers abbreviate theirs
        FLOWS.append(json.loads(each))


@target(values(FLOWS, TOKENS["flow"]))
def ir(written: Any) -> None:
    flow = tried(load_document, written, "x", FlowCatalog())
    if isinstance(flow, FlowSpec):
        is_shown(*map(str, flow.findings))
        if not flow.findings:
            held(flow)


INTERFACES = {name: find_type(name).interface for name in (path.stem for path in sorted(ROOT.glob("nodes/*.py")))}
ITEMS = {name: [*about.reads.values(), *about.params.values(), *COMMON.values()] for name, about in INTERFACES.items()}
WORDS = texts(TOKENS["word"], TOKENS["word"]).map(lambda word: word.replace("\0", ""))


@st.composite
def command_lines(draw: st.DrawFn) -> tuple[str, list[list[str]]]:
    name = draw(st.sampled_from([*INTERFACES]))
    flags = [flag for item in ITEMS[name] for flag in (item.flag, f"-{getattr(item, 'letter', '')}")]
    flag = st.sampled_from(flags) | texts(flags).map(lambda word: word.replace("\0", ""))
    known = st.lists(st.tuples(st.sampled_from(flags), WORDS), min_size=1, max_size=2)
    return name, draw(known | st.lists(st.tuples(flag, WORDS) | st.tuples(WORDS), max_size=5))


@target(command_lines())
def argv(drawn: tuple[str, list[list[str]]]) -> None:
    name, units = drawn
    apart = taken(name, [word for unit in units for word in unit])
    joined = taken(name, ["=".join(unit) for unit in units])
    valued = {item.flag for item in ITEMS[name] if item.type.name != "bool"}
    if all(len(unit) == 2 and unit[0] in valued for unit in units):
        assert apart == joined


def taken(name: str, words: list[str]) -> str:
    """Return what a node takes from these words, or why it takes nothing."""
    found = tried(flags_of, words, INTERFACES[name], exits=(2, 66, 77))
    if isinstance(found, PflowError):
        return found.message
    return repr([[(key, each.value) for key, each in {**found.data, **found.params}.items()], vars(found)["map_in"]])


def lines_of(events: list[Any]) -> str:
    return "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in events)


@target(
    values([SAMPLES["log"]]).map(lambda log: lines_of(log if isinstance(log, list) else [log]).encode())
    | data([lines_of(SAMPLES["log"])], TOKENS["log"])
)
def log(lines: bytes) -> None:
    Path(ID).mkdir(exist_ok=True)
    Path(ID, EVENTS).write_bytes(lines)
    run = RecordedRun(ID)
    is_shown(*run.progress())
    traced(trace_of_run(run, run.events()[0]))


def kept(records: list[Any]) -> bytes:
    return b"".join(piece for each in records for piece in pieces_of(each))


RECORDS = SAMPLES["journal"]


@target(
    st.tuples(st.lists(st.sampled_from(RECORDS), max_size=12), st.integers(0, 2000))
    | data([kept(RECORDS).decode()], ["\n"])
)
def journal(drawn: tuple[list[Any], int] | bytes) -> None:
    if isinstance(drawn, bytes):
        read = tried(read_lines, drawn)
        if not isinstance(read, PflowError):
            assert all(each in RECORDS for each in read[0])
            tried(Records, copy.deepcopy(read[0]))
        return
    records, cut = [RECORDS[0], *drawn[0]], drawn[1]
    lines = kept(records)
    assert read_lines(lines) == (records, len(lines))
    found, size = read_lines(lines[:cut])
    assert found == records[: len(found)]
    assert kept(found).startswith(lines[:size])
    known, fewer = Records(copy.deepcopy(records)), Records(compacted(copy.deepcopy(records)))
    assert all(fewer.outermost_done(path) for path in known.done)


EDITS = st.tuples(st.integers(0, 200) | st.integers(0, 30_000), st.binary(min_size=1, max_size=8))


@target(st.tuples(st.lists(EDITS, max_size=6), st.integers(0, 60_000)))
def ledger(drawn: tuple[list[tuple[int, bytes]], int]) -> None:
    edits, size = drawn
    file = Path("map.db")
    for each in Path().glob("map.db*"):
        each.unlink()
    write_ledger(["done", "failed", "poison", "begun", "todo"] * 4)
    content = bytearray(file.read_bytes())
    for at, new in edits:
        at = at if at < 200 else max(0, content.rfind(b"digest", 0, at % len(content)) + at % 128 - 16)  # into a row
        content[at : at + len(new)] = new
    file.write_bytes(content[:size])
    tried(read_ledger, exits=(65, 66))
    tried(write_ledger, ["done"] * 20, exits=(65, 73, 75, 78))


def read_ledger() -> None:
    with contextlib.closing(Ledger("map.db", is_read=True)) as ledger:
        _ = [*ledger.entries()], ledger.counts(), ledger.used(), ledger.about(), ledger.missed()
        for word in ("1", "digest1", "digest7.0"):
            tried(ledger.find, word, exits=(65, 66))
    items = {"total": 20, "done": 4, "failed": 12, "left": 4}
    is_shown(map_text(ID, map_report(mock.Mock(ledger="map.db", items=items))))


def write_ledger(statuses: list[str]) -> None:
    with contextlib.closing(Ledger("map.db")) as ledger:
        ledger.begin(ABOUT)
        for number, status in enumerate(statuses):
            ledger.start(ledger.claim(number, f"digest{number}").id)
            ledger.end(
                f"digest{number}.0", result(status, usage={"calls": 1, "cost": 0.5, "model": "m", "tokens": {"in": 1}})
            )
        ledger.note_used({"calls": 100, "tokens": 100, "cost": 100}, {"m": {"tokens": 7}})


ANSWERS = [
    f"{before}{each}{after}"
    for each in [*(json.dumps(each, indent=1) for each in FLOWS), *PIPES]
    for before, after in (("", ""), ("<think>so</think>Here:\n```json\n", "\n```"))
]


@target(st.tuples(values(FLOWS, TOKENS["flow"]).map(json.dumps) | texts(ANSWERS, TOKENS["answer"]), st.booleans()))
def answers(drawn: tuple[str, bool]) -> None:
    sentence = "ask 'a' to copy a.txt to b.txt"
    found, findings = read_plan(ModelAnswer(drawn[0], is_limited=drawn[1]), FlowCatalog())
    is_shown(*map(str, findings))
    assert (found is None) == bool(findings)
    flow, findings = judge(found, sentence) if found is not None else (None, findings)
    is_shown(*map(str, findings))
    assert (flow is None) == bool(errors_of(findings))
    if flow is not None:
        assert not errors_of(check(wire(flow)))
        assert judge(flow_to_ir(flow), sentence)[0] is not None
        held(flow)


@target(
    st.tuples(st.just("tools"), values([SAMPLES["tools"]]))
    | st.tuples(st.just("result"), values([SAMPLES["result"]]))
    | st.tuples(st.just("reply"), data(SAMPLES["replies"], TOKENS["message"]))
    | st.tuples(st.just("request"), data(SAMPLES["requests"], TOKENS["message"]))
)
def mcp(drawn: tuple[str, Any]) -> None:
    kind, said = drawn
    with contextlib.suppress(ValidationError):  # the SDK refuses it
        if kind == "tools":
            listed = mcp_types.ListToolsResult.model_validate({"tools": said}).tools
            nodes = tried(
                tool_nodes,
                Server("s"),
                [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in listed],
            )
            for node in nodes if isinstance(nodes, list) else ():
                Path("node.py").write_text(node.text)
                found, _ = read_python("node.py")
                assert (found.effects, found.fault) == (("anything",), "")
                is_shown(help_text(spec_of_node(node.name, found)))
        elif kind == "result":
            called(json.dumps({"result": reply_of(mcp_types.CallToolResult.model_validate(said))[1]}).encode() + b"\n")
        elif kind == "reply":
            called(said)
        else:
            for answer in asyncio.run(answered(said[:2000])):
                assert answer.get("error", {"exit": 0})["exit"] in EXIT_CODES


def called(lines: bytes) -> None:
    """Have a node hear these lines from the broker."""
    ours, theirs = socket.socketpair()
    with theirs, mock.patch.multiple(client, _connect=lambda *_: ours, run_socket=lambda: "x"):
        theirs.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            theirs.send(lines)
        theirs.shutdown(socket.SHUT_WR)
        reply = tried(client.call, "s", "t", {"a": 1}, lambda text: None, exits=range(1, 256))
    if not isinstance(reply, PflowError):
        tried(Document().set, "a", reply)


async def answered(lines: bytes) -> list[dict[str, Any]]:
    """Return what the broker answers to these lines."""
    reader, sent = asyncio.StreamReader(), list[bytes]()
    reader.feed_data(lines)
    reader.feed_eof()
    await Broker(0)._serve_requests(reader, mock.Mock(write=sent.append, drain=mock.AsyncMock()))
    return [json.loads(each) for each in sent]
