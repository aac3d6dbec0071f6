"""Workers, programs and whole groups that are killed, and processes that are stopped for a while."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from subprocess import Popen

from pflow.errors import Ignoring
from tests.faults.points import Point, series, spread
from tests.faults.scene import ALL, KILLED, NAMES, PROGRAM, Scene, check_resumed, has_finished

NEEDS: tuple[str, ...] = ()
WEIGHT = 140

WITH_WORKERS = [name for name in NAMES if not name.startswith("loop")]
TRY_AGAIN = 75
NAP = "0.05"
"""Seconds that each step takes: there is always one under way."""


def points(share: int, seed: int) -> Iterator[Point]:
    return spread(
        share, *(series(f"processes/{kind}", flows, seed, partial(disturb, act)) for kind, flows, act in KINDS)
    )


def disturb(
    act: Callable[[Scene, Popen[bytes], int], None], directory: Path, flow: str, chances: random.Random
) -> None:
    """Begin a run, and after a random time do something to it, or to a process that it began (0 if there is none)."""
    scene = Scene(directory, flow)
    process = scene.begin([*scene.words(), "-j"], NAP=NAP)
    time.sleep(chances.uniform(0.1, scene.undisturbed.seconds + scene.undisturbed.visits * float(NAP)))
    act(scene, process, chances.choice([*children(process.pid), 0]))


def children(pid: int) -> list[int]:
    """Return the processes that a process has begun, and those which these have."""
    try:
        own = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return own + [each for child in own for each in children(child)]


def kill_child(scene: Scene, process: Popen[bytes], child: int) -> None:
    """A worker, or a program, is killed; the run fails, or does without it."""
    if child:
        send(child, signal.SIGKILL)
    if not has_finished(scene, process, 128 - KILLED):
        check_resumed(scene)


def kill_group(scene: Scene, process: Popen[bytes], child: int) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    if not has_finished(scene, process, KILLED):
        check_resumed(scene)


def stop_child(scene: Scene, process: Popen[bytes], child: int) -> None:
    """It is stopped for a while, and goes on."""
    send(child or process.pid, signal.SIGSTOP)
    time.sleep(0.3)
    send(child or process.pid, signal.SIGCONT)
    assert has_finished(scene, process)
    assert set(scene.ran().values()) == {1}, scene.ran()


def stop_beside(scene: Scene, process: Popen[bytes], child: int) -> None:
    """While all of it is stopped, another one resumes it, or begins unless it runs: neither does anything."""
    os.killpg(process.pid, signal.SIGSTOP)
    if scene.left() and process.poll() is None:
        before = scene.ran()
        ended = [scene.run(*words) for words in (("resume", "last"), (*scene.words(), "--if-running=fail"))]
        assert [each.code for each in ended] == [TRY_AGAIN, TRY_AGAIN], ended
        assert scene.ran() == before
    os.killpg(process.pid, signal.SIGCONT)
    assert has_finished(scene, process)
    assert set(scene.ran().values()) == {1}, scene.ran()


def send(pid: int, number: signal.Signals) -> None:
    with Ignoring(ProcessLookupError):  # it has ended
        os.kill(pid, number)


KINDS = [
    ("kill-worker", WITH_WORKERS, kill_child),
    ("kill-program", [PROGRAM], kill_child),
    ("kill-group", [*WITH_WORKERS, PROGRAM], kill_group),
    ("stop-driver", NAMES, lambda scene, process, child: stop_child(scene, process, 0)),
    ("stop-worker", [*WITH_WORKERS, PROGRAM], stop_child),
    ("stop-beside", ALL, stop_beside),
]
