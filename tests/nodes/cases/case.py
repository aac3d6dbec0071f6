"""A case of a node: what it is given and what it writes, wherever it runs.

Each file beside this one is a room, with a list CASES. A case is tried by itself in a shell pipe, in a flow, in a batch
and under plain pocketflow (tests/stage/test_visit.py); `pflow test-node` gets the flags of a node's first case
(tests/conformance/). For a node without a server this is all:

    Case("read-file", ["--path={here}/a.txt"], files={"a.txt": "hello"}, writes={"content": "hello"})
    Case("join-text", ["--separator=-"], pipe=["a", "b"], writes={"text": "a-b"})
    Case("load-json", ["--path={here}/bad.json"], files={"bad.json": "{"}, exit=65)

A repository or a server is made by a context manager, which yields variables; `{NAME}` stands for one of them:

    @contextmanager
    def web(here):
        with WebServer() as server:
            yield {"WEB": server.url}

    Case("http", ["{WEB}/hello"], around=web, writes={"body": "hello", "status": 200, "headers": ANY})
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import ANY  # noqa: F401 - rooms take it from here

NOTHING = object()


def nothing_around(here: Path) -> AbstractContextManager[Mapping[str, str]]:
    return nullcontext({})


@dataclass(frozen=True)
class Case:
    """In `flags`, `pipe`, `store` and `writes`, `{here}` is the case's own directory, in which the node runs too."""

    node: str
    flags: Sequence[str] = ()
    """Words after the node's name, without templates and common flags. A batch needs one read, here or in the pipe."""
    pipe: Any = NOTHING
    """What comes to the [pipe] read."""
    store: Mapping[str, Any] = field(default_factory=dict)
    """Other keys that are in the store."""
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    """Files in the directory."""
    around: Callable[[Path], AbstractContextManager[Mapping[str, str]]] = nothing_around
    """What else has to be there; it is given the directory, and yields variables of the environment."""
    writes: Mapping[str, Any] = field(default_factory=dict)
    """Every key that the node writes, with its value; ANY for one that differs each time."""
    left: Mapping[str, str | bytes | None] = field(default_factory=dict)
    """Files that it leaves in the directory; None for one that is gone."""
    action: str = "default"
    exit: int = 0
    """The exit code, for what is refused: then nothing is written."""
    once: bool = False
    """Whether a second time gives something else: then the batch has one item."""
    words: Sequence[str] | None = None
    """The words for `pflow test-node`, which fills other reads with values of their types; without them the flags.

    It runs the node in a directory that has only sample.txt and folder/other.txt; `{here}` leads to the case's own.
    """

    @contextmanager
    def laid_out(self, here: Path) -> Iterator[Mapping[str, str]]:
        """With its files in a new directory, and what has to be around it; the variables."""
        here.mkdir()
        for name, content in self.files.items():
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with self.around(here) as variables:
            yield variables


def filled(value: Any, variables: Mapping[str, str]) -> Any:
    """A value with each {NAME} in its texts replaced."""
    if isinstance(value, str):
        for name, text in variables.items():
            value = value.replace(f"{{{name}}}", text)
    if isinstance(value, dict):
        return {key: filled(each, variables) for key, each in value.items()}
    return [filled(each, variables) for each in value] if isinstance(value, list | tuple) else value


def load_cases() -> dict[str, Case]:
    """The cases of every room; the second of a node is called NODE-2."""
    rooms = sorted(file.stem for file in Path(__file__).parent.glob("*.py") if file != Path(__file__))
    found: dict[str, Case] = {}
    for case in (case for room in rooms for case in importlib.import_module(f"tests.nodes.cases.{room}").CASES):
        nth = sum(each.node == case.node for each in found.values()) + 1
        found[case.node if nth == 1 else f"{case.node}-{nth}"] = case
    return found
