"""`make fuzz`: each target for a minute, two at a time; FUZZ='--seconds 60 --only templates --seed 5'.

A round of examples has a seed of its own, the one after the last; a failure tells the one that repeats it.
"""

import argparse
import contextlib
import io
import resource
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.targets import TARGETS
from tests.tools import limited

ROUND = 300
_SHRINK = 20.0
"""Seconds of CPU in which a failing example is made small."""


class Failed(Exception):
    """The smallest example that failed."""


def play(name: str, number: int, examples: int = ROUND) -> int:
    """Run a round of a target, and return how many examples there were. Raises Failed, from what it raised."""
    strategy, check = TARGETS[name]
    found: list[tuple[int, Any, BaseException, float]] = []
    count = 0

    def limited_check(example: Any) -> None:
        nonlocal count
        count += 1
        if found and time.process_time() > found[0][3] + _SHRINK:
            raise KeyboardInterrupt
        try:
            with limited():
                check(example)
        except Exception as error:
            found.append((len(repr(example)), example, error, time.process_time()))
            raise

    rules = settings(
        max_examples=examples, database=None, deadline=None, phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    try:
        seed(number)(rules(given(strategy)(limited_check)))()
    except BaseException:
        if not found:
            raise
        _, example, error, _ = min(found, key=lambda each: each[0])
        raise Failed(repr(example)[:5000]) from error
    return count


def fuzz(name: str, seconds: float, number: int) -> tuple[bool, str]:
    """Run rounds of a target until the time is up; return whether it passed, and what to print."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    began, count = time.monotonic(), 0
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            while not count or time.monotonic() < began + seconds:
                count += play(name, number)
                number += 1
        except Exception as error:
            again = f"make fuzz FUZZ='--only {name} --seed {number} --seconds 0'"
            shown = "".join(traceback.format_exception(error.__cause__ or error)[-5:])
            return False, f"{name}: FAILED in round {number}\n{shown}{error}\nrepeat it: {again}"
    took = time.monotonic() - began
    return True, f"{name}: {count} examples, {count / took:.0f} a second, the last seed is {number - 1}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", choices=TARGETS, action="append")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000 * 1000)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    failed = False
    with ProcessPoolExecutor(2, max_tasks_per_child=1) as pool:
        runs = [pool.submit(fuzz, name, options.seconds, options.seed) for name in options.only or TARGETS]
        for run in runs:
            passed, text = run.result()
            print(text, flush=True)
            failed |= not passed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
