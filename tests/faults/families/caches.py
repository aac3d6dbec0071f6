"""Caches whose entries are cut at every byte, flipped, missing or in the way: a wrong value never reaches a node."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pflow.cache import place
from pflow.cache.entries import Entry, find, keep, paths
from pflow.cache.key import Key, KeyPart
from tests.faults.points import Point, dice, spread
from tests.faults.programs import end_of, run, run_warm, start, wait_for

NEEDS: tuple[str, ...] = ()
WEIGHT = 100

ANSWER = {"action": None, "changes": {"text": "is right"}, "removed": []}
KEY = Key("try", [KeyPart("read", "a", 1)], {})
NOTE = "echo x >>log; echo is right"
STAGE = ("pflow-shell", "-n", "-r", NOTE, "--cache")


def kept_files() -> dict[str, Path]:
    """The two files of the one answer that is kept: its entry and its blob."""
    (entry,) = map(Path, paths())
    return {"entry": entry, "blob": Path(Entry(str(entry)).blob_path)}


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


def inside(seed: int) -> Iterator[Point]:
    for change in (cut, flip, zero, grow):
        for name in ("entry", "blob"):
            for part in range(4 if name == "entry" else 2):
                check = partial(at_every_byte, change, name, part)
                yield Point(f"caches/{change.__name__}/{name}/{part}", check)


def unlink(file: Path) -> None:
    file.unlink()


def become_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def become_full_directory(file: Path) -> None:
    become_directory(file)
    (file / "x").touch()


def become_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def become_link(file: Path) -> None:
    """A link to what another could have written."""
    other = Path("other")
    other.write_bytes(file.read_bytes())
    other.chmod(0o666)
    file.unlink()
    file.symlink_to(other.absolute())


def become_dangling(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


def become_open(file: Path) -> None:
    """A file that others may write."""
    file.chmod(0o666)


def become_closed(file: Path) -> None:
    file.chmod(0)


def become_swapped(file: Path) -> None:
    """The answer of another key."""
    files = kept_files()
    keep(Key("try", [KeyPart("read", "a", 2)], {}), {**ANSWER, "changes": {"text": "is wrong"}})
    entry = next(each for each in map(Path, paths()) if each.name != files["entry"].name)
    blob = Path(Entry(str(entry)).blob_path)
    (entry if file == files["entry"] else blob).replace(file)
    if entry.exists():
        entry.unlink()


def become_foreign(file: Path) -> None:
    if os.geteuid() == 0:
        os.chown(file, 65534, 65534)


WAYS = (
    unlink, become_directory, become_full_directory, become_pipe, become_link, become_dangling, become_open,
    become_closed, become_swapped, become_foreign,
)  # fmt: skip


def in_the_way(seed: int) -> Iterator[Point]:
    """What lies in place of a file, seen through programs: a miss, and `pflow cache verify` names or repairs it."""
    for way in (*WAYS, cut, flip):
        for name in ("entry", "blob"):
            for surface in ("stage", "step"):

                def check(
                    directory: Path, way: Callable[..., object] = way, name: str = name, surface: str = surface
                ) -> None:
                    words = STAGE if surface == "stage" else ("pflow", "run", f"shell '{NOTE}' --cache", "-n", "-r")
                    assert run_warm(*words).stdout == "is right\n"
                    file = kept_files()[name]
                    if way in (cut, flip):
                        file.write_bytes(way(file.read_bytes(), 20))
                    elif way is become_swapped:
                        file.write_bytes(b'{"made":1,"run":"","key":"0","blob":"0","parts":[]}')
                    else:
                        way(file)
                    ended = run_warm(*words)
                    assert (ended.code, ended.stdout) == (0, "is right\n"), ended
                    verified = run_warm("pflow", "cache", "verify")
                    assert verified.code in (0, 1), verified
                    assert run_warm("pflow", "cache", "verify").code == 0, "it names what it had removed"
                    assert run_warm(*words).stdout == run_warm(*words).stdout == "is right\n"
                    times = len(Path("log").read_text().split())
                    assert run_warm(*words).stdout == "is right\n"
                    assert len(Path("log").read_text().split()) == times, "it is not kept again"
                    assert run_warm("pflow", "cache", "clear").code == 0

                yield Point(f"caches/{way.__name__}/{name}/{surface}", check)


def verified(seed: int) -> Iterator[Point]:
    """A damaged answer is named by `pflow cache verify`, before anybody asks for it."""
    for change in (cut, flip, zero, grow):
        for name in ("entry", "blob"):

            def check(directory: Path, change: Callable[[bytes, int], bytes] = change, name: str = name) -> None:
                file = keep_answer()[name]
                file.write_bytes(change(file.read_bytes(), 20))
                ended = run("pflow", "cache", "verify")
                assert (ended.code, "try" in ended.stderr + ended.stdout) == (1, True), ended
                assert not list(paths())

            yield Point(f"caches/verify/{change.__name__}/{name}", check)


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
            place.prune(0)
            assert run_warm("pflow", "cache", "verify").code == 0
            for draft in Path(place.directory()).rglob("*.tmp"):  # of the killed one: pruned once it is old
                draft.unlink()

        yield Point(id, check)


def points(share: int, seed: int) -> Iterator[Point]:
    return spread(share, inside(seed), in_the_way(seed), verified(seed), killed(seed))
