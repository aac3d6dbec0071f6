"""A node under test, its runs for the checks, and the table of all checks."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pflow.catalog.find import BUNDLED, FLOW, launcher
from pflow.catalog.lines import find
from pflow.catalog.node_type import program_interface
from pflow.conformance.samples import OutputDocument, Samples, Skipped, document, same
from pflow.conformance.sandbox import NodeRun
from pflow.errors import BAD_DATA, DENIED, MISSING, NOT_FOUND, USAGE, PflowError, reason_of
from pflow.flow.subflow import FlowCatalog
from pflow.interface.interface import ANYTHING, Field, Interface
from pflow.interface.source import read_interface, source_version


@dataclass
class TestedNode:
    """A node's name, its file, and the command that starts it (`argv`).

    `fault` says why its interface cannot be read; then `interface` is an open one.
    """

    name: str
    file: str
    argv: list[str]
    interface: Interface = field(default_factory=Interface)
    version: str = ""
    fault: str = ""


def find_node(path: str) -> TestedNode:
    """Find the node that a path or a bare name means.

    Raises PflowError: 2 for a flow, 66 for a missing file, 77 for one that is not executable, 65 for one that cannot be
    a node, 127 for an unknown name.
    """
    node = _of_file(path) if _is_path(path) else _of_name(path)
    is_program = not node.file.endswith(".py")
    try:
        node.interface = program_interface(node.file)[0] if is_program else read_interface(node.file)
        node.version = node.interface.version or ("" if is_program else source_version(node.file))
    except PflowError as error:
        node.fault = error.message
    except OSError as error:
        node.fault = f"cannot read '{error.filename}': {reason_of(error)}"
    return node


def _is_path(path: str) -> bool:
    return "/" in path or (os.path.isfile(path) and (path.endswith(".py") or path.startswith("pflow-")))


def _of_name(name: str) -> TestedNode:
    node_type = find(name.removeprefix("pflow-"), FlowCatalog())
    if node_type.origin == FLOW:
        raise PflowError(f"cannot test '{name}': it is a flow", hint=f"pflow check {name}", exit=USAGE)
    if node_type.origin == BUNDLED:
        return TestedNode(node_type.name, os.path.realpath(node_type.file), [_executable(f"pflow-{node_type.name}")])
    return _of_file(node_type.file)


def _of_file(path: str) -> TestedNode:
    file = os.path.abspath(path)
    if not os.path.isfile(file):
        what = "it is not a regular file" if os.path.lexists(file) else "there is no such file"
        raise PflowError(f"cannot test '{path}': {what}", exit=MISSING)
    folder, base = os.path.split(path)
    if base.endswith(".py"):
        return TestedNode(base[:-3].replace("_", "-"), file, [_executable("pflow"), file])
    if not base.startswith("pflow-") or base == "pflow-":
        hint = shlex.join(["mv", path, os.path.join(folder, "pflow-" + base)])
        what = f"cannot test '{path}': a program that is a node is called pflow-NAME"
        raise PflowError(what, hint=hint, exit=BAD_DATA)
    if not os.access(file, os.X_OK):
        hint = shlex.join(["chmod", "+x", path])
        raise PflowError(f"cannot run '{path}': it is not executable", hint=hint, exit=DENIED)
    return TestedNode(base.removeprefix("pflow-"), file, [file])


def _executable(program: str) -> str:
    """Find one of pflow's executables: beside the running one, else on PATH."""
    found = launcher(program) or shutil.which(program)
    if found is None:
        raise PflowError(f"cannot find the executable '{program}'", hint="install pflow", exit=NOT_FOUND)
    return found


PATIENCE = 2
"""The number of runs without an end after which no other run is tried."""

ALIENS: dict[str, Any] = {
    "zebra": {"b": [1, None, {"a": True}], "a": ""},
    "Some key": ["of another node", 2.5],
    "émile": "naïve",
}
"""Keys that no node knows, which must pass through."""


@dataclass(frozen=True)
class Check:
    """A demand on nodes: its id, its text, the function that raises Failed or Skipped, and if it needs a good run."""

    id: str
    demand: str
    function: Callable[[Trial], None]
    of_good_run: bool


CHECKS: list[Check] = []


def check(id: str, demand: str, *, of_good_run: bool = True) -> Callable[[Callable[[Trial], None]], None]:
    """Add a function to the table of checks. With `of_good_run`, it is skipped for a node without a good run."""

    def enter(function: Callable[[Trial], None]) -> None:
        CHECKS.append(Check(id, demand, function, of_good_run))

    return enter


