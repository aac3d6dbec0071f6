"""The clock jumps, an hour back or a year on, during a run and between a run and its resume."""

import json
import os
import random
import re
import time
from collections.abc import Iterator
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

from tests.faults.points import Point, series, spread
from tests.faults.scene import ALL, KILLED, Scene, check_resumed, has_finished
from tests.faults.shim import shim

NEEDS = ("cc", "faketime")
WEIGHT = 50

JUMPS = ("-1h", "+1y", "-400d", "+0")
NAP, MISSING = "0.05", 66


def points(share: int, seed: int) -> Iterator[Point]:
    kinds = ("during", "between", "twice")
    return spread(share, *(series(f"clocks/{kind}", ALL, seed, partial(jump, kind)) for kind in kinds))


def jump(kind: str, directory: Path, flow: str, chances: random.Random) -> None:
    scene, clock = Scene(directory, flow), directory / "clock"
    set_clock(clock, "+0")
    process = scene.begin([*scene.words(), "-j"], NAP=NAP)
    time.sleep(chances.uniform(0.2, scene.undisturbed.seconds + scene.undisturbed.visits * float(NAP)))
    if kind != "between":
        set_clock(clock, chances.choice(JUMPS[:3]))
        scene.run("run", "template", "--template=x", "-q")  # which may prune the runs
    if kind != "during":
        process.kill()
    if not has_finished(scene, process, KILLED):
        set_clock(clock, chances.choice(JUMPS))
        check_shown(scene)
        check_resumed(scene)
    check_shown(scene)


def set_clock(clock: Path, offset: str) -> None:
    """Set the clock of what this process starts, and has started."""
    (library,) = glob("/usr/lib/*/faketime/libfaketime.so.1")
    draft = clock.with_suffix(".new")
    draft.write_text(f"{offset}\n")
    draft.rename(clock)
    faked = {
        "LD_PRELOAD": f"{shim(clock.parent)}:{library}",
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
    }
    os.environ.update({**faked, "FAKETIME_DONT_FAKE_MONOTONIC": "1"})


def check_shown(scene: Scene) -> None:
    """No duration is negative, in the logs and in what is shown of them."""
    for log in scene.runs.glob("*/trace.jsonl"):
        for line in log.read_text().splitlines():
            assert not negative(json.loads(line)), line
    for words in (("runs",), ("trace",)):
        shown = scene.run(*words)
        assert shown.code in (0, MISSING), shown
        assert not re.search(rb"(?<![\w-])-\d[\d.]* ?(ms|s|m|h|d)\b", shown.stdout), shown


def negative(value: Any) -> list[str]:
    """Return the durations in an event that are negative."""
    if not isinstance(value, dict):
        return []
    own = [name for name, each in value.items() if name == "ms" and each < 0]
    return own + [name for each in value.values() for name in negative(each)]
