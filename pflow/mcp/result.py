"""What came of a call: the declared outputs as one object, or the failure in pflow's words."""

from __future__ import annotations

import json

from pflow.errors import BAD_DATA, FAILED, PflowError
from pflow.mcp.schema import fault_in
from pflow.mcp.trim import ends_of, text_of, trim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.mcp.offered import Offered
    from pflow.mcp.process import Ended

LIMIT = 1 << 20
"""Bytes of JSON that a result may have."""

_LONGEST = 4_000
"""Signs of an error's message."""


class Result:
    """What a client gets: texts, an object where the call went well, and what is said of it (`_meta`)."""

    def __init__(self, texts: list[str], structured: dict[str, Any] | None = None, *, is_error: bool = False) -> None:
        self.texts = texts
        self.structured = structured
        self.is_error = is_error
        self.meta: dict[str, Any] = {}


def done(structured: dict[str, Any], limit: int = LIMIT) -> Result:
    """A result; what is longer than the limit is cut, and says so."""
    kept, is_cut = trim(structured, limit)
    texts = [text_of(kept)]
    if is_cut:
        texts.append(f"(long values were cut: the whole result is over {limit:,} bytes)")
    result = Result(texts, kept)
    if is_cut:
        result.meta["pflow/cut"] = True
    return result


def failed(error: PflowError, *, line: str = "", step: str = "", node: str = "") -> Result:
    """A failure as a result: the line that pflow says, the exit code and the step."""
    said = line or (f"{error.message}; {error.hint}" if error.hint else error.message)
    where = f", step '{step}' ({node})" if step and step != node else ""
    result = Result([f"{ends_of(said, _LONGEST)}\nexit {error.exit}{where}"], is_error=True)
    about = {
        "exit": error.exit,
        "message": ends_of(error.message, _LONGEST),
        "hint": error.hint,
        "step": step,
        "node": node,
    }
    result.meta["pflow/error"] = {name: value for name, value in about.items() if value != ""}
    return result


def result_of(offered: Offered, given: dict[str, Any], ended: Ended, said: list[str], limit: int = LIMIT) -> Result:
    """The result of a call. `said` are the last lines of its stderr: the error's own is the last of pflow's."""
    document = _document(ended.stdout)
    header = document.pop("$pflow", None) if document is not None else None
    line = next((each for each in reversed(said) if each.startswith("pflow")), "")
    if document is None or not isinstance(header, dict):
        why = "it left no store" if ended.code == 0 else f"it ended with {_code(ended.code)}"
        return failed(PflowError(f"cannot run '{offered.label}': {why}", exit=_code(ended.code) or FAILED), line=line)
    if ended.code or "error" in header:
        error = header.get("error", {})
        code = _code(ended.code) or error.get("exit", FAILED)
        message = str(error.get("message", f"it ended with {code}"))
        about = PflowError(message, exit=code)
        return failed(about, line=line, step=str(error.get("step", "")), node=str(error.get("node", "")))
    result = _done(offered, given, document, limit)
    if run := header.get("steps", [{}])[-1].get("run"):
        result.meta["pflow/run"] = run
    return result


def _done(offered: Offered, given: dict[str, Any], document: dict[str, Any], limit: int) -> Result:
    if offered.is_open:
        return done(
            {key: value for key, value in document.items() if _is_for_client(offered, given, key, value)}, limit
        )
    outputs = {key: document[key] for key in offered.writes if key in document}
    fault = fault_in(offered.output_schema or {}, outputs)
    if fault:
        result = done(outputs, limit)
        error = PflowError(f"it ran, and what '{offered.label}' wrote is not what it declares: {fault}", exit=BAD_DATA)
        told = failed(error)
        told.texts += result.texts
        return told
    return done(outputs, limit)


def _is_for_client(offered: Offered, given: dict[str, Any], key: str, value: Any) -> bool:
    """Whether a key of a store is neither a secret nor what the client gave."""
    return key not in offered.secrets and (key not in given or given[key] != value)


def _document(stdout: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(stdout)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _code(code: int) -> int:
    """As a shell has it: 128 + n of signal n."""
    return 128 - code if code < 0 else code
