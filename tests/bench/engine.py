"""What a step costs in the engine, against plain pocketflow; and ten branches at once. Prints JSON for `speed.py`."""

import json
import os
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

STEPS = 1000
BRANCHES, WAIT = 10, 0.5

NODES = {
    "tick": '''
from pflow import Node


class Tick(Node):
    """Count.

    Interface:
    - Reads: shared["n"]: any  # so far
    - Writes: shared["n"]: any  # one more
    - Params: by: int = 1  # how many
    """

    def prep(self, shared):
        return shared["n"]

    def exec(self, n):
        return n + self.params["by"]

    def post(self, shared, prepared, result):
        shared["n"] = result
''',
    "wait": '''
import time

from pocketflow import Node


class Wait(Node):
    """Wait.

    Interface:
    - Writes: shared["waited"]: any  # how long
    - Params: seconds: float = 0
    """

    def exec(self, prepared):
        time.sleep(self.params["seconds"])
        return self.params["seconds"]

    def post(self, shared, prepared, result):
        shared["waited"] = result
''',
}


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in NODES.items():
            (Path(scratch) / f"{name}.py").write_text(text)
        os.environ["PFLOW_NODES"] = scratch
        print(json.dumps({**measure_steps(Path(scratch), rounds), "branches": measure_branches()}))


def measure_steps(scratch: Path, rounds: int) -> dict[str, float]:
    """CPU seconds of 1,000 steps: as plain pocketflow, in the engine by name, and mapped with a trace on disk."""
    import pocketflow

    import pflow.node  # noqa: F401 - pocketflow without asyncio
    from pflow.engine.context import Context
    from pflow.engine.engine import Engine

    wired = _steps(mapped=False)
    engine = Engine(wired, Context())
    log = os.open(scratch / "trace.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    traced = Engine(_steps(mapped=True), Context(write=lambda lines: _write(log, lines)))
    tick: Any = wired.steps["s0"].node_type
    nodes = [tick.node_class()() for _ in range(STEPS)]
    for before, after in pairwise(nodes):
        before >> after
    plain = pocketflow.Flow(start=nodes[0])
    samples: dict[str, list[float]] = {"pocketflow": [], "engine": [], "traced": []}
    for _ in range(rounds):
        samples["pocketflow"].append(_timed(plain, {"n": 0}))
        for name, each, store in (("engine", engine, {"n": 0}), ("traced", traced, {"a": {"n": 0}})):
            each.context.visits.clear()
            samples[name].append(_timed(each, store))
    return {name: statistics.median(times) for name, times in samples.items()}


def _write(fd: int, lines: bytes) -> None:
    os.write(fd, lines)


def _steps(*, mapped: bool) -> Any:
    from pflow.flow.flow import Edge, FlowSpec, Step
    from pflow.flow.wiring import wire

    mapping = {"n": "a.n"} if mapped else {}
    ids = [f"s{number}" for number in range(STEPS)]
    steps = [Step(id, "tick", input_mappings=dict(mapping), output_mappings=dict(mapping)) for id in ids]
    return wire(FlowSpec(steps, [Edge(*pair) for pair in pairwise(ids)]))


def _timed(flow: Any, store: dict[str, Any]) -> float:
    began = time.process_time()
    flow.run(store)
    return time.process_time() - began


def measure_branches() -> float:
    """Seconds on the clock for ten branches that each wait half a second."""
    from pflow.engine.context import Context
    from pflow.engine.engine import Engine
    from pflow.flow.flow import Edge, FlowSpec, Step
    from pflow.flow.wiring import wire

    ids = [f"b{number}" for number in range(BRANCHES)]
    steps = [Step(id, "wait", params={"seconds": WAIT}, output_mappings={"waited": f"{id}.waited"}) for id in ids]
    steps.insert(0, Step("start", "wait", output_mappings={"waited": "start.waited"}))
    engine = Engine(wire(FlowSpec(steps, [Edge("start", id) for id in ids])), Context())
    began = time.perf_counter()
    engine.run({})
    return time.perf_counter() - began


if __name__ == "__main__":
    main(int(sys.argv[1]))
