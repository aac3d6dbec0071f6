"""Calls of the server's tools: a client's arguments become a child's words and stdin, its stdout becomes a result.

Arguments are data. Reads go into the store, which is never searched for templates. A param, or an input that only one
step of a flow takes, becomes a flag: one word, with the value after its `=`, verbatim.
"""

import asyncio
import json
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from tempfile import NamedTemporaryFile
from typing import IO, Any

import anyio
import mcp_types as types
from anyio.from_thread import run_sync as run_in_loop
from anyio.to_thread import run_sync as run_in_thread

from pflow.binding.sources import assign
from pflow.catalog.find import BUNDLED
from pflow.errors import BAD_DATA, BUG, CANNOT_WRITE, DENIED, FAILED, USAGE, Attempt, PflowError, own_error, result_of
from pflow.explain.effects import FROM_ENVIRONMENT
from pflow.flow.flags import read_argument
from pflow.interface.interface import spell_flag
from pflow.mcp.client.transport import talk
from pflow.mcp.schema import as_dict, fault_in, input_schema, output_schema, without_middle
from pflow.mcp.server import tools as own_tools
from pflow.mcp.server.tools import OfferedTool, OfferedTools
from pflow.process import children
from pflow.process.children import Program
from pflow.record.log import parse_event
from pflow.terminal.messages import error_text
from pflow.text.printable import clean
from pflow.values.jsontext import decode, encode, is_deeper
from pflow.values.paths import write_path
from pflow.values.types import Type

Tell = Callable[[float, float | None, str], Awaitable[None]]
"""A function that tells a client the progress of a call: steps done, steps in all, and a text."""

MOST = 1 << 20
"""The most bytes of a flow's text or of a sentence."""

_LONGEST_WORD = 120_000
"""The most bytes of a word: Linux starts no program with a longer one than 128 KiB."""


class ToolCalls:
    """The calls of one client. `say` gets each line that a child writes to stderr."""

    def __init__(self, offered_tools: OfferedTools, own: dict[str, types.Tool], say: Callable[[str], None]) -> None:
        self.offered_tools, self.own = offered_tools, own
        self.children = Children(say)

    async def call(self, name: str, arguments: dict[str, Any], tell: Tell | None) -> types.CallToolResult:
        """Call a known tool and return its result, which may be a failure."""
        try:
            return await self._call(name, arguments, tell)
        except Exception as error:
            return failure(own_error(error))

    async def _call(self, name: str, arguments: dict[str, Any], tell: Tell | None) -> types.CallToolResult:
        if name not in self.own:
            return await self._run(name, arguments, tell)
        _check_arguments(name, self.own[name].input_schema, arguments)
        if name == own_tools.RUN:
            return await self._run(arguments["name"], arguments.get("inputs", {}), tell)
        if name == own_tools.CHECK:
            about = await self._ask("check", arguments["flow"])
            return success({name: value for name, value in about.items() if value is not None})
        if name == own_tools.PLAN:
            return success(own_tools.planned(await self._ask("plan", arguments["sentence"])))
        return success(own_tools.own_result(name, self.offered_tools, arguments))

    async def _run(self, name: str, arguments: dict[str, Any], tell: Tell | None) -> types.CallToolResult:
        offered = self.offered_tools.find(name)
        words, stdin = call_of(offered, arguments)
        progress = _Progress(len(offered.flow.steps) if offered.flow else 1, tell).take if tell else None
        code, stdout, said = await self.children.run(words, stdin, progress)
        return result_of_run(offered, code, stdout, said)

    async def _ask(self, command: str, text: Any) -> dict[str, Any]:
        """Run a command on a client's text and return its JSON. Raises PflowError: its own, or 2 for a long text."""
        stdin = (text if isinstance(text, str) else json.dumps(text)).encode("utf-8", "surrogatepass")
        if len(stdin) > MOST:
            raise PflowError(f"cannot {command}: it is longer than {MOST:,} bytes", exit=USAGE)
        code, stdout, said = await self.children.run([command, "--json", "-"], stdin)
        try:
            about: dict[str, Any] = json.loads(stdout)
        except ValueError:
            raise PflowError(f"cannot {command}: {said[-1] if said else f'it ended with {code}'}", exit=BUG) from None
        if error := about.get("error"):
            raise PflowError(error["message"], hint=error["hint"], exit=error["exit"])
        return about


