"""Crowds: 300 starts at once that share a cache, and batches some of whose items end their workers."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.faults.points import Point, dice, spread
from tests.faults.programs import children, end_of, run, run_warm, send, start, wait_for

NEEDS: tuple[str, ...] = ()
WEIGHT = 30

STARTS, WAVE = 300, 30
"""Two processors stand so many at once."""


def crowds(seed: int) -> Iterator[Point]:
    """Stages and runs that want one answer, or one of a few: each has the right one, and all are kept whole."""
    for kind in ("stage", "run"):
        for answers in (1, 5):

            def check(directory: Path, kind: str = kind, answers: int = answers) -> None:
                starts = STARTS if kind == "stage" else STARTS // 3
                for at in range(0, starts, WAVE):
                    wave = [start(*_words(kind, number % answers)) for number in range(at, at + WAVE)]
                    said = [end_of(each) for each in wave]
                    wanted = [f"is {number % answers}\n" for number in range(at, at + WAVE)]
                    assert [each.stdout for each in said] == wanted, said
                ran = len(Path("log").read_text().split())
                assert answers <= ran <= WAVE, f"{ran} ran: those of the first wave may"
                assert run_warm("pflow", "cache", "verify").code == 0
                if kind == "run":
                    assert run_warm("pflow", "runs", "--json").stdout.count('"done"') >= starts

            yield Point(f"crowds/{kind}/{answers}", check)


def _words(kind: str, number: int) -> tuple[str, ...]:
    command = f"echo x >>log; echo is {number}"
    if kind == "stage":
        return ("pflow-shell", "-n", "-r", command, "--cache")
    return ("pflow", "run", f"shell '{command}' --cache", "-n", "-r")


COUNT = 8
COMMAND = 'echo $1 >>log; case $1 in [36]) eval "$POISON";; esac; echo is $1'
POISONS = {
    "worker": "kill -9 $PPID",
    "both": "kill -9 $PPID $$",
    "fails": "exit 3",
    "stops": "kill -STOP $PPID; sleep 9",
}


def batches(seed: int) -> Iterator[Point]:
    """Items 3 and 6 of a batch end their worker, or stop it; the others are done, and what is done stays done."""
    for poison, command in POISONS.items():
        for on_error in ("stop", "keep"):
            for jobs in (1, 2, 4):
                if poison == "stops" and on_error == "stop":
                    continue  # nobody ends a worker without a limit

                def check(directory: Path, command: str = command, on_error: str = on_error, jobs: int = jobs) -> None:
                    _make_flow(on_error, jobs)
                    os.environ["POISON"] = command
                    limit = ("--timeout=2",) if "STOP" in command else ()
                    process = start("pflow", "run", "batch.pflow.json", "-n", "-j", *limit)
                    ended = end_of(process, killed=jobs == 1)  # which has no worker
                    assert ended.code in (-9, *((1, 124) if on_error == "keep" else (3, 137))), ended
                    before = _ran()
                    os.environ["POISON"] = "true"
                    is_over = on_error == "keep" and ended.code == 1
                    again = run("pflow", "resume", "last", "-j", *["--failed"] * is_over, *_redo(ended.stderr))
                    if again.code == 65:  # a step that may not repeat has begun
                        again = run("pflow", "resume", "last", "-j", *_redo(again.stderr))
                    assert again.code == 0, again
                    assert json.loads(again.stdout)["stdout"] == [f"is {number}\n" for number in range(COUNT)]
                    assert set(_ran()) == {str(number) for number in range(COUNT)}
                    twice = {item for item, times in (_ran() - before).items() if item in before}
                    assert len(twice - {"3", "6"}) <= (jobs if not is_over else 0), f"{twice} ran again"

                yield Point(f"crowds/batch/{poison}/{on_error}/{jobs}", check)


def _make_flow(on_error: str, jobs: int) -> None:
    batch = {"over": "all", "as": "item", "jobs": jobs, "on_error": on_error}
    inputs = {"command": COMMAND, "args": ["$item"]}
    each = {"id": "each", "type": "shell", "repeats": True, "batch": batch, "inputs": inputs}
    ir = {"pflow": 1, "inputs": {"all": {"type": "list", "default": [*range(COUNT)]}}, "nodes": [each]}
    Path("batch.pflow.json").write_text(json.dumps(ir))


def _redo(said: str) -> list[str]:
    return ["--redo=each"] if "--redo=each" in said else []


def _ran() -> Counter[str]:
    return Counter(Path("log").read_text().split())


def disturbed(seed: int) -> Iterator[Point]:
    """A worker of a batch is killed or stopped for a while, at a random moment."""
    for number in range(1_000_000):
        id = f"crowds/worker/{number}"

        def check(directory: Path, id: str = id, number: int = number) -> None:
            chances = dice(id, seed)
            os.environ["POISON"] = "sleep 0.1"
            _make_flow("stop", 2)
            process = start("pflow", "run", "batch.pflow.json", "-n", "-j")
            wait_for(lambda: Path("log").exists() or process.poll() is not None)
            time.sleep(chances.uniform(0, 0.1))
            for pid in children(process.pid)[:1]:
                send(pid, signal.SIGKILL if number % 2 else signal.SIGSTOP)
                if not number % 2:
                    time.sleep(0.3)
                    send(pid, signal.SIGCONT)
            ended = end_of(process, killed=bool(number % 2))
            assert ended.code in ((0, 137) if number % 2 else (0,)), ended
            if ended.code:
                ended = run("pflow", "resume", "last", "-j")
            assert json.loads(ended.stdout)["stdout"] == [f"is {number}\n" for number in range(COUNT)], ended
            assert sum(_ran().values()) - COUNT <= 2, _ran()

        yield Point(id, check)


def points(share: int, seed: int) -> Iterator[Point]:
    return spread(share, batches(seed), disturbed(seed), crowds(seed))
