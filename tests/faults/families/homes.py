"""No home, one that may only be read, a file in place of a directory, and the bare environment of cron."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.faults.points import Point, spread
from tests.faults.scene import DOCUMENTED, NAMES, PFLOW, Scene, store_of

NEEDS: tuple[str, ...] = ()
WEIGHT = 40

HOME_NAMES = ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def points(share: int, seed: int) -> Iterator[Point]:
    return spread(share, *(series(name, act) for name, act in KINDS.items()))


def series(name: str, act: Callable[[Scene], tuple[list[str], dict[str, str]]]) -> Iterator[Point]:
    for flow in NAMES:
        for words in ([], ["--no-journal"], ["--if-running=fail"]):

            def check(directory: Path, flow: str = flow, words: list[str] = words) -> None:
                scene = Scene(directory, flow)
                before, environment = act(scene)
                command = [*before, PFLOW, *scene.words(), *words, "-j"]
                ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                assert "Traceback" not in ran.stderr, ran.stderr
                assert ran.returncode in DOCUMENTED, ran
                if ran.returncode:
                    assert not scene.ran(), "it ran something, and failed"
                    assert "'" in ran.stderr or "HOME" in ran.stderr, ran.stderr
                else:
                    assert store_of(ran.stdout.encode()) == scene.undisturbed.store, "another store"
                    assert set(scene.ran().values()) == {1}, scene.ran()
                assert ran.returncode == 0 or "--no-journal" not in words or name == "cron", ran
                for path in (directory / "home").rglob("*"):
                    path.chmod(0o700)

            yield Point(f"homes/{name}/{flow}/{words[0].strip('-') if words else 'plain'}", check)


def without(scene: Scene, *names: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in names}


def nowhere(scene: Scene) -> tuple[list[str], dict[str, str]]:
    """Neither HOME nor a variable of XDG names a place."""
    return [], without(scene, *HOME_NAMES)


def bare(scene: Scene) -> tuple[list[str], dict[str, str]]:
    """What cron gives: a home, a short PATH, and nothing else."""
    kept = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "LOGNAME": "ada"}
    return [], {**kept, "PFLOW_NODES": os.environ["PFLOW_NODES"], "FAULT_POINT": os.environ["FAULT_POINT"]}


def file_as_state(scene: Scene) -> tuple[list[str], dict[str, str]]:
    state = scene.directory / "state-file"
    state.write_text("a file")
    return [], {**os.environ, "XDG_STATE_HOME": str(state)}


def file_as_cache(scene: Scene) -> tuple[list[str], dict[str, str]]:
    cache = scene.directory / "cache-file"
    cache.write_text("a file")
    return [], {**os.environ, "XDG_CACHE_HOME": str(cache)}


def read_only(scene: Scene) -> tuple[list[str], dict[str, str]]:
    """A user who is not root, whose home may only be read; the work is another's, but the log may be written."""
    home = Path(os.environ["HOME"])
    home.chmod(0o555)
    scene.log.touch()
    scene.log.chmod(0o666)
    for place in (scene.shared, scene.log.parent, scene.directory):
        place.chmod(0o755)
    return NOBODY if os.geteuid() == 0 else [], without(scene, *HOME_NAMES[1:])


KINDS = {
    "none": nowhere,
    "cron": bare,
    "state-is-a-file": file_as_state,
    "cache-is-a-file": file_as_cache,
    "read-only": read_only,
}
