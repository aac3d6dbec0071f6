"""What --yes may run: each effect of a flow, compared with what is allowed. An unknown value is refused."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pflow.errors import USAGE, PflowError
from pflow.explain.effects import ANYTHING as OPEN
from pflow.explain.effects import Effect, effects_of_flow
from pflow.explain.origins import Origins
from pflow.explain.text import origins_text
from pflow.flow.wired import WiredFlow
from pflow.plan.approval.reach import Reach, Reached
from pflow.terminal.columns import clean, shorten

COMMANDS, PATHS, ANYTHING = "commands", "paths", "anything"

_LONGEST = 200


class Allowed:
    """What may be done unasked: run commands, touch any path, do anything; and files below the `folders`."""

    def __init__(self, words: Sequence[str], directory: str | None) -> None:
        """`directory` is the working directory, None where it is gone. Raises PflowError (2) for an unknown word."""
        self.directory = directory
        folders = [word for word in words if "/" in word or word in (".", "..", "~")]
        self.words = set(words) - set(folders)
        for word in self.words - {COMMANDS, PATHS, ANYTHING}:
            hint = f"it takes {COMMANDS}, {PATHS}, {ANYTHING} or a directory: ./{word}"
            raise PflowError(f"cannot allow '{word}': it is no such word", hint=hint, exit=USAGE)
        self.folders = [real for each in folders if (real := self.real_path(os.path.expanduser(each)))]
        here = self.real_path(".")
        self.here = None if here == "/" else here  # where services start, and everything is below it

    def allows(self, word: str) -> bool:
        return bool({word, ANYTHING} & self.words)

    def real_path(self, path: str) -> str | None:
        """Where a path leads once every link is followed; None where that cannot be known."""
        if not os.path.isabs(path) and self.directory is None:
            return None
        try:
            return os.path.realpath(os.path.join(self.directory or "/", path))
        except (OSError, ValueError):  # a NUL in it
            return None

    def allows_path(self, path: str) -> bool:
        """Whether a path stays below an allowed directory, taken as it is and as a shell would take its ~."""
        return all(self._allows_real(self.real_path(each)) for each in {path, os.path.expanduser(path)})

    def _allows_real(self, real: str | None) -> bool:
        if real is None:
            return False
        if any(_is_below(real, folder) for folder in self.folders):
            return True
        is_here = self.here is not None and _is_below(real, self.here)
        return is_here and not any(part.startswith(".") for part in real[len(self.here or "") :].split("/"))


def _is_below(real: str, folder: str) -> bool:
    return real == folder or real.startswith(folder.rstrip("/") + "/")


def working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


@dataclass(frozen=True)
class Refusal:
    """A step, what it would do, and the flag that allows it."""

    step: str
    what: str
    flag: str

    def __str__(self) -> str:
        return f"{shorten(clean(self.step), 60)} {self.what} ({self.flag})"


def refusals(wired: WiredFlow, values: dict[str, Any], allowed: Allowed, *, has_stdin: bool) -> list[Refusal]:
    """Why a flow may not run unasked; empty where it may.

    `values` are the inputs that have one before it runs; `has_stdin` says that a store may bring in more.
    """
    if allowed.allows(ANYTHING):
        return []
    reach = Reach(wired, values, has_stdin=has_stdin)
    programs = {allowed.real_path(file) for file in _files_of_steps(wired)}
    found: list[Refusal] = []
    for effect in effects_of_flow(wired, Origins(wired)):
        paths = reach.paths(effect)
        found += [*_rewrites(effect, paths, programs, allowed), *_refusals(effect, paths, allowed)]
    return list(dict.fromkeys(found))


def _files_of_steps(wired: WiredFlow) -> Iterator[str]:
    """The file of each step's node or flow, those of inner flows too."""
    for step in wired.steps.values():
        if step.kind is not None:
            yield step.kind.file
        if step.subflow is not None:
            yield from _files_of_steps(step.subflow)


def _rewrites(effect: Effect, paths: list[Reached], programs: set[str | None], allowed: Allowed) -> Iterator[Refusal]:
    """To change a node of this flow before it runs is a command, whatever that node's interface says."""
    for each in paths if not allowed.allows(COMMANDS) else ():
        if each.effect == "writes files" and each.path is not None and allowed.real_path(each.path) in programs:
            what = f"writes '{shorten(clean(each.path), _LONGEST)}', which a step of this flow runs"
            yield Refusal(effect.place, what, f"--allow={COMMANDS}")


def _refusals(effect: Effect, paths: list[Reached], allowed: Allowed) -> Iterator[Refusal]:
    step = effect.place
    if effect.name == OPEN:
        yield Refusal(step, "may do anything: its interface does not say", f"--allow={ANYTHING}")
        return
    if effect.name == "runs commands" and not allowed.allows(COMMANDS):
        command = effect.values.get("command")
        yield Refusal(step, "runs commands" + (f": {origins_text(command)}" if command else ""), f"--allow={COMMANDS}")
    if allowed.allows(PATHS):
        return
    for each in paths:
        yield from _of_path(step, each, allowed)
    if not paths and effect.name in ("reads files", "writes files"):
        yield Refusal(step, f"{effect.name}, and its interface does not say which", f"--allow={PATHS}")


def _of_path(step: str, each: Reached, allowed: Allowed) -> Iterator[Refusal]:
    does = "writes" if each.effect == "writes files" else "reads"
    if each.path is None:
        yield Refusal(step, f"{does} a file that is not known yet: {each.key} {each.why}", f"--allow={PATHS}")
    elif not allowed.allows_path(each.path):
        real = allowed.real_path(os.path.expanduser(each.path))
        is_hidden = real is not None and allowed.here is not None and _is_below(real, allowed.here)
        why = "which is hidden" if is_hidden else "which is not below this directory"
        yield Refusal(step, f"{does} '{shorten(clean(each.path), _LONGEST)}', {why}", _flag_for(real))


def _flag_for(real: str | None) -> str:
    """The smallest flag that allows a path: for the directory that it leads into."""
    folder = os.path.dirname(real) if real else ""
    if not folder or folder == "/" or len(folder) > _LONGEST or not folder.isprintable():
        return f"--allow={PATHS}"
    return f"--allow={shlex.quote(folder)}"
