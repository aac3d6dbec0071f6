"""Little of everything: closed pipes and files, a full device, little memory, few descriptors, short files."""

import os
import random
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.faults.points import BIN, Point, series, spread
from tests.faults.scene import ALL, DOCUMENTED, PFLOW, Ended, Scene, check_resumed, store_of

NEEDS: tuple[str, ...] = ()
WEIGHT = 140

LONG = "s" * 40_000
"""A seed with which the store is longer than what a pipe takes."""

LIMITS = {
    "memory": lambda chances: f"ulimit -v {chances.randrange(20_000, 90_000)}",
    "descriptors": lambda chances: f"ulimit -n {chances.randrange(5, 24)}",
    "file-size": lambda chances: f"ulimit -f {chances.randrange(0, 60)}",
    "closed": lambda chances: "exec " + " ".join(chances.sample(["<&-", ">&-", "2>&-"], chances.randint(1, 3))),
    "full": lambda chances: f"exec {chances.choice(['>', '2>'])}/dev/full",
}
"""What a shell does before it starts pflow."""


def points(share: int, seed: int) -> Iterator[Point]:
    limited = [series(f"limits/{kind}", [*ALL, "stage"], seed, partial(check_limited, kind)) for kind in LIMITS]
    return spread(share, series("limits/closed-pipe", ALL, seed, close_pipe), *limited)


def check_limited(kind: str, directory: Path, what: str, chances: random.Random) -> None:
    """A run, or a stage, that a shell starts so ends right, or with a documented code, and is resumed without it."""
    limit = LIMITS[kind](chances)
    if what == "stage":
        check_stage(directory, limit)
        return
    scene = Scene(directory, what, LONG if kind == "file-size" else "s")
    ended = begun_in_shell(scene, limit, [PFLOW, *scene.words(), "-j"])
    assert ended.code in DOCUMENTED, (limit, ended)
    if ended.code == 0 and ">&-" not in limit and "full" not in limit:
        assert store_of(ended.stdout) == scene.undisturbed.store, "another store"
    check_resumed(scene)


def begun_in_shell(scene: Scene, limit: str, words: list[str]) -> Ended:
    return scene.end(scene.begin(["-c", f'{limit}; exec "$@"', "sh", *words], "/bin/sh"))


def check_stage(directory: Path, limit: str) -> None:
    """The file is whole, or as it was."""
    target = directory / "work" / "out.txt"
    target.write_text("old")
    words = [str(BIN / "pflow-write-file"), "--path=out.txt", f"--content={LONG}"]
    ended = subprocess.run(["/bin/sh", "-c", f'{limit}; exec "$@"', "sh", *words], capture_output=True, check=False)
    assert b"Traceback" not in ended.stderr, ended
    assert ended.returncode in DOCUMENTED, ended
    assert target.read_text() in (("old", LONG) if ended.returncode else (LONG,)), ended


def close_pipe(directory: Path, flow: str, chances: random.Random) -> None:
    """Who reads the store goes away after some bytes."""
    scene = Scene(directory, flow, LONG)
    process = scene.begin([*scene.words(), "-j"])
    left = chances.choice([0, 1, 5000, 70_000])
    while process.stdout and left and (part := os.read(process.stdout.fileno(), left)):
        left -= len(part)
    process.stdout.close()
    ended = scene.end(process)
    assert ended.code in (0, 141, -signal.SIGPIPE), ended
    check_resumed(scene)