class Trial:
    """The trial of a node. `begun` has the runs so far. `given` are the user's words for runs that must succeed."""

    def __init__(
        self, node: TestedNode, given: list[str], place: Path, timeout: float, *, confined: bool = False
    ) -> None:  # fmt: skip
        """Raises PflowError (2) if the words do not fit the interface."""
        self.node, self.interface = node, node.interface
        self.confined = confined
        self.begun: list[NodeRun] = []
        self._place, self._timeout = place, timeout
        self._runs: dict[tuple[object, ...], NodeRun] = {}
        self._samples = None if node.fault or node.interface.open else Samples(node.interface, given)

    @property
    def samples(self) -> Samples:
        """The node's samples. Raises Skipped if it has no interface."""
        if self._samples is None:
            raise Skipped("there is no interface to go by (see interface)")
        return self._samples

    @property
    def pipe(self) -> Field | None:
        """The read that the pipe fills, if the node has one."""
        return self.interface.reads[self.samples.pipe] if self.samples.pipe else None

    def run(self, words: list[str], stdin: bytes | None, *, under: tuple[str, ...] = (), **more: Any) -> NodeRun:
        """Run the node, `under` another program; the same run is made once. Raises Skipped if too many did not end."""
        key = (tuple(words), stdin, under, repr(more))
        if key not in self._runs:
            if sum(run.code is None for run in self.begun) >= PATIENCE:
                raise Skipped(f"{PATIENCE} runs did not end by themselves")
            self._runs[key] = run = NodeRun([*under, *self.node.argv, *words], stdin, **more)
            run.confined, run.has_network = self.confined, self.may("network")
            run.start(self._place, self._timeout)
            self.begun.append(run)
        return self._runs[key]

    def may(self, *effects: str) -> bool:
        """Return True if the node declares one of these effects, or all."""
        return bool({*self.interface.effects} & {*effects, ANYTHING})

    def run_good(self, *words: str, stdin: bytes | None = None, **more: Any) -> NodeRun:
        """Run the node with all that it needs, and more words."""
        return self.run([*self.samples.words_without(), *words], stdin or self.document(), **more)

    def run_without(self, field: Field, *words: str) -> NodeRun:
        """Run the node with all that it needs but one read or param; more words may give it."""
        return self.run([*self.samples.words_without(field.name), *words], self.document(without=field.name))

    def document(self, around: Mapping[str, Any] = ALIENS, *, without: str | None = None, **header: Any) -> bytes:
        """Return a document with which the node should succeed, with other keys around its own, `without` one read."""
        last = None if self.samples.pipe == without else self.samples.pipe
        sent = {key: value for key, value in self.members_among(around).items() if key != without}
        return document(sent, last, **header)

    def members_among(self, around: Mapping[str, Any] = ALIENS) -> dict[str, Any]:
        """Return the members of the node's document, between the first of the keys `around` them and the rest."""
        return {**dict(list(around.items())[:1]), **self.samples.members, **around}

    def run_by_flags(self, stdin: bytes | None, *, without: str | None = None, apart: bool = False) -> NodeRun:
        """Run the node with every value as a flag, `without` one read. Raises Skipped if a value has no flag."""
        return self.run(self.samples.all_words(without=without, apart=apart), stdin)

    @property
    def good(self) -> NodeRun:
        return self.run_good()

    @property
    def again(self) -> NodeRun:
        """A second good run."""
        return self.run_good(environment={"AGAIN": "1"})

    @property
    def answer(self) -> OutputDocument:
        """The node's answer in the good run. Raises Skipped if that fails."""
        good = self.good
        if good.code != 0 or good.answer.fault or good.answer.error:
            raise Skipped("it does not run (see runs)")
        return good.answer

    @property
    def is_steady(self) -> bool:
        """True if the node answers the same twice, which a model may not."""
        return same(self.again.writes(self.interface.writes), self.good.writes(self.interface.writes))

    def expect_agreement(self, run: NodeRun, change: str, expected: str = "the same as from the store") -> None:
        """Raise Failed unless a run wrote the same keys as the good run and, if the node is steady, the same values."""
        run.expect_answer(change)
        good, other = self.good.writes(self.interface.writes), run.writes(self.interface.writes)
        if good.keys() == other.keys() and (run is not self.again and not self.is_steady):
            return
        for key in {**good, **other}:
            if not same(good.get(key), other.get(key)):
                run.fail(f"{key}: {other.get(key)!r:.100}", f"{good.get(key)!r:.100}, {expected}", change)
