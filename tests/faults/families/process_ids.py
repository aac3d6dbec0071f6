"""Process ids that begin anew: what a killed run's process was called is another's, or the resuming one's, later."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from subprocess import Popen

from tests.faults.points import Point, dice, spread
from tests.faults.scene import ALL, Scene, check_resumed

NEEDS = ("namespaces",)
WEIGHT = 40

LAST_ID = Path("/proc/sys/kernel/ns_last_pid")
"""The id after which the next one is given, in this namespace."""
NAP = "0.05"
ENDED = 1.0


def points(share: int, seed: int) -> Iterator[Point]:
    return spread(share, *(series(kind, seed) for kind in ("stranger", "itself", "workers")))


def series(kind: str, seed: int) -> Iterator[Point]:
    for number, flow in enumerate(cycle(ALL)):
        id = f"process_ids/{kind}/{flow}/{number}"

        def check(directory: Path, flow: str = flow, id: str = id) -> None:
            inside = [sys.executable, "-m", __name__, str(directory), flow, kind, id, str(seed)]
            sh = ["sh", "-c", '"$@"; exit', "sh"]  # the namespace's first process collects those of others
            unshare = ["unshare", "--pid", "--mount-proc", "--fork", "--kill-child", *sh, *inside]
            root = Path(__file__).parents[3]
            ended = subprocess.run(unshare, cwd=root, capture_output=True, text=True, check=False)
            assert ended.returncode == 0, ended.stderr.strip().rpartition("\n")[2]

        yield Point(id, check)


def check_inside(directory: Path, flow: str, kind: str, id: str, seed: int) -> None:
    """Kill a run, give away its ids, and resume it: no stranger is waited for, or ended."""
    os.chdir(directory / "work")
    scene, chances = Scene(directory, flow), dice(id, seed)
    process = scene.begin([*scene.words(), "-j"], NAP=NAP)
    time.sleep(chances.uniform(0.1, scene.undisturbed.seconds + scene.undisturbed.visits * float(NAP)))
    ids = [process.pid, *range(process.pid + 1, process.pid + 12)]
    process.kill()
    scene.end(process)
    time.sleep(ENDED)  # until what it began has ended
    strangers = [] if kind == "itself" else [take(each) for each in (ids if kind == "workers" else ids[:1])]
    assert kind == "itself" or strangers[0], "its id was not free"
    if kind == "itself":
        LAST_ID.write_text(str(process.pid - 1))
    elif run := scene.left():
        shown, cancelled = scene.run("runs"), scene.run("cancel", run)
        assert b"running" not in shown.stdout, shown
        assert cancelled.code != 0, cancelled
    check_resumed(scene)
    assert all(each is None or each.poll() is None for each in strangers), "a stranger was ended"
    for each in filter(None, strangers):
        each.send_signal(signal.SIGKILL)
        each.wait()


def take(id: int) -> Popen[bytes] | None:
    """Start a process that has this id; None if another has it already."""
    LAST_ID.write_text(str(id - 1))
    stranger = Popen(["sleep", "600"], start_new_session=True)
    if stranger.pid == id:
        return stranger
    stranger.kill()
    stranger.wait()
    return None


if __name__ == "__main__":
    check_inside(Path(sys.argv[1]), *sys.argv[2:5], int(sys.argv[5]))
