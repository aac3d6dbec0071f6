"""A small file system, full after some kilobytes or files, as the state, the cache, TMPDIR or the work directory."""

import ctypes
import subprocess
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from tests.faults.points import Point, dice, left_files, spread
from tests.faults.scene import DOCUMENTED, NAMES, PROGRAM, Program, Scene, check_resumed, store_of

NEEDS = ("namespaces",)
WEIGHT = 70

OWN_MOUNTS = 0x20000  # CLONE_NEWNS
SMALL = (*[f"size={kilobytes}k" for kilobytes in range(4, 100, 4)], *[f"nr_inodes={count}" for count in range(2, 16)])


def points(share: int, seed: int) -> Iterator[Point]:
    return spread(share, *(runs(place, seed) for place in ("state", "cache", "tmp")), stages(seed))


def mount(place: Path, options: str) -> None:
    """Mount a small file system for this process and those that it starts."""
    if not place.is_mount():
        assert ctypes.CDLL(None, use_errno=True).unshare(OWN_MOUNTS) == 0
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    again = "remount," if place.is_mount() else ""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{again}{options}", "tmpfs", place], check=True)


def runs(place: str, seed: int) -> Iterator[Point]:
    for number, flow in enumerate(cycle([*NAMES, PROGRAM])):
        id = f"file_systems/{place}/{flow}/{number}"

        def check(directory: Path, flow: str = flow, id: str = id) -> None:
            scene, options = Scene(directory, flow), dice(id, seed).choice(SMALL)
            mount(directory / place, options)
            ended = scene.run(*scene.words(), "-j", *(["--cache=true"] if place == "cache" else []))
            assert ended.code in DOCUMENTED, (options, ended)
            assert ended.code or store_of(ended.stdout) == scene.undisturbed.store, "another store"
            assert not ended.code or str(directory / place) in ended.stderr, (options, ended.stderr)
            mount(directory / place, "size=100m,nr_inodes=10000")
            check_resumed(scene)
            assert not (left := left_files(directory)), left

        yield Point(id, check)


def stages(seed: int) -> Iterator[Point]:
    """A file is written where there is room for it, or for half of it."""
    for number in range(1_000_000):
        id = f"file_systems/work/stage/{number}"

        def check(directory: Path, id: str = id) -> None:
            chances, program, target = dice(id, seed), Program(directory), directory / "work" / "out.txt"
            mount(directory / "work", chances.choice(SMALL))
            target.write_text("old")
            text = "new" * chances.randrange(10_000)
            ended = program.run("write-file", "--path=out.txt", f"--content={text}", "-n")
            assert ended.code in (0, 73), ended
            assert target.read_text() == ("old" if ended.code else text)
            assert not ended.code or "'out.txt'" in ended.stderr, ended
            assert not (left := left_files(directory)), left

        yield Point(id, check)
