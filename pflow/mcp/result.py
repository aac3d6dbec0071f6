"""The result of a call: the declared outputs as one object, or the failure in pflow's words; long values are cut."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import mcp_types as types

from pflow.errors import BAD_DATA, FAILED, PflowError
from pflow.mcp.offered import Offered
from pflow.mcp.schema import ends_of, fault_in

LIMIT = 1 << 20
"""Bytes of JSON that a result may have."""

_DEEPEST = 150
"""Levels of lists and objects in a result: clients' parsers take some 200."""

_CAPS = (100_000, 10_000, 1_000, 100)
"""The length of texts and lists, and the number of members: the first that brings the whole below the limit."""

_LONGEST = 4_000
"""Characters of an error's message."""


def done(about: dict[str, Any], **meta: Any) -> types.CallToolResult:
    """An object as a result; where it is longer than the limit, values are cut, and it says so."""
    kept = trim(about)
    texts = [json.dumps(kept, ensure_ascii=False)]
    if kept is not about:
        texts.append(f"(long values were cut: the whole result is over {LIMIT:,} bytes)")
        meta["pflow/cut"] = True
    return _result(texts, meta, structured_content=kept)


def failed(error: PflowError, *, line: str = "", step: str = "", node: str = "") -> types.CallToolResult:
    """A failure as a result: the line on stderr, the exit code and the step."""
    said = line or (f"{error.message}; {error.hint}" if error.hint else error.message)
    where = f", step '{step}' ({node})" if step and step != node else ""
    message = ends_of(error.message, _LONGEST)
    about = {"exit": error.exit, "message": message, "hint": error.hint, "step": step, "node": node}
    meta = {"pflow/error": {name: value for name, value in about.items() if value != ""}}
    return _result([f"{ends_of(said, _LONGEST)}\nexit {error.exit}{where}"], meta, is_error=True)


def _result(texts: list[str], meta: dict[str, Any], **more: Any) -> types.CallToolResult:
    content = [types.TextContent(text=text) for text in texts]
    return types.CallToolResult(content=[*content], _meta=meta or None, **more)


def result_of(offered: Offered, code: int, stdout: bytes, said: Sequence[str]) -> types.CallToolResult:
    """The result of a call. `said` are the last lines of its stderr: the error's own is the last of pflow's."""
    store = _document(stdout)
    header = store.pop("$pflow", {})
    error = header.get("error", {})
    code = 128 - code if code < 0 else code or error.get("exit", 0)  # as a shell has it
    if code or not header:
        message = str(error.get("message", f"cannot run '{offered.label}': it ended with {code} and left no store"))
        line = next((each for each in reversed(said) if each.startswith("pflow")), "")
        step, node = str(error.get("step", "")), str(error.get("node", ""))
        return failed(PflowError(message, exit=code or FAILED), line=line, step=step, node=node)
    outputs = {key: store[key] for key in offered.writes if key in store}
    if depth_of(outputs) > _DEEPEST:
        what = f"it ran, but what '{offered.label}' wrote is nested more than {_DEEPEST} levels deep"
        return failed(PflowError(what, exit=BAD_DATA))
    if fault := fault_in(offered.tool.output_schema or {}, outputs):
        what = f"it ran, but what '{offered.label}' wrote is not what it declares: {fault}"
        return failed(PflowError(what, exit=BAD_DATA))
    run = header.get("steps", [{}])[-1].get("run")
    return done(outputs, **({"pflow/run": run} if run else {}))


def _document(stdout: bytes) -> dict[str, Any]:
    try:
        document = json.loads(stdout)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def trim(value: dict[str, Any], limit: int = LIMIT) -> dict[str, Any]:
    """The value itself, or with long values cut to at most `limit` bytes of JSON, of the same types throughout."""
    if size_of(value) <= limit:
        return value
    cuts = (_cut(value, cap) for cap in _CAPS)
    return next((cut for cut in cuts if size_of(cut) <= limit), {})


def depth_of(value: Any) -> int:
    """Levels of lists and objects."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


def size_of(value: Any) -> int:
    """Bytes of the JSON text."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _cut(value: Any, cap: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= cap else f"{value[:cap]}… ({len(value) - cap:,} more characters)"
    if isinstance(value, list):
        return [_cut(item, cap) for item in value[:cap]]
    if isinstance(value, dict):
        return {name: _cut(item, cap) for name, item in list(value.items())[:cap]}
    return value
