"""Plans under --yes whose steps attack pflow's own files, and records of runs that say less than what holds them.

Nothing of pflow's is written, a resumed or replayed run is confined as it was, and a changed record is refused.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from pflow.record.journal import pieces_of, read_lines
from tests.faults.points import Point, series, spread
from tests.faults.programs import Ended, run

NEEDS = ("landlock",)
WEIGHT = 60

PLAN = """
import sys
from pflow.commands._run_sentence import run_planned
from pflow.driver.budget import Budget
from pflow.flow.load import load_text
from pflow.flow.subflow import FlowCatalog
from pflow.plan.gate import Allowed, Gate
from pflow.plan.proposal import Proposal
from pflow.stage.document import NOTHING, Document, Intake
plan, allowed = Proposal(load_text(sys.argv[1], "plan", FlowCatalog(".")).usable(), ["-q"]), Allowed(["commands"])
refused = Gate(plan.wired, plan.values, allowed, has_stdin=False).refusals()
sys.exit(77 if refused else run_planned(plan, Intake(Document(), NOTHING), allowed, Budget({})))
"""
"""What pflow does with a plan under --yes --allow=commands, once it has it."""

ATTACK = """
import fcntl, glob, os, sys
act, target, escape = os.environ["ACT"], os.environ["TARGET"], os.environ["ESCAPE"]
target = (sorted(glob.glob(target)) or [target])[-1]
acts = {
    "append": lambda: open(target, "a").write("x"),
    "empty": lambda: os.truncate(target, 0),
    "remove": lambda: os.unlink(target),
    "rename": lambda: os.rename(target, target + "-moved"),
    "replace": lambda: (open("draft", "w").write("x"), os.rename("draft", target)),
    "link": lambda: (os.link(target, "linked"), open("linked", "a").write("x")),
    "beside": lambda: open(os.path.join(os.path.dirname(target), "new"), "w").write("x"),
    "descriptors": lambda: [cut(fd) for fd in range(3, 20) if "/pflow/" in link(fd)],
    "parent": lambda: [open(each, "a").write("x") for each in glob.glob(f"/proc/{os.getppid()}/fd/*")],
}
def link(fd):
    return os.path.exists(f"/proc/self/fd/{fd}") and os.readlink(f"/proc/self/fd/{fd}") or ""
def cut(fd):
    fcntl.flock(fd, fcntl.LOCK_UN)
    try:
        os.ftruncate(fd, 0)
    except OSError:
        pass
for each in (acts[act], lambda: open(escape, "w").write("x")):
    try:
        each()
    except OSError:
        pass