class _Progress:
    """The progress of a run by its events: half a step when one starts, the other half when it ends.

    Steps of subflows count as part of the step that they are in. A loop has no total, since its length is not known.
    """

    def __init__(self, steps: int, tell: Tell) -> None:
        self.steps, self.tell, self.done = steps, tell, 0.0

    async def take(self, line: bytes) -> None:
        event = parse_event(line) or {"event": ""}
        step, node = str(event.get("step", event.get("id", ""))), str(event.get("node", ""))
        if event["event"] not in ("start", "end") or "/" in step:
            return
        self.done += 0.5
        how = "…" if event["event"] == "start" else f"failed ({event['exit']})" if event.get("exit") else "done"
        name = node if step in (node, "") else f"{step} ({node})"
        await self.tell(self.done, float(self.steps) if self.done <= self.steps else None, clean(f"{name} {how}"))


def call_of(offered: OfferedTool, arguments: dict[str, Any]) -> tuple[list[str], bytes]:
    """Return the words and the stdin of a child. Raises PflowError (2, 65, 77) for arguments that it cannot take."""
    node_type, optional = offered.node_type, {name for name, field in offered.inputs.items() if not field.required}
    given = {name: value for name, value in arguments.items() if value is not None or name not in optional}
    for known in offered.flow.inputs.values() if offered.flow else ():
        if known.declared and known.name in given:
            given[known.name] = read_argument(known.flag, known.as_field(), given[known.name])
    # Nothing is required here: the child reports missing inputs, with the message and exit code of `pflow run`.
    schema = {**input_schema(offered.inputs), "required": []}
    _check_arguments(offered.tool.name, schema, given)
    _refuse_variables(given)
    store: dict[str, Any] = {}
    if offered.flow:
        words = ["run", node_type.file, "-j"]
    else:
        # --verbatim, since a client's values are data, in which ${…} must not be expanded.
        words = [node_type.name if node_type.origin == BUNDLED else node_type.file, "-j", "--verbatim"]
    words += _words_of(offered, given, store)
    return words, encode({"$pflow": {"v": 1}, **store}, escape=False) + b"\n"


