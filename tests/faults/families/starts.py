"""Three hundred starts at once of one flow, of which one may run: the others leave it alone, or say so."""

import os
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from subprocess import Popen

from tests.faults.points import Point, series, spread
from tests.faults.scene import KILLED, NOTHING_TO_DO, Ended, Scene, resume_as_told, store_of

NEEDS: tuple[str, ...] = ()
WEIGHT = 20

STARTS = 15
"""Starts at once; twenty points make three hundred."""
WORDS = {"skip": 0, "fail": 75, "wait": 0}
"""The code of a start that does not run."""


def points(share: int, seed: int) -> Iterator[Point]:
    flows, kinds = ("loop-twice", "fork-once", "batch-twice"), ("skip", "fail", "killed", "wait")
    return spread(share, *(series(f"starts/{how}", flows, seed, partial(check, how)) for how in kinds))


def check(how: str, directory: Path, flow: str, chances: random.Random) -> None:
    scene, word = Scene(directory, flow), "fail" if how == "killed" else how
    line = [*scene.words(), f"--if-running={word}", "-j"]
    started = at_once(scene, line, directory / "go", 5 if how == "wait" else STARTS)
    if how == "killed":
        kill_owner(scene, chances.uniform(0, 1))
    while how in ("skip", "fail") and sum(each.poll() is None for each in started) > 1:
        time.sleep(0.01)
    (directory / "done").touch()
    ended = [scene.end(process) for process in started]
    check_owners(scene, ended, how)


def at_once(scene: Scene, line: list[str], go: Path, count: int) -> list[Popen[bytes]]:
    """Start so many, each of which waits in a shell for a file."""
    script = f'until [ -e "{go}" ]; do sleep 0.02; done; exec "$@"'
    words = ["-c", script, "sh", str(Path(os.environ["PATH"].partition(":")[0], "pflow")), *line]
    started = [scene.begin(words, "/bin/sh", NAP="0", HOLD=str(go.with_name("done"))) for _ in range(count)]
    go.touch()
    return started


def kill_owner(scene: Scene, after: float) -> None:
    """Kill the one that runs."""
    while not (runs := [*scene.runs.glob("*/lock")]):
        time.sleep(0.01)
    time.sleep(after)
    with suppress(ValueError, IndexError, ProcessLookupError, FileNotFoundError):
        os.kill(int(runs[0].read_text().split()[0]), 9)


def check_owners(scene: Scene, ended: list[Ended], how: str) -> None:
    """One ran, or with `wait` one after another; of a killed one another may have begun anew."""
    codes, visits = [each.code for each in ended], scene.undisturbed.visits
    ran = scene.ran()
    if how == "killed":
        assert set(codes) <= {0, 75, KILLED}, codes
        assert codes.count(0) + codes.count(KILLED) >= 1, codes
        if scene.left():
            resumed, _ = resume_as_told(scene, "-j")
            assert resumed.code in (0, NOTHING_TO_DO), resumed
            assert resumed.code or store_of(resumed.stdout) == scene.undisturbed.store, "another store"
        return
    owners = sum(each.code == 0 and b'"skipped"' not in each.stdout for each in ended)
    assert set(codes) <= {0, WORDS[how]}, codes
    assert owners == (len(ended) if how == "wait" else 1), ended
    assert sum(ran.values()) == owners * visits, (ran, visits)
