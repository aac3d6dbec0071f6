"""Runs that are killed: at every commit point, at random times, and night after night by a cron line."""

import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

from tests.faults.points import Point, series, spread
from tests.faults.scene import KILLED, NAMES, NEEDS_WORD, Scene, check_ran, check_resumed, has_finished

NEEDS: tuple[str, ...] = ()
WEIGHT = 500

COMMIT_POINTS = dict(zip(NAMES, (28, 42, 22, 32, 24, 36, 52, 78), strict=True))
"""How often a run of each flow passes a failpoint; it is killed once after the last one, too."""

WORKER_KILLED = 128 - KILLED


def points(share: int, seed: int) -> Iterator[Point]:
    more = [
        series("kills/random", NAMES, seed, kill_at_random),
        series("kills/nights", ("batch-twice", "subflow-once"), seed, kill_each_night),
        series("kills/large", ("loop-twice", "loop-once"), seed, kill_large),
    ]
    return spread(share, commit_points(seed), *more)


def commit_points(seed: int) -> Iterator[Point]:
    """The run, or one of its workers, is killed where it writes."""
    places = [(flow, passing) for flow in NAMES for passing in range(1, COMMIT_POINTS[flow] + 2)]
    random.Random(seed).shuffle(places)
    for flow, passing in places:

        def check(directory: Path, flow: str = flow, passing: int = passing) -> None:
            scene = Scene(directory, flow)
            failpoint = {"PFLOW_TESTING": "1", "PFLOW_FAILPOINT": f"*:{passing}"}
            process = scene.begin([*scene.words(), "-j"], **failpoint)
            has_ended = has_finished(scene, process, KILLED, WORKER_KILLED)
            is_near = abs(passing - COMMIT_POINTS[flow]) < 3  # workers may have come in another order
            assert is_near or has_ended == (passing > COMMIT_POINTS[flow]), "there are more points, or fewer"
            if not has_ended:
                check_resumed(scene)

        yield Point(f"kills/commit-point/{flow}/{passing}", check)


def kill_at_random(directory: Path, flow: str, chances: random.Random) -> None:
    """The run is killed after a random time."""
    scene = Scene(directory, flow)
    pause = chances.uniform(0, scene.undisturbed.seconds * 1.1)
    process = scene.begin([*scene.words(), "-j"])
    time.sleep(pause)
    process.kill()
    if not has_finished(scene, process, KILLED):
        check_resumed(scene)


def kill_large(directory: Path, flow: str, chances: random.Random) -> None:
    """The run, whose journal is long, is killed where that is rewritten, or at a random time."""
    scene = Scene(directory, flow, "s" * 90_000)
    point = chances.choice(["journal.compact:1", "journal.compact.written:1", ""])
    process = scene.begin([*scene.words(), "-j"], PFLOW_TESTING="1", PFLOW_FAILPOINT=point)
    if not point:
        time.sleep(chances.uniform(0, scene.undisturbed.seconds))
        process.kill()
    if not has_finished(scene, process, KILLED):
        check_resumed(scene)
    else:
        assert not point, "it was not rewritten"


def kill_each_night(directory: Path, flow: str, chances: random.Random) -> None:
    """A cron line, `pflow run --resume FLOW -q`, is killed at a random time of each night and started again.

    What may not repeat and was under way is told to be done again, as a person would after a look.
    """
    scene = Scene(directory, flow)
    for night in range(4):
        scene.log.unlink(missing_ok=True)
        check_night(scene, chances, f"night {night}")


def check_night(scene: Scene, chances: random.Random, name: str) -> None:
    undisturbed = scene.undisturbed
    line = [*scene.words(name), "--resume", "-q"]
    process = scene.begin(line)
    time.sleep(chances.uniform(0, undisturbed.seconds))
    process.kill()
    if scene.end(process).code != KILLED:
        return  # it had been done before, and another time would do it again
    before = scene.ran()
    ended, asked = scene.run(*line), set[str]()
    if ended.code == NEEDS_WORD:
        assert scene.ran() == before, "it ran something before it was told"
        asked = set(re.findall(r"--redo=([\w/-]+)", ended.stderr))
        ended = scene.run("resume", "last", "-q", *(f"--redo={step}" for step in sorted(asked)))
    assert ended.code == 0, ended.stderr
    assert not (asked and scene.may_repeat), asked
    visits = undisturbed.visits
    if not (len(before) == visits and len(scene.ran()) == 2 * visits):  # the kill came after the end
        check_ran(scene, visits, 2 if scene.may_repeat or asked else 0)
