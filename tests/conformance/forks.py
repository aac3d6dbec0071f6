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

from pflow.conformance.conduct import CHECKS, FAILED, conduct
from pflow.conformance.trial import TestedNode, find_node
from pflow.node import load_bundled
from pflow.process import children, signals
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
    spawn = children.spawn

    def fork(argv: list[str], files: list[int], env: dict[str, str], directory: str | None, restrict: None) -> int:
        if argv[0] != node.argv[0] or env.get("TZ") != os.environ.get("TZ"):
            return spawn(argv, files, env, directory)
        pid = os.fork()
        if pid == 0:
            _be_the_node(node.name, argv, files, env, directory)
        return pid

    children.spawn = fork


def _be_the_node(name: str, argv: list[str], files: list[int], env: dict[str, str], directory: str) -> None:
    """In the fork, where nothing of the test's may be open, held, or done at the end."""
    try:
        os.setsid()
        atexit._clear()
        signals._holders.clear()
        signal.set_wakeup_fd(-1)
        for fd, file in enumerate(files):
            os.dup2(file if file >= 0 else os.open(os.devnull, os.O_RDWR), fd)
        os.closerange(3, 256)
        sys.stdin, sys.stdout, sys.stderr = (open(fd, mode, closefd=False) for fd, mode in enumerate("rww"))
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(env)
        sys.argv[:] = argv
        main(name)
    finally:
        os._exit(99)


if __name__ == "__main__":
    spawn = children.spawn
    for line in sys.stdin:
        name, ids, words, variables = json.loads(line)
        os.environ.clear()
        os.environ.update(variables)
        children.spawn = spawn
        print(json.dumps(failed(name, ids, words)), flush=True)
