"""SIGTERM, SIGINT and SIGHUP at random times: a run, a stage, and both while they load what asks a model."""

import os
import random
import signal
import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from subprocess import Popen, TimeoutExpired

from tests.faults.points import Point, series, spread
from tests.faults.scene import ALL, Program, Scene, check_resumed, has_finished
from tests.peers.openai_server import OpenAIServer

NEEDS: tuple[str, ...] = ()
WEIGHT = 110

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
NAP = "0.05"
LOADING = 1.5
"""Seconds within which the libraries are loaded, about."""
PATIENCE = 60
"""Seconds after which a signal was lost, on a machine with much else to do."""


def points(share: int, seed: int) -> Iterator[Point]:
    names = [f"{flow}/{each.name}" for flow, each in product(ALL, SIGNALS)]
    runs = [series(f"signals/run-{times}", names, seed, partial(check_run, times)) for times in ("once", "twice")]
    signs = [each.name for each in SIGNALS]
    models = [series(f"signals/model-{what}", signs, seed, partial(check_model, what)) for what in ASKING]
    return spread(share, *runs, *models)


def check_run(times: str, directory: Path, name: str, chances: random.Random) -> None:
    """A run gets a signal, or two, and is resumed."""
    flow, _, sign = name.partition("/")
    scene, signum = Scene(directory, flow), signal.Signals[sign]
    process = scene.begin([*scene.words(), "-j"], NAP=NAP)
    wait_until_caught(process)
    time.sleep(chances.uniform(0, scene.undisturbed.seconds + scene.undisturbed.visits * float(NAP)))
    process.send_signal(signum)
    if times == "twice":
        time.sleep(chances.uniform(0, 0.05))
        process.send_signal(signum)
    if not has_finished(scene, process, -signum):
        check_resumed(scene)


ASKING = {
    "stage": ["llm", "--model=stall", "x", "-n"],
    "flow": ["run", "llm --model=stall --prompt=x", "-n"],
    "late": ["run", "shell --command='sleep 0.2; echo x' => llm --model=stall", "-n"],
    "branch": ["run", "--isolate", "llm --model=stall --prompt=x", "-n"],
}


def check_model(what: str, directory: Path, name: str, chances: random.Random) -> None:
    """What asks a model that never answers ends by the signal, whatever it loads when that comes."""
    with OpenAIServer(directory) as server:
        os.environ.update({"LLM_USER_PATH": str(server.llm_user_path), "NO_PROXY": "127.0.0.1"})
        end_while_loading(Program(directory), ASKING[what], signal.Signals[name], chances)


def end_while_loading(program: Program, words: list[str], signum: signal.Signals, chances: random.Random) -> None:
    process = program.begin(words)
    wait_until_caught(process)
    time.sleep(chances.uniform(0, LOADING))
    process.send_signal(signum)
    try:
        process.wait(PATIENCE)
    except TimeoutExpired:
        process.kill()
        raise AssertionError("the signal was lost") from None
    ended = program.end(process)
    assert ended.code == -signum, ended


def wait_until_caught(process: Popen[bytes]) -> None:
    """Wait until it catches SIGTERM: Python's own traceback of SIGINT is behind it."""
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            return
        caught = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt")), 0)
        if caught >> signal.SIGTERM - 1 & 1:
            return
        time.sleep(0.001)
