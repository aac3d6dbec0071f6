"""`make kills`: runs that are killed at every commit point, at random times, and night after night by a cron line.

Whatever comes between, `pflow resume` ends in the store of a run that nothing disturbed, what is done is done once, and
what may not repeat is never repeated unasked. Each step notes its PFLOW_STEP_KEY in a file: so its runs are counted.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from pathlib import Path
from typing import NamedTuple

PFLOW = str(Path(sys.executable).parent / "pflow")
KILLED = -9
NEEDS_WORD = 65
NOTHING_TO_DO = 1

NODE = '''
from pflow import Node


class Mark{name}(Node):
    """Note that it ran, and write what it read once more.

    Interface:
    - Reads: shared["text"]: any [pipe]  # what is handed on
    - Writes: shared["marked"]: any [pipe]  # the same, marked
    - Params: log: path = "log"  # where it notes it
    - Params: until: int = 0  # from this visit on its action is done
    - Actions: default, done
    - Effects: writes files
    - Repeats: {repeats}
    """

    def exec(self, prepared):
        import os

        with open(self.params["log"], "a") as log:
            log.write(f"{{self.step_key}}\\n")

    def prep(self, shared):
        return shared["text"]

    def post(self, shared, text, result):
        shared["marked"] = f"{{text}}'"
        return "done" if self.params["until"] and len(shared["marked"]) > self.params["until"] else None
'''

ITEMS = ["a", "b", "a", "c", "d"]


def _step(id: str, **more: object) -> dict[str, object]:
    return {"id": id, "type": "mark-KIND", **more}


def _edge(source: str, target: str, **more: str) -> dict[str, str]:
    return {"from": source, "to": target, **more}


def _wire(**sources: object) -> dict[str, object]:
    """Mappings of the one read of each step."""
    return {id: {"input_mappings": {"text": source}} for id, source in sources.items()}


INNER = {
    "pflow": 1,
    "inputs": {"text": {"type": "any", "required": True}},
    "outputs": {"marked": "second.marked"},
    "nodes": [_step("first"), _step("second")],
    "mappings": _wire(first="text", second="first.marked"),
}
"""The flow in the flows."""

FLOW = "./inner-KIND.pflow.json"
BATCH = {"over": "items", "as": "item", "jobs": 2}

FLOWS = {
    "batch": {
        "nodes": [_step("one"), _step("each", batch=BATCH), _step("last")],
        "mappings": _wire(one="seed", each="item", last="each.marked"),
    },
    "fork": {
        "nodes": [_step(id) for id in ("one", "left", "again", "right", "last")],
        "edges": [_edge(*pair.split()) for pair in ("one left", "left again", "one right", "again last", "right last")],
        "mappings": _wire(one="seed", left="one.marked", again="left.marked", right="one.marked", last="again.marked"),
    },
    "loop": {
        "nodes": [_step("one"), _step("turn", params={"until": 5}), _step("last")],
        "edges": [_edge("one", "turn"), _edge("turn", "turn"), _edge("turn", "last", action="done")],
        "mappings": _wire(one="seed", turn=["one.marked", "turn.marked"], last="turn.marked"),
    },
    "subflow": {
        "nodes": [_step("one", type=FLOW), _step("each", type=FLOW, batch=BATCH), _step("last")],
        "mappings": _wire(one="seed", each="item", last="each.marked"),
    },
}


class Ended(NamedTuple):
    """How a program ended, and what it printed."""

    code: int
    stdout: bytes
    stderr: str


class Scene:
    """A directory with the flows and their nodes, and a state of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "log"
        self.runs = directory / "XDG_STATE_HOME" / "pflow" / "runs"
        for name, repeats in (("Twice", "yes"), ("Once", "no")):
            (directory / f"mark_{name.lower()}.py").write_text(NODE.format(name=name, repeats=repeats))
            kind = name.lower()
            (directory / f"inner-{kind}.pflow.json").write_text(json.dumps(INNER).replace("KIND", kind))
            for flow, ir in FLOWS.items():
                whole = {"pflow": 1, "name": f"{flow}-{kind}", **ir}
                (directory / f"{flow}-{kind}.pflow.json").write_text(json.dumps(whole).replace("KIND", kind))
        forgotten = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PFLOW_STEP_KEY", "PFLOW_TRACE")
        self.environment = {name: value for name, value in os.environ.items() if name not in forgotten}
        own = {name: str(directory / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
        self.environment |= {**own, "HOME": str(directory), "PFLOW_NODES": str(directory)}

    def begin(self, words: Sequence[str], **variables: str) -> subprocess.Popen[bytes]:
        """Start pflow; it leads a process group, but no signal is sent to that."""
        return subprocess.Popen(
            [PFLOW, *words],
            cwd=self.directory,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *words: str, **variables: str) -> Ended:
        process = self.begin(words, **variables)
        stdout, stderr = process.communicate(timeout=60)
        return Ended(process.returncode, stdout, stderr.decode())

    def words(self, flow: str, seed: str = "s") -> list[str]:
        items = [f"--items={json.dumps(ITEMS)}"] if flow.startswith(("batch", "subflow")) else []
        return ["run", f"{flow}.pflow.json", f"--seed={seed}", *items]

    def ran(self) -> Counter[str]:
        """How often each visit and item ran, by its key."""
        return Counter(self.log.read_text().split()) if self.log.exists() else Counter()

    def forget(self) -> None:
        self.log.unlink(missing_ok=True)


def store_of(stdout: bytes) -> dict[str, object]:
    return {key: value for key, value in json.loads(stdout).items() if key != "$pflow"}


def check_resumed(scene: Scene, flow: str, undisturbed: Ended, visits: int, *, at_once: int) -> None:
    """Resume what was killed, and hold it to the promise. Raises AssertionError."""
    before = scene.ran()
    may_repeat = flow.endswith("twice")
    ended = scene.run("resume", "last", "-j")
    if ended.code == NOTHING_TO_DO:  # it was killed before its first step, or after its end
        assert len(before) in (0, visits), ended.stderr
        assert set(before.values()) <= {1}, before
        return
    asked: set[str] = set()
    if ended.code == NEEDS_WORD:
        assert not may_repeat, ended.stderr
        assert scene.ran() == before, "it ran something before it was told"
        asked = set(re.findall(r"--redo=([\w/-]+)", ended.stderr))
        assert asked, ended.stderr
        ended = scene.run("resume", "last", "-j", *(f"--redo={step}" for step in sorted(asked)))
    assert ended.code == 0, ended.stderr
    assert store_of(ended.stdout) == store_of(undisturbed.stdout), "another store"
    ran = scene.ran()
    assert len(ran) == visits, f"{len(ran)} visits and items ran, of {visits}"
    twice = [key for key, times in ran.items() if times > 1]
    assert all(ran[key] == 2 for key in twice), ran
    assert len(twice) <= (at_once if may_repeat or asked else 0), f"{len(twice)} ran again"


def undisturbed_run(scene: Scene, flow: str) -> tuple[Ended, int]:
    """What the flow gives, and how many visits and items run."""
    ended = scene.run(*scene.words(flow), "-j")
    assert ended.code == 0, ended.stderr
    ran = scene.ran()
    assert set(ran.values()) == {1}, ran
    scene.forget()
    return ended, len(ran)


def has_finished(process: subprocess.Popen[bytes], undisturbed: Ended) -> bool:
    """Whether a run that was to be killed, or one of its workers, had come to its end before."""
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode in (0, KILLED, 128 - KILLED), stderr
    assert process.returncode or store_of(stdout) == store_of(undisturbed.stdout)
    return process.returncode == 0


def kill_everywhere(directory: Path, flow: str, first: int = 1, by: int = 1) -> Iterator[str]:
    """Kill the run at each commit point in turn, or at some of them, and resume it; what was wrong."""
    scene = Scene(directory)
    undisturbed, visits = undisturbed_run(scene, flow)
    for passing in count(first, by):
        process = scene.begin([*scene.words(flow), "-j"], PFLOW_TESTING="1", PFLOW_FAILPOINT=f"*:{passing}")
        if has_finished(process, undisturbed):
            return
        yield from _resume(scene, flow, undisturbed, visits, f"commit point {passing}")


def _resume(scene: Scene, flow: str, undisturbed: Ended, visits: int, where: str) -> Iterator[str]:
    try:
        if any(scene.runs.glob("*/journal.jsonl")):  # else it was killed before it began
            check_resumed(scene, flow, undisturbed, visits, at_once=2)
    except AssertionError as wrong:
        yield f"{flow}, killed at {where}: {wrong}"
    scene.forget()
    shutil.rmtree(scene.runs, ignore_errors=True)


def kill_at_random(directory: Path, flow: str, times: int, seed: int) -> Iterator[str]:
    """Kill the run after a random time, and resume it; what was wrong."""
    scene, dice = Scene(directory), random.Random(f"{flow} {seed}")
    began = time.monotonic()
    undisturbed, visits = undisturbed_run(scene, flow)
    longest = (time.monotonic() - began) * 1.1
    for _ in range(times):
        pause = dice.uniform(0, longest)
        process = scene.begin([*scene.words(flow), "-j"])
        time.sleep(pause)
        process.kill()
        if has_finished(process, undisturbed):
            scene.forget()
            continue
        yield from _resume(scene, flow, undisturbed, visits, f"{pause * 1000:.0f} ms")


def nights(directory: Path, flow: str, times: int, seed: int) -> Iterator[str]:
    """A cron line, `pflow run --resume FLOW -q`, killed at a random time of each night and started again.

    What may not repeat and was under way is told to be done again, as a person would after a look.
    """
    scene, dice = Scene(directory), random.Random(f"nights {seed}")
    began = time.monotonic()
    _, visits = undisturbed_run(scene, flow)
    longest = time.monotonic() - began
    for night in range(times):
        line = [*scene.words(flow, f"night {night}"), "--resume", "-q"]
        process = scene.begin(line)
        time.sleep(dice.uniform(0, longest))
        process.kill()
        process.communicate()
        if process.returncode != KILLED:
            scene.forget()  # it had been done before, and another time would do it again
            continue
        before = scene.ran()
        ended = scene.run(*line)
        asked = set(re.findall(r"--redo=([\w/-]+)", ended.stderr)) if ended.code == NEEDS_WORD else set()
        if asked:
            assert not flow.endswith("twice"), ended.stderr
            assert scene.ran() == before, "it ran something before it was told"
            ended = scene.run("resume", "last", "-q", *(f"--redo={step}" for step in sorted(asked)))
        ran = scene.ran()
        again = sum(ran.values()) - len(ran)
        is_done_before = len(before) == visits and len(ran) == 2 * visits  # the kill came after the end
        if (
            ended.code
            or not (len(ran) == visits or is_done_before)
            or again > (2 if flow.endswith("twice") or asked else 0)
        ):
            last = ended.stderr.strip().rpartition("\n")[2]
            yield f"{flow}, night {night}: exit {ended.code}, {len(ran)} of {visits} ran, {again} again: {last}"
        scene.forget()


def _work(kind: str, flow: str, times: int, seed: int) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="pflow-kills-") as place:
        directory = Path(place)
        if kind == "everywhere":
            return list(kill_everywhere(directory, flow))
        return list((kill_at_random if kind == "random" else nights)(directory, flow, times, seed))


def main() -> int:
    parser = argparse.ArgumentParser(prog="make kills", description=__doc__)
    parser.add_argument("--times", type=int, default=300, help="how many random kills in all")
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    chosen = parser.parse_args()
    names = [f"{flow}-{kind}" for flow in FLOWS for kind in ("twice", "once")]
    tasks = [("everywhere", name, 0) for name in names]
    tasks += [("random", name, -(-chosen.times // len(names))) for name in names]
    tasks += [("nights", name, chosen.nights // 2) for name in ("batch-twice", "subflow-once")]
    print(f"seed {chosen.seed}")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        results = [pool.submit(_work, kind, flow, times, chosen.seed) for kind, flow, times in tasks]
        found = []
        for (kind, flow, _), result in zip(tasks, results, strict=True):
            wrong = result.result()
            print(f"{kind:11} {flow:14} {'ok' if not wrong else f'{len(wrong)} WRONG'}")
            found += wrong
    print(*found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
