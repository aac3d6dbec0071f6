"""Inputs that a flow needs and nobody gave: asked for on a terminal, else said in words."""

from __future__ import annotations

import os

from pflow.errors import MISSING, PflowError
from pflow.run.flags import is_secret
from pflow.stage.signals import Interrupted
from pflow.values import from_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.flow.plan import Plan, PlanInput
    from pflow.paths import Path


def missing_inputs(plan: Plan, given: dict[str, Any], has: Callable[[Path], bool]) -> list[PlanInput]:
    """The required inputs that neither a flag nor the store gives. What is for one step alone, the store never does."""
    needed = [each for each in plan.inputs.values() if each.required and not each.has_default]
    return [each for each in needed if each.name not in given and (each.step is not None or not has(each.path))]


def ask_for(plan: Plan, missing: list[PlanInput], *, is_dry: bool = False) -> dict[str, Any]:
    """What a person at the terminal answers.

    Raises PflowError (66) where nobody is to be asked: stdin or stderr is no terminal, or it is a dry run; and for a
    secret, which the terminal would show.
    """
    if not missing:
        return {}
    terminal = None if is_dry or any(is_secret(plan, each) for each in missing) else _open_terminal()
    if terminal is None:
        raise nothing_gives(plan, missing)
    try:
        return {each.name: _ask(terminal, plan, each) for each in missing}
    finally:
        os.close(terminal)


def _open_terminal() -> int | None:
    if not (os.isatty(0) and os.isatty(2)):
        return None
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None


def _ask(terminal: int, plan: Plan, wanted: PlanInput) -> Any:
    """Ask until the answer fits the type. The end of the file is no answer."""
    about = f" ({wanted.doc})" if wanted.doc else ""
    while True:
        _say(terminal, f"{_who(plan, wanted)} needs {wanted.flag}{about}: ")
        try:
            line = os.read(terminal, 1 << 16)
        except Interrupted:
            _say(terminal, "\n")
            raise
        if not line:
            _say(terminal, "\n")
            raise nothing_gives(plan, [wanted])
        text = line.rstrip(b"\r\n").decode("utf-8", "replace")
        if not text:
            continue
        try:
            return from_text(wanted.type, text)
        except ValueError as error:
            _say(terminal, f"cannot take '{text}': {error}\n")


def _say(terminal: int, text: str) -> None:
    os.write(terminal, text.encode("utf-8", "replace"))


def _who(plan: Plan, wanted: PlanInput) -> str:
    """The node that reads it, for whom one alone does; else the flow."""
    nodes = {plan.steps[id].step.type for id, _ in wanted.readers}
    return nodes.pop() if len(nodes) == 1 else plan.flow.name or "the flow"


def nothing_gives(plan: Plan, missing: list[PlanInput]) -> PflowError:
    """PF03, for each input at once."""
    parts = [f"'{each.name}'" + (f" ({each.doc})" if each.doc else "") + f" for {_who(plan, each)}" for each in missing]
    flags = [f"{each.flag}=…" for each in missing if not is_secret(plan, each)]
    hint = " ".join(flags) if len(flags) == len(missing) else "a secret is never a flag; it comes from the store"
    return PflowError(f"cannot find {', '.join(parts)}: nothing gives it (PF03)", hint=hint, exit=MISSING)
