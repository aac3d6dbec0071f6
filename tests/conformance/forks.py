"""The checks of pflow's own nodes, each run a fork of a small process that has the libraries: llm's take 0.4 s a run.

python -m tests.conformance.forks takes lines of JSON: a node, ids of checks, flags, variables. For each it prints what
came instead, by the ids of the checks that failed.
"""

from __future__ import annotations

import json
import os
import sys

from pflow.conformance.conduct import CHECKS, FAILED, conduct
from pflow.conformance.trial import TestedNode, find_node
from pflow.node import load_bundled
from pflow.process import children
from tests.peers.warm import become, load


def failed(name: str, ids: list[str], words: list[str], timeout: int = 60) -> dict[str, str]:
    """What came instead, by the ids of the checks that failed."""
    node = find_node(name)
    fork_runs(node)
    verdicts = conduct(node, words, [check for check in CHECKS if check.id in ids], timeout)
    return {each.check.id: each.failed.came for each in verdicts if each.result == FAILED}


def fork_runs(node: TestedNode) -> None:
    """Let the runs of a bundled node be forks, but those under another program and in another environment."""
    getattr(load_bundled(node.name), "warm", lambda: None)()
    load()
    spawn = children.spawn

    def fork(argv: list[str], files: list[int], env: dict[str, str], directory: str | None, restrict: None) -> int:
        if argv[0] != node.argv[0] or env.get("TZ") != os.environ.get("TZ"):
            return spawn(argv, files, env, directory)
        pid = os.fork()
        if pid == 0:
            os.setsid()
            become(argv, files, env, directory)
        return pid

    children.spawn = fork


if __name__ == "__main__":
    spawn = children.spawn
    for line in sys.stdin:
        name, ids, words, variables = json.loads(line)
        os.environ.clear()
        os.environ.update(variables)
        children.spawn = spawn
        print(json.dumps(failed(name, ids, words)), flush=True)
