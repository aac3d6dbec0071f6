"""The gate of --yes: compare each effect of a flow with the words of --allow, and refuse effects that are unknown."""

import json
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pflow.catalog.node_type import BUNDLED
from pflow.errors import USAGE, PflowError, result_of, shorten
from pflow.explain.effects import (
    FILES_OF_LLM,
    FROM_ENVIRONMENT,
    HISTORY_OF_LLM,
    Effect,
    Origin,
    Provenance,
    effects_of_flow,
)
from pflow.explain.text import origin_text, origins_text
from pflow.files.beneath import OWN, Bounds
from pflow.files.directories import llm_directory, own_directories
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.interface import ANYTHING as OPEN
from pflow.mcp.client.servers import MCP_PREFIX, list_servers, server_of
from pflow.mcp.client.sockets import socket_of
from pflow.process.confine import has_landlock
from pflow.text.printable import clean
from pflow.values.paths import write_path
from pflow.values.templates import TEMPLATE, expand

COMMANDS, PATHS, ANYTHING = "commands", "paths", "anything"

_FILES = {"reads files": "reads", "writes files": "writes"}
_LONGEST = 200


class Allowed:
    """The words and directories of --allow: commands, paths, anything, MCP servers, and files below the `folders`.

    A directory also allows paths that are known only during the run, if pflow itself opens the files.
    """

    def __init__(self, words: Sequence[str]) -> None:
        """Raises PflowError (2) for an unknown word."""
        folders = [word for word in words if "/" in word or word in (".", "..", "~")]
        self.words = set(words) - set(folders)
        names = list_servers() if any(word.startswith(MCP_PREFIX) for word in words) else ()
        servers = {MCP_PREFIX + name for name in names}
        for word in self.words - {COMMANDS, PATHS, ANYTHING, *servers}:
            hint = f"it takes {COMMANDS}, {PATHS}, {ANYTHING}, {MCP_PREFIX}SERVER or a directory: ./{word}"
            raise PflowError(f"cannot allow '{word}': --allow does not know it", hint=hint, exit=USAGE)
        real = [self.real_path(os.path.expanduser(each)) for each in folders]
        here = self.real_path(".")
        # systemd starts services in /, which has every file below it: so there the working directory allows nothing.
        shut = filter(None, map(self.real_path, [*own_directories(), llm_directory(), os.path.dirname(socket_of(""))]))
        self.bounds = Bounds(None if here == "/" else here, list(filter(None, real)), shut=list(shut))

    def allows(self, word: str) -> bool:
        return bool({word, ANYTHING} & self.words)

    def real_path(self, path: str) -> str | None:
        """Return a path with every link followed; None if that is impossible."""
        # The working directory may have been removed, or a model may have written a NUL into the path.
        return result_of(os.path.realpath, path, otherwise=None, of=(OSError, ValueError))

    def fault_of(self, path: str, *, writes: bool) -> str:
        """Return why a path, taken literally or with ~ expanded, is not allowed; empty if it is allowed."""
        found = [self.real_path(each) for each in (os.path.expanduser(path), path)]
        faults = (
            "its place is unknown" if real is None else self.bounds.fault_of(real, writes=writes) for real in found
        )
        return next(filter(None, faults), "")


@dataclass(frozen=True)
class Refusal:
    """A step, the act that is refused, and the word of --allow that allows it."""

    step: str
    what: str
    word: str

    @property
    def flag(self) -> str:
        return f"--allow={self.word}"

    def __str__(self) -> str:
        return f"{shorten(clean(self.step), 60)} {self.what} ({self.flag})"


Reached = tuple[str, str | None, str]
"""A key, a path that its value may be (None if the path is not known before the run), and the reason for None."""


class _Unknown(Exception):
    """Raised for a value that is known only when the flow runs. The message says where the value comes from."""


