"""pflow trace: what the steps of a piped store read, wrote and took."""

from __future__ import annotations

import click

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> int:
    """Print the trace of the store document on stdin: each step, what it read from where, what it wrote, how long.

    After a stage that failed, the exit code is that stage's.

    \b
    … | pflow-write-file --path=out.md | pflow trace
    """
    from pflow.errors import BAD_DATA, PflowError
    from pflow.plumbing._tool import take_store
    from pflow.stage.stdout import write_pieces

    intake = take_store()
    if intake.kind == "raw":
        raise PflowError("cannot trace stdin: it is no store", hint="-j makes a last stage print one", exit=BAD_DATA)
    header = intake.document.header
    write_pieces(1, [trace_text(header).encode()])
    return int(header["error"]["exit"]) if "error" in header else 0


def trace_text(header: dict[str, Any]) -> str:
    """The trace in a store's header, for people."""
    steps = [step for step in header.get("steps", []) if isinstance(step, dict)]
    blocks = [_step_text(number, step) for number, step in enumerate(steps, 1)]
    error = header.get("error")
    if error:
        blocks.append(f"failed: {error.get('step')} (exit {error.get('exit')}): {error.get('message')}\n")
    return "\n".join(blocks) or "no step has run\n"


def _step_text(number: int, step: dict[str, Any]) -> str:
    reads, writes = _object(step, "reads"), _object(step, "writes")
    lines = [f"[{number}] {step.get('id')} ({step.get('node')}){_took(step)}"]
    if reads:
        lines.append("    ← reads: " + ", ".join(f"{key} from {origin}" for key, origin in reads.items()))
    if writes:
        lines.append("    → writes: " + ", ".join(map(str, writes.values())))
    return "\n".join(lines) + "\n"


def _object(step: dict[str, Any], name: str) -> dict[str, Any]:
    there = step.get(name)
    return there if isinstance(there, dict) else {}


def _took(step: dict[str, Any]) -> str:
    """How long a step took, what it used and how it ended, as far as it is known."""
    parts = [_seconds(step["ms"])] if isinstance(step.get("ms"), int | float) else []
    tokens = _object(step, "tokens")
    if tokens:
        parts.append(" + ".join(f"{count} tokens {side}" for side, count in tokens.items()))
    if "model" in step:
        parts.append(str(step["model"]))
    if isinstance(step.get("cost"), int | float):
        parts.append(f"${step['cost']:.6f}".rstrip("0"))
    if step.get("dry"):
        parts.append("dry")
    if "action" in step:
        parts.append(f"action {step['action']}")
    if "exit" in step:
        parts.append(f"exit {step['exit']}")
    return "  " + ", ".join(parts) if parts else ""


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms:.0f} ms"