def _check_arguments(tool: str, schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    """Raise PflowError (2) for arguments that do not fit."""
    if fault := fault_in(schema, arguments):
        raise PflowError(f"cannot call '{tool}': {fault}", hint="see its input schema", exit=USAGE)


def _refuse_variables(arguments: dict[str, Any]) -> None:
    """Raise PflowError (77) for a value that names an environment variable: a client could send its text anywhere."""
    for name, value in arguments.items():
        if name.rpartition(".")[2] in FROM_ENVIRONMENT and "env:" in str(value):
            hint = "a person can save a flow with it"
            what = f"cannot take '{name}' from a client: it names a variable of the environment"
            raise PflowError(what, hint=hint, exit=DENIED)


def _words_of(offered: OfferedTool, given: dict[str, Any], store: dict[str, Any]) -> list[str]:
    """Put the values that steps read into the store, and return the words of the child: mappings and flags."""
    words = []
    inputs = offered.flow.inputs if offered.flow else {}
    for name, value in given.items():
        known = inputs.get(name)
        if known is not None and known.step is None:
            assign(store, known.path, value)
        elif offered.flow is None and offered.inputs[name].kind == "read":
            store[name] = value
            words.append(f"--map-in={name}={write_path((name,))}")  # an [explicit] read takes a key only by a mapping
        else:
            flag = f"{known.step}.{known.read}" if known else name
            words.append(_flag(flag, offered.inputs[name].type, value))
    return words


def _flag(name: str, type: Type, value: Any) -> str:
    """Return a flag and its value as one word, with the value in the form for its type."""
    with Attempt(f"cannot take '{name}'", of=ValueError, exit=BAD_DATA):
        text = value if isinstance(value, str) else _text_of(type, value)
    if "\0" in text or len(os.fsencode(text)) > _LONGEST_WORD:
        what = f"it holds a NUL, or is longer than {_LONGEST_WORD:,} bytes"
        raise PflowError(f"cannot take '{name}': {what}", exit=BAD_DATA)
    return f"{spell_flag(name)}={text}"


def _text_of(type: Type, value: Any) -> str:
    data = encode(value, escape=False)
    if type.name == "bytes":
        return os.fsdecode(decode(data))
    return str(int(value)) if type.name == "int" else str(data, "utf-8")  # in JSON schema 7.0 is an integer


LIMIT = 1 << 20
"""The most bytes of JSON in a result."""

_DEEPEST = 150
"""The most levels of lists and objects in a result. Parsers of clients fail at some 200."""

_CAPS = (100_000, 10_000, 1_000, 100)
"""Lengths to which texts, lists and objects are cut; the first that brings the whole below the limit is used."""

_LONGEST = 4_000
"""The most characters of an error's message."""


def success(about: dict[str, Any], **meta: Any) -> types.CallToolResult:
    """Return an object as a result. If it is over the limit, cut values, and add a text about it."""
    kept = trim(about)
    texts = [json.dumps(kept, ensure_ascii=False)]
    if kept is not about:
        texts.append(f"(long values were cut: the whole result is over {LIMIT:,} bytes)")
        meta["pflow/cut"] = True
    return _result(texts, meta, structured_content=kept)


def failure(error: PflowError, *, line: str = "", step: str = "", node: str = "") -> types.CallToolResult:
    """Return a failure as a result: the line on stderr, the exit code, the step."""
    said = line or error_text(error)
    where = f", step '{step}' ({node})" if step and step != node else ""
    message = without_middle(error.message, _LONGEST)
    about = {"exit": error.exit, "message": message, "hint": error.hint, "step": step, "node": node}
    meta = {"pflow/error": {name: value for name, value in about.items() if value != ""}}
    return _result([f"{without_middle(said, _LONGEST)}\nexit {error.exit}{where}"], meta, is_error=True)


def _result(texts: list[str], meta: dict[str, Any], **more: Any) -> types.CallToolResult:
    content = [types.TextContent(text=text) for text in texts]
    return types.CallToolResult(content=[*content], _meta=meta or None, **more)


def result_of_run(offered: OfferedTool, code: int, stdout: bytes, said: Sequence[str]) -> types.CallToolResult:
    """Return the result of a child's run. `said` are its last lines on stderr; the last line of pflow has the error.

    Raises PflowError (65) for a store that a client cannot take.
    """
    store = as_dict(result_of(json.loads, stdout, of=(ValueError, RecursionError), otherwise=None))
    header = store.pop("$pflow", {})
    error = header.get("error", {})
    code = 128 - code if code < 0 else code or error.get("exit", 0)  # -15 is 143, as in a shell
    if code or not header:
        message = f"cannot run '{offered.label}': it ended with {code} and left no store"
        if failures := header.get("failed"):
            message = f"'{offered.label}' finished with failures: {failures} items failed"
        message = str(error.get("message", message))
        line = next((each for each in reversed(said) if each.startswith("pflow")), "")
        step, node = str(error.get("step", "")), str(error.get("node", ""))
        return failure(PflowError(message, exit=code or FAILED), line=line, step=step, node=node)
    outputs = {key: store[key] for key in offered.writes if key in store}
    if is_deeper(outputs, _DEEPEST):
        what = f"it ran, but what '{offered.label}' wrote is nested more than {_DEEPEST} levels deep"
        raise PflowError(what, exit=BAD_DATA)
    if fault := fault_in(output_schema(offered.writes.values()), outputs):
        raise PflowError(f"it ran, but what '{offered.label}' wrote is not what it declares: {fault}", exit=BAD_DATA)
    entry = header.get("steps", [{}])[-1]
    if warning := entry.get("warning"):
        outputs.setdefault("warning", warning)
    return success(outputs, **({"pflow/run": entry["run"]} if entry.get("run") else {}))


def trim(value: dict[str, Any]) -> dict[str, Any]:
    """Cut long values until the JSON has at most LIMIT bytes. Keep their types, since clients check the schema."""
    if size_of(value) <= LIMIT:
        return value
    cuts = (_cut(value, cap) for cap in _CAPS)
    return next((cut for cut in cuts if size_of(cut) <= LIMIT), {})


def size_of(value: Any) -> int:
    """Count the bytes of the JSON text."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _cut(value: Any, cap: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= cap else f"{value[:cap]}… ({len(value) - cap:,} more characters)"
    if isinstance(value, list):
        return [_cut(item, cap) for item in value[:cap]]
    if isinstance(value, dict):
        return {name: _cut(item, cap) for name, item in list(value.items())[:cap]}
    return value


AT_ONCE = 8
"""The most children at the same time; further calls wait."""

GRACE = 1.5 * children.GRACE
"""Seconds from SIGTERM to SIGKILL: more than a child gives its own children (children.GRACE), less than the twice
children.GRACE that the official client gives us."""

_MOST_OUTPUT = 1 << 26
"""The most bytes of a child's document, which is in memory as a whole before values are cut."""

_REMEMBERED = 40
"""The number of last lines of a child's stderr that are kept: the error is among them."""

_LONGEST_LINE = 1 << 24
_TICK = 0.05

OnEvent = Callable[[bytes], Awaitable[None]]


class Children:
    """The running children. `on_line` gets each line of their stderr, printable."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self.on_line = on_line
        self.limiter = anyio.CapacityLimiter(AT_ONCE)
        self.running: set[Program] = set()

    async def run(
        self, words: list[str], stdin: bytes, on_event: OnEvent | None = None
    ) -> tuple[int, bytes, deque[str]]:
        """Run pflow with these words; return its exit code, -n if signal n killed it, its stdout and last stderr lines.

        `on_event` gets the lines of its trace. A cancelled call ends the child and its children. Raises OSError and
        ValueError if it does not start, PflowError (73) if it writes too much.
        """
        # -P: never import a module from the working directory in place of pflow, since clients may write there.
        argv = [sys.executable, "-P", "-m", "pflow.commands.main", *words]
        document, rest, said = bytearray(), b"", deque[str](maxlen=_REMEMBERED)

        def take(part: bytes) -> None:
            document.extend(part)
            if len(document) > _MOST_OUTPUT:
                raise PflowError(f"cannot take its output: it is longer than {_MOST_OUTPUT:,} bytes", exit=CANNOT_WRITE)

        def hear(part: bytes) -> None:
            nonlocal rest
            *lines, rest = (rest + part).split(b"\n")
            rest = rest[-_LONGEST_LINE:]
            run_in_loop(relay, lines)

        def relay(lines: list[bytes]) -> None:
            for line in lines:
                said.append(clean(str(line, "utf-8", "backslashreplace")))
                self.on_line(said[-1])

        async with self.limiter, _trace(on_event) as env:
            with Program(argv, input=stdin, on_stdout=take, on_stderr=hear, env=env) as program:
                self.running.add(program)
                try:
                    code = await talk(program, GRACE)
                finally:
                    self.running.discard(program)
        relay([rest] if rest else [])  # the last line, if it has no newline
        return code, bytes(document), said

    async def end(self) -> None:
        """End all children."""
        await run_in_thread(children.end, self.running, GRACE)


@asynccontextmanager
async def _trace(on_event: OnEvent | None) -> AsyncIterator[dict[str, str] | None]:
    """Yield the environment for a child that traces to a file; pass the file on to `on_event` as it grows.

    Yield None, which means our own environment, without `on_event` or if the user has set a trace file.
    """
    if on_event is None or os.environ.get("PFLOW_TRACE", "0") not in ("", "0"):
        yield None
        return
    with NamedTemporaryFile(prefix="pflow-mcp-") as file:
        ended = asyncio.Event()
        following = asyncio.create_task(_follow(file, on_event, ended))
        try:
            yield {**os.environ, "PFLOW_TRACE": file.name}
            ended.set()
            await following
        finally:
            following.cancel()


async def _follow(file: IO[bytes], on_event: OnEvent, ended: asyncio.Event) -> None:
    is_last = False
    while not is_last:
        with anyio.move_on_after(_TICK):
            await ended.wait()
        is_last = ended.is_set()
        for line in file:
            await on_event(line)