class Gate:
    """Compares the effects of a flow, as far as they are known before it runs, with the allowed ones.

    `values` are the values of its inputs. With `has_stdin`, a store on stdin may bring further values.
    """

    def __init__(self, wired: WiredFlow, values: dict[str, Any], allowed: Allowed, *, has_stdin: bool) -> None:
        self.wired = wired
        self.values = values
        self.allowed = allowed
        self.has_stdin = has_stdin
        self.programs = _programs(wired, allowed)

    def refusals(self) -> list[Refusal]:
        """Return the refusals because of which the flow may not run without asking; empty if it may."""
        effects = effects_of_flow(Provenance(self.wired)) if not self.allowed.allows(ANYTHING) else []
        every = dict.fromkeys(refusal for effect in effects for refusal in self._of_effect(effect))
        return [each for each in every if not self.allowed.allows(each.word)]

    def _of_effect(self, effect: Effect) -> Iterator[Refusal]:
        """Yield the refusals of an effect before the words of --allow count; its directories count already."""
        node_type = effect.step.node_type
        if node_type is not None and (server := server_of(node_type.name)):
            yield Refusal(
                effect.step_path, f"asks the MCP server '{server}', which may do anything", MCP_PREFIX + server
            )
        elif effect.name == OPEN:
            yield Refusal(effect.step_path, "may do anything: its interface does not say", ANYTHING)
        elif effect.name == "runs commands":
            values = effect.values.items()
            told = [origins_text(each) if key == "command" else f"{key} {origins_text(each)}" for key, each in values]
            what = ": ".join(filter(None, ["runs commands", ", ".join(told)]))
            yield Refusal(effect.step_path, what, COMMANDS)
        elif effect.name in _FILES:
            reached = self._reached(effect)
            for key, path, why in reached:
                yield from self._of_path(effect, key, path, why)
            is_ours = node_type is not None and node_type.origin == BUNDLED
            if not is_ours and not has_landlock():
                yield Refusal(effect.step_path, f"{effect.name} by itself, and this kernel cannot confine it", PATHS)
            if not reached and not (effect.values and is_ours):
                yield Refusal(effect.step_path, f"{effect.name}, and its interface does not say which", PATHS)
        elif effect.name == "network":
            yield from self._of_network(effect)

    def _of_network(self, effect: Effect) -> Iterator[Refusal]:
        for key in FROM_ENVIRONMENT:
            if self._sends_variables(effect, key):
                what = f"sends what the environment holds: {key} {origins_text(effect.values[key])}"
                yield Refusal(effect.step_path, what, ANYTHING)
        if effect.step.node_type is not None and effect.step.node_type.name == "llm":
            history = [origin for key in HISTORY_OF_LLM for origin in effect.values.get(key, [])]
            if any(origin.get("value", True) for origin in history):
                yield Refusal(effect.step_path, "sends a conversation from llm's log", PATHS)
            for file in FILES_OF_LLM:
                for key, path, why in self._paths_of(effect, file):
                    yield from self._of_path(effect, key, path, why)

    def _sends_variables(self, effect: Effect, key: str) -> bool:
        """Return True if a value names a variable of the environment, or is not known yet."""
        try:
            origins = effect.values.get(key, [])
            return "env:" in str([self._values(origin, False, len(effect.ids) > 1) for origin in origins])
        except _Unknown:
            return True

    def _reached(self, effect: Effect) -> list[Reached]:
        """Return every path that an effect may reach, also through reads and params that a plan does not show."""
        found = [each for key in effect.values for each in self._paths_of(effect, key)]
        for key, field in effect.step.interface.params.items():
            if field.type.is_path and key not in effect.values:
                if field.env and os.environ.get(field.env):
                    found.append((key, None, f"from the environment's {field.env}"))
                else:
                    found += [(key, path, "") for path in _paths(field.default)]
        return found

    def _paths_of(self, effect: Effect, key: str) -> list[Reached]:
        field, is_inner = effect.step.interface.reads.get(key), len(effect.ids) > 1
        is_bare = self.has_stdin and (is_inner or (field is not None and "explicit" not in field.marks))

        def values(key: str) -> list[str]:
            origins = effect.values.get(key, [])
            found = [each for origin in origins for each in self._values(origin, is_bare, is_inner)]
            return [path for value in found for path in _paths(value)]

        try:
            paths = values(key)
            if key == "pattern":
                paths = [_folder(os.path.join(each, path)) for path in paths for each in values("directory") or ["."]]
            elif key == "at":
                paths = [path.rpartition("=")[0] for path in paths]
            elif key == "repo":
                paths = [_git_directory(path) for path in paths]
        except _Unknown as unknown:
            return [(key, None, f"from {unknown}")]
        return [(key, path, "") for path in paths]

    def _values(self, origin: Origin, is_bare: bool, is_inner: bool) -> list[Any]:
        """Return the values that an origin may have. With `is_bare`, the incoming store may have another one.

        Raises _Unknown.
        """
        kind, of = origin["from"], origin.get("of", [])
        if kind == "constant" or (kind in ("default", "param") and not is_bare and not of):
            return [origin["value"]]
        if kind == "latest" or (kind == "param" and not is_bare):
            return [value for each in of for value in self._values(each, is_bare, is_inner)]
        if kind == "input":
            return self._of_input(origin)
        known = {each["path"]: self._of_input(each) for each in of if each["from"] == "input"}
        if kind == "template" and not is_inner and len(known) == len(of) and all(known.values()):
            text = origin["text"]
            return [expand(text.removeprefix(TEMPLATE), lambda path: known[write_path(path)][0])]
        raise _Unknown(origin_text(origin))

    def _of_input(self, origin: Origin) -> list[Any]:
        """Return an input's value; [] if it is unset, so that the next origin counts."""
        name = origin.get("input", "")
        wanted = self.wired.inputs.get(name)
        if wanted is None or origin["path"] != name:
            raise _Unknown(origin_text(origin))
        if name in self.values:
            return [self.values[name]]
        if wanted.required or "pipe" in origin or (self.has_stdin and wanted.step is None):
            raise _Unknown(f"{origin_text(origin)}, which has no value")
        return []

    def _of_path(self, effect: Effect, key: str, path: str | None, why: str) -> Iterator[Refusal]:
        does, allowed, step = _FILES.get(effect.name, "reads"), self.allowed, effect.step_path
        real = allowed.real_path(os.path.expanduser(path)) if path is not None else None
        shown = shorten(clean(path or ""), _LONGEST)
        if does == "writes" and path is not None and allowed.real_path(path) in self.programs:
            # That step would run the text that is written, whatever the interface of its node says.
            yield Refusal(step, f"writes '{shown}', which a step of this flow runs", COMMANDS)
        if allowed.allows(PATHS):
            return
        if path is None:
            is_held = _is_opened_by_pflow(effect.step)
            if not (is_held and allowed.bounds.folders):
                word = "DIR" if is_held else PATHS
                yield Refusal(step, f"{does} a file that is not known yet: {key} {why}", word)
        elif fault := allowed.fault_of(path, writes=does == "writes"):
            yield Refusal(step, f"{does} '{shown}': {fault}", PATHS if fault == OWN else _word_for(real))


