"""Flows whose steps note each run of theirs, what an undisturbed run of them gives, and what a disturbed one may do.

Each step notes its PFLOW_STEP_KEY in a file: so its runs are counted.
"""

import json
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pflow.errors import BUG, EXIT_CODES
from tests.faults.points import BIN

PFLOW = str(BIN / "pflow")
KILLED = -9
DOCUMENTED = EXIT_CODES.keys() - {BUG}
NEEDS_WORD = 65
NOTHING_TO_DO = 1

NODE = '''
from pflow import Node


class Mark{name}(Node):
    """Note that it ran, and write what it read once more.

    Interface:
    - Reads: shared["text"]: any [pipe]  # what is handed on
    - Writes: shared["marked"]: any [pipe]  # the same, marked
    - Params: log: path = "../log"  # where it notes it
    - Params: until: int = 0  # from this visit on its action is done
    - Actions: default, done
    - Effects: writes files
    - Repeats: {repeats}
    """

    def exec(self, prepared):
        import os
        import time

        with open(self.params["log"], "a") as log:
            log.write(f"{{self.step_key}}\\n")
        time.sleep(float(os.environ.get("NAP", 0)))
        while "HOLD" in os.environ and not os.path.exists(os.environ["HOLD"]):
            time.sleep(0.01)

    def prep(self, shared):
        return shared["text"]

    def post(self, shared, text, result):
        shared["marked"] = f"{{text}}'"
        return "done" if self.params["until"] and len(shared["marked"]) > self.params["until"] else None
'''

OLD = 1_000_000_000
"""A time in 2001."""

ITEMS = ["a", "b", "a", "c", "d"]


def _step(id: str, **more: object) -> dict[str, object]:
    return {"id": id, "type": "mark-KIND", **more}


def _edge(source: str, target: str, **more: str) -> dict[str, str]:
    return {"from": source, "to": target, **more}


def _wire(**sources: object) -> dict[str, object]:
    """Mappings of the one read of each step."""
    return {id: {"input_mappings": {"text": source}} for id, source in sources.items()}


COMMAND = 'echo "$PFLOW_STEP_KEY" >>../log; sleep "${NAP:-0}" && exec cat'