"""

NODE = '''
from pflow import Node
from pflow.errors import PflowError


class Hostile(Node):
    """Attack.

    Interface:
    - Effects: runs commands
    - Repeats: yes
    """

    def exec(self, prepared):
        exec({attack!r}, {{}})
        raise PflowError("it has attacked", exit=1)
'''
PROGRAM = "#!{python}\n# Interface:\n# - Effects: runs commands\n# - Repeats: yes\n{attack}\nsys.exit(1)\n"

LEFT = ("new", "draft", "linked")
ACTS = ("descriptors", "append", "empty", "remove", "rename", "replace", "link", "beside", "parent")
TARGETS = {
    "state/pflow": ("key", "runs/*/journal.jsonl", "runs/*/snapshot.json", "runs/*/lock", "runs/*/trace.jsonl"),
    "cache/pflow": ("steps/entry",),
    "home/.config": ("pflow/prices.toml", "io.datasette.llm/default_model.txt"),
    "data/pflow": ("nodes/own.py", "mcp/box.json"),
}
PLACES = {"work": "work", "home": "home", "state": "state/pflow", "above": "."}
WRITERS = ("shell", "node", "program")


def prepare(directory: Path) -> None:
    for folder, names in TARGETS.items():
        for file in [directory / folder / name for name in names if "*" not in name and name != "key"]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("kept")
    nodes, python = directory / "data" / "pflow" / "nodes", sys.executable
    (nodes / "hostile.py").write_text(NODE.format(attack=ATTACK))
    (nodes / "pflow-worse").write_text(PROGRAM.format(attack=ATTACK, python=python))
    (nodes / "pflow-worse").chmod(0o755)
    (directory / "state" / "pflow").mkdir()
    os.environ["ESCAPE"] = str(directory / "escape")


def plan(writer: str) -> Ended:
    command = f"{sys.executable} -c '{ATTACK}'; exit 1"
    kinds = {"node": ("hostile", {}), "program": ("worse", {}), "shell": ("shell", {"command": command})}
    type, inputs = kinds[writer]
    flow = {"nodes": [{"id": "act", "type": type, "inputs": inputs}]}
    return run(sys.executable, "-c", PLAN, json.dumps(flow))


def planted(directory: Path) -> list[str]:
    """Return what there is of the files that were planted, and what an attack has left beside them."""
    files = [path for folder in TARGETS for path in (directory / folder).rglob("*") if path.is_file()]
    return sorted(path.name for path in files if path.read_bytes() == b"kept" or path.name in LEFT)


def is_held(directory: Path, ended: Ended) -> None:
    assert ended.code == 1, ended
    assert not (directory / "escape").exists(), ended


def attack(directory: Path, writer: str, chances: Random) -> None:
    prepare(directory)
    place = directory / PLACES[chances.choice([*PLACES])]
    folder = chances.choice([*TARGETS])
    act = chances.choice(ACTS)
    target = directory / folder / chances.choice(TARGETS[folder])
    before = planted(directory)
    os.environ.update(ACT=act, TARGET=str(target))
    os.chdir(place)
    for ended in (plan(writer), run("pflow", "resume", "last", "-q"), run("pflow", "replay", "last", "-q")):
        is_held(directory, ended)
        assert planted(directory) == before, (act, target, ended)
    for directory_of_run in (directory / "state" / "pflow" / "runs").glob("0*"):
        assert read_lines((directory_of_run / "journal.jsonl").read_bytes())[0], (act, target)
        assert int((directory_of_run / "lock").read_bytes().split()[0]) > 0, (act, target)


FORGED = ("cleared", "changed", "removed", "unsealed", "swapped")


def forge(directory: Path, how: str, chances: Random) -> None:
    prepare(directory)
    os.environ.update(ACT="append", TARGET="nowhere")
    runs = directory / "state" / "pflow" / "runs"
    os.environ["ESCAPE"] = str(directory / "work" / "ours")
    assert run("pflow", "run", "hostile", "-q").code == 1
    os.environ["ESCAPE"] = str(directory / "escape")
    (free,) = runs.glob("0*")
    is_held(directory, plan(chances.choice(WRITERS)))
    (held,) = set(runs.glob("0*")) - {free}
    again = chances.choice(("resume", "replay"))
    file = "journal.jsonl" if again == "resume" else "snapshot.json"
    about, other = _read(held / file), _read(free / file)
    place, seal = (about[0]["place"], "bounds") if again == "resume" else (about[0], "seal")
    if how in ("cleared", "swapped"):
        place["confined"] = ""
        about[0][seal] = other[0][seal] if how == "swapped" else about[0][seal]
    elif how == "changed":
        place["confined"] = json.dumps({**json.loads(place["confined"]), "folders": [str(directory)]})
    else:
        place.pop("confined")
        about[0].pop(seal) if how == "unsealed" else None
    data = [b"".join(pieces_of(each)) for each in about] if again == "resume" else [json.dumps(about[0]).encode()]
    (held / file).write_bytes(b"".join(data))
    ended = run("pflow", again, held.name, "-q")
    assert ended.code == (65 if (how, again) == ("unsealed", "resume") else 78), ended
    assert not (directory / "escape").exists(), ended


def _read(file: Path) -> list[dict]:
    return read_lines(file.read_bytes())[0] if file.suffix == ".jsonl" else [json.loads(file.read_text())]


def points(share: int, seed: int) -> Iterator[Point]:
    attacks = series("confined/attack", WRITERS, seed, attack)
    return spread(share, attacks, series("confined/forge", FORGED, seed, forge))
