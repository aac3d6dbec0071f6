"""Each node gives the same by itself in a shell pipe, in a flow, in a batch and under plain pocketflow."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pflow.catalog.registry import bundled_names, load_bundled
from pflow.conformance.samples import OutputDocument, Samples, document, read_answer
from pflow.errors import PflowError
from pflow.node import declared_interface
from pflow.stage.flags import parse_flags
from tests.nodes.cases.case import NOTHING, Case, filled, load_cases

BIN = Path(sys.executable).parent
CASES = load_cases()


class Tried:
    """A case in a directory of its own, and the ways to run it."""

    def __init__(self, case: Case, folder: Path, variables: Mapping[str, str]) -> None:
        names = {**variables, "here": str(folder)}
        self.case, self.folder = case, folder
        self.node = load_bundled(case.node)
        self.interface = declared_interface(self.node)
        self.flags, self.store, self.expected = (filled(each, names) for each in (case.flags, case.store, case.writes))
        flags = parse_flags(list(self.flags), self.interface)
        self.params = {name: flag.value for name, flag in flags.params.items()}
        self.data = {name: flag.value for name, flag in flags.data.items()}
        self.piped = {}
        if case.pipe is not NOTHING:
            assert self.interface.pipe_read, "something is in the pipe, and no read of the node is [pipe]"
            self.piped = {self.interface.pipe_read.name: filled(case.pipe, names)}

    def start(self, *words: str, stdin: bytes | None) -> OutputDocument:
        """Run a program; the document that it printed."""
        given: Any = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        program = [str(BIN / words[0]), *words[1:], "-j"]
        done = subprocess.run(program, cwd=self.folder, capture_output=True, timeout=60, check=False, **given)
        assert done.returncode == self.case.exit, done.stderr.decode()
        answer = read_answer(done.stdout)
        assert isinstance(answer, OutputDocument), f"{answer}: {done.stderr.decode()}"
        return answer

    def stdin(self) -> bytes | None:
        """Raw where the pipe carries a text and nothing else is in the store, else a document."""
        carried = next(iter(self.piped.values()), None)
        if isinstance(carried, str | bytes) and not self.store:
            return carried.encode() if isinstance(carried, str) else carried
        return (
            document({**self.store, **self.piped}, next(iter(self.piped), None)) if self.store or self.piped else None
        )

    def written(self, members: Mapping[str, Any]) -> dict[str, Any]:
        return {key: members[key] for key in self.interface.writes if key in members and not self.case.exit}


def alone(tried: Tried) -> dict[str, Any]:
    answer = tried.start(f"pflow-{tried.case.node}", *tried.flags, stdin=tried.stdin())
    assert answer.action == tried.case.action
    return tried.written(answer.members)


def in_a_flow(tried: Tried) -> dict[str, Any]:
    line = shlex.join([tried.case.node, *tried.flags])
    return tried.written(tried.start("pflow", "run", line, stdin=tried.stdin()).members)


def in_a_batch(tried: Tried) -> dict[str, Any]:
    """What it wrote for the first of two items, the second of which gives the same.

    An item is what the pipe would bring, else the value of the first flag.
    """
    assert tried.piped or tried.data, "a batch needs a read: give one by a flag"
    key, item = next(iter({**tried.piped, **tried.data}.items()))
    items = [item] * (1 if tried.case.once else 2)
    words = Samples(tried.interface, list(tried.flags)).words_without(key)
    line = shlex.join([tried.case.node, *words, "--each=items", f"--as={key}"])
    answer = tried.start("pflow", "run", line, stdin=document({**tried.store, "items": items}))
    written = tried.written(answer.members)
    assert written == {key: [tried.expected.get(key)] * len(items) for key in written}
    return {key: values[0] for key, values in written.items()}


def under_pocketflow(tried: Tried) -> dict[str, Any]:
    node, shared = tried.node(), {**tried.store, **tried.data, **tried.piped}
    node.set_params(tried.params)
    if tried.case.exit:
        with pytest.raises(PflowError) as caught:
            node.run(shared)
        assert caught.value.exit == tried.case.exit
    else:
        assert (node.run(shared) or "default") == tried.case.action
    return tried.written(shared)


@pytest.mark.parametrize("way", [alone, in_a_flow, in_a_batch, under_pocketflow], ids=lambda way: way.__name__)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_node_gives_the_same_everywhere(tmp_path, monkeypatch, case, way):
    folder = tmp_path / "here"
    with case.laid_out(folder) as variables:
        for name, value in {"HOME": str(tmp_path), **variables}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(folder)
        tried = Tried(case, folder, variables)
        assert way(tried) == tried.expected
    assert {name: content_of(folder / name) for name in case.left} == case.left


def test_every_node_has_a_case():
    assert {case.node for case in CASES.values()} == {*bundled_names()}


def content_of(file: Path) -> str | bytes | None:
    """A text, bytes where it is not UTF-8, None where nothing is there."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return file.read_bytes()
