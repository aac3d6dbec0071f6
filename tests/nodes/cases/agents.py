"""The cases of claude-code, with a program that has its output."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.nodes.cases.case import Case

PEER = Path(__file__).parent.parent.parent / "peers" / "claude"


@contextmanager
def claude(here: Path) -> Iterator[Mapping[str, str]]:
    yield {"PATH": f"{PEER}:{os.environ['PATH']}", "CLAUDE_PEER": "write"}


@contextmanager
def denied(here: Path) -> Iterator[Mapping[str, str]]:
    yield {"PATH": f"{PEER}:{os.environ['PATH']}", "CLAUDE_PEER": "denied"}


CASES = [
    Case(
        "claude-code",
        ["Plant a tree"],
        around=claude,
        writes={
            "report": "Done.",
            "session": "5e55-10n",
            "cost": 0.01,
            "usage": {"model": "claude-opus-4-8", "input": 142, "output": 20, "cost": 0.01},
            "changed_files": ["tree.txt"],
        },
        left={"tree.txt": "Oak\n"},
    ),
    Case("claude-code", ["Plant a tree"], around=denied, exit=77),
]
