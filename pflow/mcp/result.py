"""The result of a call: the declared outputs as one object, or the failure in pflow's words; long values are cut."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from pflow.errors import BAD_DATA, FAILED, PflowError
from pflow.mcp.offered import Offered
from pflow.mcp.schema import fault_in

LIMIT = 1 << 20
"""Bytes of JSON that a result may have."""

_CAPS = (100_000, 20_000, 5_000, 1_000, 200, 50)
"""The length of texts and lists, and the number of members: the first that brings the whole below the limit."""

_LONGEST = 4_000
"""Characters of an error's message."""


@dataclass
class Result:
    """What a client gets: texts, an object where the call succeeded, and `_meta`."""

    texts: list[str]
    structured: dict[str, Any] | None = None
    is_error: bool = False
    meta: dict[str, Any] = field(default_factory=dict)


def done(structured: dict[str, Any]) -> Result:
    """A result; where it is longer than the limit, values are cut, and it says so."""
    kept = trim(structured, LIMIT)
    result = Result([json.dumps(kept, ensure_ascii=False)], kept)
    if kept is not structured:
        result.texts.append(f"(long values were cut: the whole result is over {LIMIT:,} bytes)")
        result.meta["pflow/cut"] = True
    return result


def failed(error: PflowError, *, line: str = "", step: str = "", node: str = "") -> Result:
    """A failure as a result: the line on stderr, the exit code and the step."""
    said = line or (f"{error.message}; {error.hint}" if error.hint else error.message)
    where = f", step '{step}' ({node})" if step and step != node else ""
    message = ends_of(error.message, _LONGEST)
    about = {"exit": error.exit, "message": message, "hint": error.hint, "step": step, "node": node}
    result = Result([f"{ends_of(said, _LONGEST)}\nexit {error.exit}{where}"], is_error=True)
    result.meta["pflow/error"] = {name: value for name, value in about.items() if value != ""}
    return result


def result_of(offered: Offered, arguments: dict[str, Any], code: int, stdout: bytes, said: list[str]) -> Result:
    """The result of a call. `said` are the last lines of its stderr: the error's own is the last of pflow's."""
    document = _document(stdout)
    header = document.pop("$pflow", None)
    line = next((each for each in reversed(said) if each.startswith("pflow")), "")
    code = 128 - code if code < 0 else code  # as a shell has it
    if not isinstance(header, dict):
        why = f"it ended with {code}" if code else "it left no store"
        return failed(PflowError(f"cannot run '{offered.label}': {why}", exit=code or FAILED), line=line)
    if code or "error" in header:
        error = header.get("error", {})
        code = code or error.get("exit", FAILED)
        about = PflowError(str(error.get("message", f"it ended with {code}")), exit=code)
        return failed(about, line=line, step=str(error.get("step", "")), node=str(error.get("node", "")))
    outputs = _outputs(offered, arguments, document)
    if fault := fault_in(offered.output_schema or {}, outputs):
        what = f"it ran, but what '{offered.label}' wrote is not what it declares: {fault}"
        return failed(PflowError(what, exit=BAD_DATA))
    result = done(outputs)
    if run := header.get("steps", [{}])[-1].get("run"):
        result.meta["pflow/run"] = run
    return result


def _outputs(offered: Offered, arguments: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """The declared writes; of an open flow all keys but secrets and what the client gave."""
    if not offered.is_open:
        return {key: document[key] for key in offered.writes if key in document}
    kept = {key: value for key, value in document.items() if key not in offered.secrets}
    return {key: value for key, value in kept.items() if key not in arguments or arguments[key] != value}


def _document(stdout: bytes) -> dict[str, Any]:
    try:
        document = json.loads(stdout)
    except (ValueError, RecursionError):
        document = {}
    return document if isinstance(document, dict) else {}


def trim(value: dict[str, Any], limit: int) -> dict[str, Any]:
    """The value itself, or with long values cut to at most `limit` bytes of JSON, of the same types throughout."""
    if size_of(value) <= limit:
        return value
    cuts = (_cut(value, cap) for cap in _CAPS)
    return next((cut for cut in cuts if size_of(cut) <= limit), {})


def size_of(value: Any) -> int:
    """Bytes of the JSON text."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def ends_of(text: str, longest: int) -> str:
    """A message in so many characters: it may begin with what was given, and end with the reason."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def _cut(value: Any, cap: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= cap else f"{value[:cap]}… ({len(value) - cap:,} more characters)"
    if isinstance(value, list):
        return [_cut(item, cap) for item in value[:cap]]
    if isinstance(value, dict) and value.keys() == {"$bytes"} and isinstance(value["$bytes"], str):
        length = len(value["$bytes"])
        return value if length <= cap else f"({length * 3 // 4:,} bytes, too many to hand on)"
    if isinstance(value, dict):
        return {name: _cut(item, cap) for name, item in list(value.items())[:cap]}
    return value
