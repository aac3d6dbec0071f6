"""What GitHub itself says of its interface, as a mock server by prism, against every request of the github nodes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pflow.catalog.registry import load_bundled
from pflow.errors import BAD_DATA, PflowError
from pflow.kit.github.client import Client
from pflow.node import STEP_KEY, declared_interface
from tests.tools import need

HERE = Path(__file__).parent
PRISM = Path(os.environ.get("PRISM") or HERE.parents[2] / "build" / "prism" / "node_modules")

# What each node is given: its reads, then its params.
ASKED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("get-issue", {"issue_number": 1}, {}),
    ("list-issues", {}, {"labels": ["bug", "ui"], "state": "all", "since": "2026-11-01", "limit": 3}),
    ("get-pr", {"pr_number": 1}, {}),
    ("list-prs", {}, {"state": "closed"}),
    ("list-prs", {}, {"since": "2026-11-01", "labels": ["bug"], "limit": 3}),
    *(("search", {"query": "hang"}, {"kind": kind}) for kind in ("issues", "prs", "repositories", "code", "commits")),
    ("add-comment", {"issue_number": 1, "body": "Thanks"}, {}),
    ("create-issue", {"title": "A hang", "body": "It hangs."}, {"labels": ["bug"]}),
    ("create-pr", {"title": "Mend it", "body": "It hangs no more."}, {"head": "fix", "draft": True}),
]


@contextmanager
def prism() -> Iterator[str]:
    """GitHub by its description: it refuses what that does not allow, and answers with values of the right shapes."""
    need("node")
    program = PRISM / "@stoplight" / "prism-cli" / "dist" / "index.js"
    if not program.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("prism is not here (PRISM): .ci/run brings it")
    words = ["mock", "--dynamic", "--seed=pflow", "--port=0", "--verboseLevel=info", str(HERE / "openapi.json")]
    with subprocess.Popen(
        ["node", program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as made:
        assert made.stdout
        try:
            said = next(filter(None, (re.search(r"listening on (http://\S+:\d+)", line) for line in made.stdout)))
            yield said[1]
        finally:
            made.send_signal(signal.SIGKILL)


def test_github_takes_every_request_and_its_answers_are_understood(monkeypatch):
    # One test: each would start a server of its own.
    with prism() as url:
        monkeypatch.setenv("GITHUB_API_URL", url)
        monkeypatch.setenv("GITHUB_TOKEN", "a key")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        for path in ("issues", "issues/1/comments", "pulls"):
            with pytest.raises(PflowError) as caught:
                Client("cannot try").post(f"/repos/owner/repo/{path}", {"body": 1}, repeats=False)
            assert caught.value.exit == BAD_DATA, "prism looks at nothing"
        monkeypatch.setenv(STEP_KEY, "a" * 64)  # what is made is looked for first
        for name, shared, params in ASKED:
            assert misfits(name, {"repo": "owner/repo", **shared}, params) == [], name


def misfits(name: str, shared: dict[str, Any], params: dict[str, Any]) -> list[str]:
    """Those of a node's writes that are not of their types."""
    node = load_bundled(f"github-{name}")()
    node.set_params(params)
    node.run(shared)
    writes = declared_interface(type(node)).writes
    return [key for key, item in writes.items() if not item.type.takes(shared.get(key))]
