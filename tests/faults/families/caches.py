"""Caches whose entries are cut at every byte, flipped, missing or in the way: a wrong value never reaches a node."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pflow.cache import directory as kept
from pflow.cache.entries import KeptAnswer, find, keep, paths
from pflow.cache.key import Key, KeyPart
from tests.faults.points import Point, dice, spread
from tests.faults.programs import end_of, run_warm, start, wait_for

NEEDS: tuple[str, ...] = ()
WEIGHT = 90

ANSWER = {"action": None, "changes": {"text": "is right"}, "removed": []}
KEY = Key("try", [KeyPart("read", "a", 1)], {})
NOTE = "echo x >>log; echo is right"
STAGE = ("pflow-shell", "-n", "-r", NOTE, "--cache")


def kept_files() -> dict[str, Path]:
    """The two files of the one answer that is kept: its entry and its blob."""
    (entry,) = map(Path, paths())
    return {"entry": entry, "blob": Path(KeptAnswer(str(entry)).blob_path)}


def keep_answer() -> dict[str, Path]:
    keep(KEY, ANSWER)
    return kept_files()


def check_miss(of: str) -> None:
    """What is damaged is a miss, or the answer as it was; the next one is kept again."""
    found = find(KEY, lambda warning: None)
    assert found is None or found[0] == ANSWER, f"{of}: {found}"
    keep(KEY, ANSWER)
    found = find(KEY, lambda warning: None)
    assert found is not None, f"{of}: it is not kept again"
    assert found[0] == ANSWER, of


def at_every_byte(change: Callable[[bytes, int], bytes], name: str, part: int, directory: Path) -> None:
    """Damage a file at each of its bytes, in one process."""
    file = keep_answer()[name]
    data = file.read_bytes()
    for at in range(part, len(data), 8):
        file.write_bytes(change(data, at))
        check_miss(f"{name} at byte {at}")
        assert file.read_bytes() == data or name == "entry", "the same answer has the same bytes"
        file, data = kept_files()[name], kept_files()[name].read_bytes()


def cut(data: bytes, at: int) -> bytes:
    return data[:at]


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at % len(data)] ^ 1 << at % 8]) + data[at + 1 :]


def zero(data: bytes, at: int) -> bytes:
    return data[:at] + bytes(max(len(data) - at, 0))


def grow(data: bytes, at: int) -> bytes:
    return data + data[:at] + b" "


CHANGES = {"cut": cut, "flip": flip, "zero": zero, "grow": grow}


def inside(seed: int) -> Iterator[Point]:
    for way, change in CHANGES.items():
        for name in ("entry", "blob"):
            for part in range(4 if name == "entry" else 2):
                yield Point(f"caches/bytes/{way}/{name}/{part}", partial(at_every_byte, change, name, part))


def _link(file: Path) -> None:
    """A link to what another may write."""
    other = file.rename(Path("other").absolute())
    other.chmod(0o666)
    file.symlink_to(other)


WAYS: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "directory": lambda file: (file.unlink(), file.mkdir()),
    "full-directory": lambda file: (file.unlink(), (file / "x").mkdir(parents=True)),
    "pipe": lambda file: (file.unlink(), os.mkfifo(file)),
    "link": _link,
    "dangling": lambda file: (file.unlink(), file.symlink_to("nowhere")),
    "open": lambda file: file.chmod(0o666),
    "closed": lambda file: file.chmod(0),
    "foreign": lambda file: os.geteuid() or os.chown(file, 65534, 65534),
    "another": lambda file: file.write_bytes(b'{"made":1,"run":"","key":"0","blob":"0","parts":[]}'),
    **{
        name: lambda file, change=change: file.write_bytes(change(file.read_bytes(), 20))
        for name, change in CHANGES.items()
    },
}
"""What lies in place of a file of an answer."""


def in_the_way(seed: int) -> Iterator[Point]:
    """Programs take it for a miss, `pflow cache verify` names what is damaged, and the next answer is kept again."""
    for way, change in WAYS.items():
        for name in ("entry", "blob"):
            for surface in ("stage", "step"):
                words = STAGE if surface == "stage" else ("pflow", "run", f"shell '{NOTE}' --cache", "-n", "-r")
                check = partial(check_in_the_way, change, name, words, way in CHANGES)
                yield Point(f"caches/{way}/{name}/{surface}", check)


def check_in_the_way(
    change: Callable[[Path], object], name: str, words: tuple[str, ...], is_damage: bool, directory: Path
) -> None:
    assert run_warm(*words).stdout == "is right\n"
    change(kept_files()[name])
    if is_damage:
        ended = run_warm("pflow", "cache", "verify")
        assert (ended.code, "shell" in ended.stderr + ended.stdout) == (1, True), ended
        assert not list(paths())
    assert run_warm(*words).stdout == "is right\n"
    assert run_warm("pflow", "cache", "verify").code in (0, 1)
    assert run_warm(*words).stdout == "is right\n"
    times = len(Path("log").read_text().split())
    assert run_warm(*words).stdout == "is right\n"
    assert len(Path("log").read_text().split()) == times, "it is not kept again"


def killed(seed: int) -> Iterator[Point]:
    """Stages that are killed while they keep their answer, and others that keep the same one at once."""
    for number in range(1_000_000):
        id = f"caches/killed/{number}"

        def check(directory: Path, id: str = id, number: int = number) -> None:
            chances = dice(id, seed)
            if number % 2:
                point = f"cache.{chances.choice(('write', 'written'))}:{chances.randrange(1, 3)}"
                process = start(*STAGE, PFLOW_TESTING="1", PFLOW_FAILPOINT=point)
            else:
                process = start(*STAGE)
                wait_for(Path("log").exists)
                time.sleep(chances.uniform(0, 0.02))
                process.send_signal(signal.SIGKILL)
            others = [start(*STAGE) for _ in range(2)]
            end_of(process, killed=True)
            assert [end_of(each).stdout for each in others] == ["is right\n"] * 2
            assert run_warm(*STAGE[:-1], "--cache=require").stdout == "is right\n"
            kept.prune(0)
            assert run_warm("pflow", "cache", "verify").code == 0
            for draft in Path(kept.directory()).rglob("*.tmp"):  # of the killed one: pruned once it is old
                draft.unlink()

        yield Point(id, check)


def points(share: int, seed: int) -> Iterator[Point]:
    return spread(share, inside(seed), in_the_way(seed), killed(seed))