def _programs(wired: WiredFlow, allowed: Allowed) -> set[str]:
    """Return the files that the steps of a flow start as programs."""
    files = (allowed.real_path(step.node_type.file) for step in wired.all_steps() if step.node_type is not None)
    return {file for file in files if file}


def bounds_text(wired: WiredFlow, allowed: Allowed) -> str:
    """Return the bounds of a flow's run (pflow.files.beneath) as text; empty if it may use any path."""
    if allowed.allows(PATHS):
        return ""
    allowed.bounds.programs = [] if allowed.allows(COMMANDS) else sorted(_programs(wired, allowed))
    return json.dumps(vars(allowed.bounds))


def _is_opened_by_pflow(step: WiredStep) -> bool:
    """Return True if pflow itself opens all files of a step, so that it can keep them within the bounds."""
    is_bundled = step.node_type is not None and step.node_type.origin == BUNDLED
    return is_bundled and "repo" not in step.interface.reads and "runs commands" not in step.interface.effects


def _git_directory(path: str) -> str:
    """Return the .git of a directory, or of the nearest parent directory that has one."""
    folder = os.path.realpath(os.path.expanduser(path))
    while not os.path.lexists(os.path.join(folder, ".git")):
        if folder == (folder := os.path.dirname(folder)):
            return os.path.join(path, ".git")
    return os.path.join(folder, ".git")


def _word_for(real: str | None) -> str:
    """Return the word of --allow for a path, the narrowest one: its directory, or the path if it is a directory."""
    folder = real if real and os.path.isdir(real) else os.path.dirname(real or "")
    if not folder or folder == "/" or len(folder) > _LONGEST or not folder.isprintable():
        return PATHS
    return shlex.quote(folder)


def _paths(value: Any) -> list[str]:
    if value is None or value is False or value == "":
        return []
    if isinstance(value, list):
        return [path for each in value for path in _paths(each)]
    if isinstance(value, bytes):
        return [os.fsdecode(value)]
    if not isinstance(value, str):
        raise _Unknown(f"a value that is not a path: {origin_text({'from': 'constant', 'value': value})}")
    return [value]


def _folder(pattern: str) -> str:
    """Return the directory that a pattern searches, followed by the pattern's last part if that finds hidden names.

    Raises _Unknown if the pattern could follow a link out of that directory.
    """
    parts = pattern.split("/")
    first = next((at for at, part in enumerate(parts) if set("*?[") & set(part)), None)
    if first is None:
        return pattern
    if parts[-1] == ".." or any(part != "**" for part in parts[first:-1]):
        raise _Unknown("a pattern that leads through directories it does not name")
    folder = "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")
    return os.path.join(folder, parts[-1]) if parts[-1].startswith(".") else folder
