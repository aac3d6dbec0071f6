"""A small file system, full after some kilobytes or files, as the state, the cache, TMPDIR or the work directory."""

import ctypes
import random
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.faults.points import Point, left_files, series, spread
from tests.faults.scene import ALL, DOCUMENTED, Program, Scene, check_resumed, store_of

NEEDS = ("namespaces",)
WEIGHT = 70

OWN_MOUNTS = 0x20000  # CLONE_NEWNS
SMALL = (*[f"size={kilobytes}k" for kilobytes in range(4, 100, 4)], *[f"nr_inodes={count}" for count in range(2, 16)])


def points(share: int, seed: int) -> Iterator[Point]:
    places = ("state", "cache", "tmp")
    runs = [series(f"file_systems/{place}", ALL, seed, partial(check_run, place)) for place in places]
    return spread(share, *runs, series("file_systems/work", ["stage"], seed, check_stage))


def mount(place: Path, options: str) -> None:
    """Mount a small file system for this process and those that it starts."""
    if not place.is_mount():
        assert ctypes.CDLL(None, use_errno=True).unshare(OWN_MOUNTS) == 0
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    again = "remount," if place.is_mount() else ""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{again}{options}", "tmpfs", place], check=True)


def check_run(place: str, directory: Path, flow: str, chances: random.Random) -> None:
    scene, options = Scene(directory, flow), chances.choice(SMALL)
    mount(directory / place, options)
    ended = scene.run(*scene.words(), "-j", *["--cache"] * (place == "cache"))
    assert ended.code in DOCUMENTED, (options, ended)
    assert ended.code or store_of(ended.stdout) == scene.undisturbed.store, "another store"
    assert not ended.code or str(directory / place) in ended.stderr, (options, ended.stderr)
    mount(directory / place, "size=100m,nr_inodes=10000")
    check_resumed(scene)
    assert not (left := left_files(directory)), left


def check_stage(directory: Path, flow: str, chances: random.Random) -> None:
    """A file is written where there is room for it, or for half of it."""
    program, target = Program(directory), directory / "work" / "out.txt"
    mount(directory / "work", chances.choice(SMALL))
    target.write_text("old")
    text = "new" * chances.randrange(10_000)
    ended = program.run("write-file", "--path=out.txt", f"--content={text}", "-n")
    assert ended.code in (0, 73), ended
    assert target.read_text() == ("old" if ended.code else text)
    assert not ended.code or "'out.txt'" in ended.stderr, ended
    assert not (left := left_files(directory)), left
