"""The checks of pflow's own nodes, each run a fork of a small process that has the libraries: llm's take 0.4 s a run.

python -m tests.conformance.forks takes lines of JSON: a node, ids of checks, flags, variables. For each it prints what
came instead, by the ids of the checks that failed.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import sys
from pathlib import Path

from pflow.catalog.registry import load_bundled
from pflow.conformance import sandbox
from pflow.conformance.conduct import CHECKS, FAILED, conduct
from pflow.conformance.sandbox import EARLY, GONE, NodeRun
from pflow.conformance.trial import TestedNode, find_node
from pflow.process import signals
from pflow.process.children import Child, Pipes
from pflow.stage.main import main

LIBRARIES = (
    *("pflow.files.file_paths", "pflow.stage.output", "pflow.stage.stage", "pflow.stage.trace"),
    *("pflow.kit.github.client", "httpcore2", "anyio.streams.tls", "truststore"),
    *("openai.lib.streaming.chat", "openai.resources.chat.completions.completions", "genai_prices"),
)
"""What most runs would load."""


def failed(name: str, ids: list[str], words: list[str], timeout: int = 60) -> dict[str, str]:
    """What came instead, by the ids of the checks that failed."""
    node = find_node(name)
    fork_runs(node)
    verdicts = conduct(node, words, [check for check in CHECKS if check.id in ids], timeout)
    return {each.check.id: each.failed.came for each in verdicts if each.result == FAILED}


def fork_runs(node: TestedNode) -> None:
    """Let the runs of a bundled node be forks, but those under another program and in another environment."""
    getattr(load_bundled(node.name), "warm", lambda: None)()
    for module in LIBRARIES:
        importlib.import_module(module)
    gc.freeze()  # else a collection in a fork would copy the memory of all libraries
    start = NodeRun._start

    def fork(run: NodeRun, place: Path, pipes: Pipes) -> Child:
        if run.argv[0] != node.argv[0] or "TZ" in run.environment:
            return start(run, place, pipes)
        (place / "stdin").write_bytes(run.stdin or b"")
        pid = os.fork()
        if pid == 0:
            _be_the_node(node.name, run, place, pipes.theirs[1])
        return Child(pid, leads_session=True)

    NodeRun._start = fork


def _be_the_node(name: str, run: NodeRun, place: Path, pipe: int) -> None:
    """In the fork, where nothing of the test's may be open, held, or done at the end."""
    try:
        os.setsid()
        atexit._clear()
        signals._holders.clear()
        signal.set_wakeup_fd(-1)
        for fd, file in enumerate(["stdin", "stdout", "stderr"]):
            os.dup2(os.open(place / file if fd or run.stdin is not None else os.devnull, os.O_RDWR | os.O_CREAT), fd)
        if run.reader == EARLY:
            os.dup2(pipe, 1)
        os.closerange(3, 256)
        if run.reader == GONE:  # a pipe of its own: a fork beside this one may hold the other's reading end for a while
            reader, writer = os.pipe()
            os.dup2(writer, 1)
            os.closerange(reader, writer + 1)
        sys.stdin, sys.stdout, sys.stderr = (open(fd, mode, closefd=False) for fd, mode in enumerate("rww"))
        os.chdir(place / "work")
        environment = sandbox._environment(place)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv[:] = run.argv
        main(name)
    finally:
        os._exit(99)


if __name__ == "__main__":
    start = NodeRun._start
    for line in sys.stdin:
        name, ids, words, variables = json.loads(line)
        os.environ.clear()
        os.environ.update(variables)
        NodeRun._start = start
        print(json.dumps(failed(name, ids, words)), flush=True)