INNER = {
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


FLOWS["program"] = {
    "nodes": [_step("one"), {"id": "sh", "type": "shell", "params": {}, "inputs": {"command": COMMAND}}, _step("last")],
    "mappings": {**_wire(one="seed", last="sh.stdout"), "sh": {"input_mappings": {"input": "one.marked"}}},
}
NAMES = [f"{flow}-{kind}" for flow in FLOWS if flow != "program" for kind in ("twice", "once")]
PROGRAM = "program-once"
ALL = [*NAMES, PROGRAM]


class Ended(NamedTuple):
    """How a program ended, and what it printed."""

    code: int
    stdout: bytes
    stderr: str


class Undisturbed(NamedTuple):
    """What a flow gives, how many visits and items run, and how long it takes."""

    store: dict[str, object]
    visits: int
    seconds: float


class Program:
    """The work directory of a point, in which pflow runs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "work"
        self.runs = directory / "state" / "pflow" / "runs"

    def begin(self, words: Sequence[str], program: str = PFLOW, **variables: str) -> subprocess.Popen[bytes]:
        """Start pflow, which leads a process group."""
        return subprocess.Popen(
            [program, *words],
            cwd=self.directory,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )

    def run(self, *words: str, program: str = PFLOW, **variables: str) -> Ended:
        return self.end(self.begin(words, program, **variables))

    def end(self, process: subprocess.Popen[bytes]) -> Ended:
        """Wait for a program's end. Raises AssertionError for a traceback."""
        stdout, stderr = process.communicate()  # None for a pipe that is closed
        assert b"Traceback" not in stderr, stderr.decode()
        return Ended(process.returncode, stdout, stderr.decode(errors="replace"))

    def left(self) -> str:
        """Return the run that has a journal; empty if there is none."""
        return next((journal.parent.name for journal in self.runs.glob("*/journal.jsonl")), "")


class Scene(Program):
    """One of the flows, with their nodes, and what it gives undisturbed."""

    def __init__(self, directory: Path, flow: str, seed: str = "s") -> None:
        super().__init__(directory)
        self.shared = directory.parent
        self.log = directory / "log"
        for of, repeats in (("Twice", "yes"), ("Once", "no")):
            kind = of.lower()
            self.write(f"mark_{kind}.py", NODE.format(name=of, repeats=repeats))
            for name, ir in {"inner": INNER, **FLOWS}.items():
                whole = {"pflow": 1, "name": f"{name}-{kind}", **ir}
                self.write(f"{name}-{kind}.pflow.json", json.dumps(whole).replace("KIND", kind))
        os.environ["PFLOW_NODES"] = str(self.directory)
        self.flow, self.seed, self.may_repeat = flow, seed, flow.endswith("twice")
        self.undisturbed = self._undisturbed(flow)

    def write(self, name: str, text: str) -> None:
        """Write a file that is old enough to be remembered."""
        (self.directory / name).write_text(text)
        os.utime(self.directory / name, (OLD, OLD))

    def words(self, seed: str = "") -> list[str]:
        """Return what runs the flow."""
        items = [f"--items={json.dumps(ITEMS)}"] if self.flow.startswith(("batch", "subflow")) else []
        return ["run", f"{self.flow}.pflow.json", f"--seed={seed or self.seed}", *items]

    def ran(self) -> Counter[str]:
        """How often each visit and item ran, by its key."""
        return Counter(self.log.read_text().split()) if self.log.exists() else Counter()

    def _undisturbed(self, flow: str) -> Undisturbed:
        """Run the flow undisturbed, once for all points."""
        kept = self.shared / f"undisturbed-{flow}-{len(self.seed)}.json"
        if not kept.exists():
            began = time.monotonic()
            own = dict.fromkeys(("XDG_STATE_HOME", "XDG_CACHE_HOME"), str(self.directory / "undisturbed"))
            ended = self.run(*self.words(), "-j", **own)
            seconds, ran = time.monotonic() - began, self.ran()
            assert ended.code == 0, ended.stderr
            assert set(ran.values()) == {1}, ran
            self.log.unlink()
            draft = self.directory / kept.name
            draft.write_text(json.dumps(Undisturbed(store_of(ended.stdout), len(ran), seconds)))
            draft.rename(kept)
        return Undisturbed(*json.loads(kept.read_text()))


def store_of(stdout: bytes) -> dict[str, object]:
    return {key: value for key, value in json.loads(stdout).items() if key != "$pflow"}


def resume_as_told(scene: Scene, *words: str) -> tuple[Ended, set[str]]:
    """Resume the last run, and say of each step that may not repeat what pflow asks; what was asked, too."""
    before, run = scene.ran(), scene.left()
    ended = scene.run("resume", run, *words)
    if ended.code != NEEDS_WORD:
        return ended, set()
    assert scene.ran() == before, "it ran something before it was told"
    asked = set(re.findall(r"--redo=([\w/-]+)", ended.stderr))
    assert asked, ended.stderr
    return scene.run("resume", run, *words, *(f"--redo={step}" for step in sorted(asked))), asked


def check_resumed(scene: Scene, *, at_once: int = 2) -> None:
    """Resume what was disturbed, and hold it to the promise; so many visits were under way at most."""
    undisturbed, before = scene.undisturbed, scene.ran()
    if not scene.left():  # it was killed before it began, or after its end
        assert set(before.values()) <= {1}, before
        assert len(before) in (0, undisturbed.visits), before
        return
    ended, asked = resume_as_told(scene, "-j")
    if ended.code == NOTHING_TO_DO:
        assert len(before) in (0, undisturbed.visits), ended.stderr
        assert set(before.values()) <= {1}, before
        return
    assert not (asked and scene.may_repeat), asked
    assert ended.code == 0, ended.stderr
    assert store_of(ended.stdout) == undisturbed.store, "another store"
    check_ran(scene, undisturbed.visits, at_once if scene.may_repeat or asked else 0)


def check_ran(scene: Scene, visits: int, again: int) -> None:
    """See that each visit and item ran, and that so many at most ran again, once."""
    ran = scene.ran()
    assert len(ran) == visits, f"{len(ran)} visits and items ran, of {visits}"
    twice = [key for key, times in ran.items() if times > 1]
    assert all(ran[key] == 2 for key in twice), ran
    assert len(twice) <= again, f"{len(twice)} ran again"


def has_finished(scene: Scene, process: subprocess.Popen[bytes], *codes: int) -> bool:
    """Return whether a run that was to end with such a code had come to its end before."""
    ended = scene.end(process)
    assert ended.code in (0, *codes), f"exit {ended.code}: {ended.stderr}"
    assert ended.code or store_of(ended.stdout) == scene.undisturbed.store, "another store"
    return ended.code == 0
