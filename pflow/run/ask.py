"""Inputs that a flow needs and nobody gave: asked for on a terminal, else said in words."""

from __future__ import annotations

import os

from pflow.common import OF_RUNS
from pflow.errors import MISSING, PflowError
from pflow.terminal.tty import open_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.flow.wired import FlowInput, WiredFlow
    from pflow.paths import Path

_VALUES = {"any": "VALUE"}
"""What stands for a value, by its type's name, where that is not the name."""


def missing_inputs(plan: WiredFlow, given: dict[str, Any], has: Callable[[Path], bool]) -> list[FlowInput]:
    """The required inputs that neither a flag nor the store gives. What is for one step alone, the store never does."""
    needed = [each for each in plan.inputs.values() if each.required and not each.has_default]
    return [each for each in needed if each.name not in given and (each.step is not None or not has(each.path))]


def ask_for(plan: WiredFlow, missing: list[FlowInput], *, is_dry: bool = False) -> dict[str, Any]:
    """What a person at the terminal answers.

    Raises PflowError (66) where nobody is to be asked: stdin or stderr is no terminal, or it is a dry run; where nobody
    answers any more; and for a secret, which the terminal would show.
    """
    if not missing:
        return {}
    terminal = None if is_dry or any(each.secret for each in missing) else _open_terminal()
    if terminal is None:
        raise nothing_gives(plan, missing)
    try:
        return {each.name: _ask(terminal, plan, each) for each in missing}
    finally:
        os.close(terminal)


def _ask(terminal: int, plan: WiredFlow, wanted: FlowInput) -> Any:
    from pflow.terminal.question import NoAnswer, ask

    try:
        return ask(terminal, _who(plan, wanted), wanted)
    except NoAnswer:
        raise nothing_gives(plan, [wanted]) from None


def _open_terminal() -> int | None:
    return open_terminal() if os.isatty(0) else None


def _who(plan: WiredFlow, wanted: FlowInput) -> str:
    """The node that reads it, for whom one alone does; else the flow."""
    nodes = {plan.steps[id].step.type for id, _ in wanted.readers}
    return nodes.pop() if len(nodes) == 1 else plan.flow.name or "the flow"


def nothing_gives(plan: WiredFlow, missing: list[FlowInput]) -> PflowError:
    """PF03, for each input at once."""
    parts = [f"'{each.name}'" + (f" ({each.doc})" if each.doc else "") + f" for {_who(plan, each)}" for each in missing]
    shown = [each for each in missing if not each.secret]
    typed = [each for each in shown if each.flag[2:].replace("-", "_") not in OF_RUNS]
    hints = [" ".join(map(_flag, typed))] if typed else []
    if len(typed) < len(shown):
        hints.append("an input called like a flag of pflow run comes from the store, or is called something else")
    if len(shown) < len(missing):
        hints.append("a secret is never a flag; it comes from the store")
    message = f"cannot find {', '.join(parts)}: nothing gives it (PF03)"
    about = [{"name": each.name, "flag": each.flag, "type": str(each.type), "doc": each.doc} for each in typed]
    return PflowError(message, hint="; ".join(hints), exit=MISSING, details={"missing": about})


def _flag(wanted: FlowInput) -> str:
    """`--issue=INT`, so that a shell takes it as one word, whatever stands there in the end."""
    from shlex import quote

    type = wanted.type
    return quote(f"{wanted.flag}={'|'.join(type.choices) or _VALUES.get(type.name, type.name.upper())}")
