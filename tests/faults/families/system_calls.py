"""The n-th open, write, rename or fsync of pflow's own files fails: a full disk, a broken one, no descriptor left."""

import errno
import os
import random
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.faults.points import Point, series, spread
from tests.faults.scene import ALL, DOCUMENTED, Ended, Program, Scene, check_resumed, store_of
from tests.faults.shim import shim

NEEDS = ("cc",)
WEIGHT = 260

CALLS = {"open": (30, 14), "write": (25, 2), "rename": (10, 4), "sync": (2, 2)}
"""How many calls of each kind there are, about, in a short run, and in two stages."""
ERRORS = {
    "open": (errno.EMFILE, errno.ENOSPC, errno.EIO),
    "write": (errno.ENOSPC, errno.EIO),
    "rename": (errno.ENOSPC, errno.EIO),
    "sync": (errno.EIO, errno.ENOSPC),
}
STAGES = "pflow-read-file --path=in.txt --cache | pflow-write-file --path=out.txt"


def points(share: int, seed: int) -> Iterator[Point]:
    flows = {"run": ALL, "stages": ["pipe"]}
    kinds = [(what, call) for call in CALLS for what in flows]
    return spread(
        share,
        *(series(f"system_calls/{what}/{call}", flows[what], seed, partial(check, what, call)) for what, call in kinds),
    )


def check(what: str, call: str, directory: Path, flow: str, chances: random.Random) -> None:
    fault = {
        "LD_PRELOAD": shim(directory),
        "FAULT_CALL": call,
        "FAULT_N": str(chances.randint(1, CALLS[call][what == "stages"])),
        "FAULT_LASTS": str(chances.randrange(2)),
        "FAULT_ERRNO": str(chances.choice(ERRORS[call])),
        "FAULT_PATHS": ":".join(f"{directory}/{name}/" for name in ("state", "cache", "data", "work", "tmp")),
        "FAULT_REPORT": str(directory / "report"),
    }
    (check_run if what == "run" else check_stages)(directory, flow, fault)


def check_run(directory: Path, flow: str, fault: dict[str, str]) -> None:
    scene = Scene(directory, flow)
    ended = scene.run(*scene.words(), "-j", **fault)
    check_ended(directory, ended)
    if ended.code == 0:
        assert store_of(ended.stdout) == scene.undisturbed.store, "another store"
        assert set(scene.ran().values()) == {1}, scene.ran()
    else:
        check_resumed(scene)


def check_stages(directory: Path, flow: str, fault: dict[str, str]) -> None:
    """The file is the old one or the new one, and the pipe gives the new one once the fault is gone."""
    program, out = Program(directory), directory / "work" / "out.txt"
    (directory / "work" / "in.txt").write_text("new\n" * 1000)
    out.write_text("old")
    ended = run_pipe(program, **fault)
    check_ended(directory, ended)
    assert out.read_text() == "new\n" * 1000 or (ended.code and out.read_text() == "old"), ended
    ended = run_pipe(program)
    assert (ended.code, out.read_text()) == (0, "new\n" * 1000), ended


def run_pipe(program: Program, **variables: str) -> Ended:
    return program.run("-c", STAGES, program="/bin/sh", **variables)


def check_ended(directory: Path, ended: Ended) -> None:
    """A failure has a documented code, and its words name the path of a call that failed, or its directory."""
    report = directory / "report"
    assert ended.code == 0 or report.exists(), f"nothing failed: {ended}"
    assert ended.code in DOCUMENTED, ended
    named = {os.path.join(directory, "work", name) for name in re.findall(r"'([^']+)'", ended.stderr)}
    failed = report.read_text().split("\n")[:-1] if report.exists() else []
    assert ended.code == 0 or any(is_near(path, name) for path in failed for name in named), (failed, ended.stderr)


def is_near(path: str, name: str) -> bool:
    places = [os.path.normpath(each) for each in (path, name)]
    return not {places[0], os.path.dirname(places[0])}.isdisjoint({places[1], os.path.dirname(places[1])})
