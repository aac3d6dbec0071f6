"""What a run has left is cut at a byte, or has a byte changed; then it is resumed, listed, shown and explained."""

import os
import random
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

from pflow.commands.main import main
from tests.faults.points import Point, series, spread
from tests.faults.scene import DOCUMENTED, KILLED, NAMES, Ended, Program, Scene, store_of

NEEDS: tuple[str, ...] = ()
WEIGHT = 150

PLACES = 8
"""How many bytes of a file a point changes, one after another."""
FILES = ("journal.jsonl", "trace.jsonl", "snapshot.json", "flow.pflow.json", "lock")
CACHED = "read-file --path=in.txt => template '${content}!'"


def points(share: int, seed: int) -> Iterator[Point]:
    killed = [
        series(f"damage/{file.partition('.')[0]}/{how}", NAMES, seed, partial(check_killed, file, how))
        for file, how in product(FILES, ("cut", "flip"))
    ]
    return spread(share, *killed, series("damage/keys", ("cut", "flip"), seed, check_explained))


def check_killed(file: str, how: str, directory: Path, flow: str, chances: random.Random) -> None:
    """The files of a run that was killed in its midst."""
    scene = Scene(directory, flow)
    failpoint = {"PFLOW_TESTING": "1", "PFLOW_FAILPOINT": f"journal.end:{chances.randint(1, 4)}"}
    assert scene.end(scene.begin([*scene.words(), "-j"], **failpoint)).code in (KILLED, 128 - KILLED)
    run = scene.left()
    begun = Kept(directory)
    for at in places(scene.runs / run / file, chances):
        where = f"{how} at {at}"
        damage(scene.runs / run / file, at, how)
        for words in (("runs",), ("trace", run)):
            check_shown(call(directory, *words), where)
        check_damaged(scene, call(directory, "resume", run, "-j"), where)
        begun.restore()


def check_explained(directory: Path, how: str, chances: random.Random) -> None:
    """The keys of a run with cached steps."""
    program = Program(directory)
    for text in ("one", "two"):
        (directory / "work" / "in.txt").write_text(text)
        assert program.run("run", CACHED, "--cache", "-q").code == 0
    kept = Kept(directory)
    file = chances.choice(sorted(program.runs.glob("*/keys.jsonl")))
    for at in places(file, chances):
        damage(file, at, how)
        for words in (("why", "last", "read-file"), ("why", "last", "template"), ("runs",), ("trace",)):
            check_shown(call(directory, *words), f"{how} at {at}")
        kept.restore()


class Kept:
    """The state and the log of a point, as they were."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        shutil.copytree(directory / "state", directory / "kept")
        self.log = (directory / "log").read_text() if (directory / "log").exists() else ""

    def restore(self) -> None:
        shutil.rmtree(self.directory / "state")
        shutil.copytree(self.directory / "kept", self.directory / "state")
        (self.directory / "log").write_text(self.log)


def places(file: Path, chances: random.Random) -> list[int]:
    size = file.stat().st_size
    return chances.sample(range(size), min(PLACES, size))


def damage(file: Path, at: int, how: str) -> None:
    data = bytearray(file.read_bytes())
    if how == "cut":
        del data[at:]
    else:
        data[at] ^= 1 << at % 8
    file.write_bytes(data)


def call(directory: Path, *words: str) -> Ended:
    """Do what the executable does, in a fork of this process, which has its modules already."""
    files = [directory / "stdout", directory / "stderr"]
    pid = os.fork()
    if pid == 0:
        for number, file in enumerate(files, 1):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv = ["pflow", *words]
        try:
            main()
        except SystemExit as error:
            os._exit(int(error.code or 0))
        finally:
            os._exit(70)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Ended(code, files[0].read_bytes(), files[1].read_text(errors="replace"))


def check_shown(ended: Ended, where: str) -> None:
    assert "Traceback" not in ended.stderr, (where, ended.stderr)
    assert ended.code in DOCUMENTED, (where, ended)


def check_damaged(scene: Scene, ended: Ended, where: str) -> None:
    """No visit counts as done that is not: a resume that ends well has the undisturbed store, and all of them ran."""
    check_shown(ended, where)
    if ended.code == 0:
        assert store_of(ended.stdout) == scene.undisturbed.store, f"{where}: another store"
        assert len(scene.ran()) == scene.undisturbed.visits, (where, scene.ran())
    else:
        assert ended.stderr.strip(), where
