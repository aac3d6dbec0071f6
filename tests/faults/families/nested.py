"""Maps whose items ask models in processes of their own, at any depth: all are heard, also when one of them dies."""

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.faults.points import Point, series, spread
from tests.faults.programs import children, end_of, run, run_warm, send, start, wait_for

NEEDS: tuple[str, ...] = ()
WEIGHT = 30

NODE = '''
from pflow import Node
from pflow.values.usage import Call


class AskOne(Node):
    """Ask a model that takes one question at a time.

    Interface:
    - Reads: shared["text"]: any [pipe]  # the question
    - Writes: shared["said"]: any [pipe]  # the answer
    - Effects: network
    - Repeats: yes
    """

    tells_budget = True

    def prep(self, shared):
        return shared["text"]

    def exec(self, text):
        import os
        import time

        with Call(self.calls, "m"):
            with open("log", "a") as log:
                log.write("asked\\n")
            time.sleep(float(os.environ.get("NAP", 0)))
        return text

    def post(self, shared, text, said):
        shared["said"] = said
'''
EDGES = [dict(zip(("from", "to"), each.split(), strict=True)) for each in ("a b", "a c", "b d", "c d")]
MAPPINGS = {id: {"input_mappings": {"text": f"{source}.said"}} for id, source in (("b", "a"), ("c", "a"), ("d", "b"))}
FORK = {"nodes": [{"id": id, "type": "ask-one"} for id in "abcd"], "edges": EDGES, "mappings": MAPPINGS}
EACH = "ask-one --each --jobs=2"
SHAPES = {
    "each": (f"shell 'seq 3' --repeats => {EACH}", ["1", "2", "3"], 3),
    "group": ("shell 'seq 2' --repeats => ( ask-one => ask-one ) --each --jobs=2", ["1", "2"], 4),
    "deep": (f"shell 'seq 2' --repeats => ( shell 'seq 2' --repeats => {EACH} ) --each --jobs=2", [["1", "2"]] * 2, 4),
    "fork": ("fork.pflow.json", None, 4),
}
"""A flow, what it says of each item (None: the item), and how often it asks for one."""
ITEMS = ["a", "b", "c"]


def points(share: int, seed: int) -> Iterator[Point]:
    import pflow.map.execution  # noqa: F401  # once, before the forks

    return spread(
        share, *(series(f"nested/{kind}", SHAPES, seed, partial(check, kind)) for kind in ("undisturbed", "killed"))
    )


def check(kind: str, directory: Path, shape: str, chances: random.Random) -> None:
    """An item ends well, or with the process that was killed; then the map goes on to the same rows."""
    flow, said, asks = SHAPES[shape]
    Path("ask_one.py").write_text(NODE)
    Path("fork.pflow.json").write_text(json.dumps({"pflow": 1, "inputs": {"text": {"type": "any"}}, **FORK}))
    Path("items").write_text("".join(f"{each}\n" for each in ITEMS))
    os.environ["PFLOW_NODES"] = str(Path.cwd())
    words = ("pflow", "map", flow, "items", "--from=lines", f"--jobs={chances.choice((1, 2, 3))}", "--ledger=l.db")
    if kind == "killed":
        process = start(*words, NAP="0.1")
        wait_for(lambda: Path("log").exists() and grandchildren(process.pid))
        time.sleep(chances.uniform(0, 0.2))
        for each in grandchildren(process.pid)[:1]:
            send(each, signal.SIGKILL)
        end_of(process)
        Path("log").unlink()
    ended = run_warm(*words, "--failed") if kind == "killed" else run(*words)
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert rows == [{"item": item, "said": said or item} for item in ITEMS], ended
    assert kind == "killed" or len(Path("log").read_text().split()) == asks * len(ITEMS)


def grandchildren(pid: int) -> list[int]:
    """List the processes that work for the items' own, which wait for them."""
    return [each for worker in children(pid) for child in children(worker) for each in (children(child) or [child])]
