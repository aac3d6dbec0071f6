"""What --yes may run: each effect of a flow, held against what is allowed; where a value is not known, it is not."""

from __future__ import annotations

import os

from pflow.explain.effects import ANYTHING as OPEN
from pflow.explain.effects import touches
from pflow.explain.origins import Origins
from pflow.explain.words import said
from pflow.plan.gate import allowed as words
from pflow.plan.gate.reached import Reach, Reached
from pflow.terminal.columns import clean, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.wired import WiredFlow
    from pflow.plan.gate.allowed import Allowed

    Touch = dict[str, Any]

_LONGEST = 200


class Refusal:
    """A step, what it would do, and the flag that allows it."""

    __slots__ = ("flag", "step", "what")

    def __init__(self, step: str, what: str, flag: str) -> None:
        self.step = step
        self.what = what
        self.flag = flag

    def __str__(self) -> str:
        return f"{shorten(clean(self.step), 60)} {self.what} ({self.flag})"


def refusals(plan: WiredFlow, values: dict[str, Any], allowed: Allowed, *, has_stdin: bool) -> list[Refusal]:
    """Why a flow may not run unasked: nothing where it may.

    `values` are those of its inputs that are settled before it runs; `has_stdin` says that more may come in.
    """
    if allowed.allows(words.ANYTHING):
        return []
    reach = Reach(plan, values, has_stdin=has_stdin)
    programs = {allowed.real_path(file) for file in _files_of_steps(plan)}
    found: dict[str, Refusal] = {}
    for touch in touches(plan, Origins(plan)):
        paths = reach.paths(touch)
        for refusal in [*_rewrites(touch, paths, programs, allowed), *_refusals(touch, paths, allowed)]:
            found.setdefault(str(refusal), refusal)
    return list(found.values())


def _files_of_steps(plan: WiredFlow) -> Iterator[str]:
    """The file of each step's node or flow, those of flows within too."""
    for wired in plan.steps.values():
        if wired.kind is not None:
            yield wired.kind.file
        if wired.subplan is not None:
            yield from _files_of_steps(wired.subplan)


def _rewrites(
    touch: Touch, paths: list[Reached], programs: set[str | None], allowed: Allowed
) -> Iterator[Refusal]:  # fmt: skip
    """What would change a node of this flow before it runs: a command, whatever that node's interface says."""
    for each in paths if not allowed.allows(words.COMMANDS) else ():
        if each.effect == "writes files" and each.path is not None and allowed.real_path(each.path) in programs:
            what = f"writes '{shorten(clean(each.path), _LONGEST)}', which a step of this flow runs"
            yield Refusal(touch["step"], what, f"--allow={words.COMMANDS}")


def _refusals(touch: Touch, paths: list[Reached], allowed: Allowed) -> Iterator[Refusal]:
    step, effect = touch["step"], touch["effect"]
    if effect == OPEN:
        yield Refusal(step, "may do anything: its interface does not say", f"--allow={words.ANYTHING}")
        return
    if effect == "runs commands" and not allowed.allows(words.COMMANDS):
        yield Refusal(step, "runs commands" + _command(touch), f"--allow={words.COMMANDS}")
    if allowed.allows(words.PATHS):
        return
    for each in paths:
        yield from _of_path(step, each, allowed)
    if not paths and effect in ("reads files", "writes files"):
        yield Refusal(step, f"{effect}, and its interface does not say which", f"--allow={words.PATHS}")


def _command(touch: Touch) -> str:
    origins = touch["what"].get("command")
    return f": {said(origins)}" if origins else ""


def _of_path(step: str, each: Reached, allowed: Allowed) -> Iterator[Refusal]:
    does = "writes" if each.effect == "writes files" else "reads"
    if each.path is None:
        yield Refusal(step, f"{does} a file that is not known yet: {each.key} {each.why}", f"--allow={words.PATHS}")
    elif not allowed.allows_path(each.path):
        where = shorten(clean(each.path), _LONGEST)
        yield Refusal(step, f"{does} '{where}', which is not below this directory", _flag_for(each.path, allowed))


def _flag_for(path: str, allowed: Allowed) -> str:
    """The smallest leave that there is: for the directory that the path leads into."""
    import shlex

    real = allowed.real_path(os.path.expanduser(path))
    folder = os.path.dirname(real) if real else ""
    if not folder or folder == "/" or len(folder) > _LONGEST or not folder.isprintable():
        return f"--allow={words.PATHS}"
    return f"--allow={shlex.quote(folder)}"
