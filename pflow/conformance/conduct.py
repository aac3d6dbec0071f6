"""Going through the checks: what came of each."""

from __future__ import annotations

import tempfile

from pflow.conformance.check import Failed
from pflow.conformance.checks import CHECKS
from pflow.conformance.place import remove
from pflow.conformance.trial import Skipped, Trial
from pflow.errors import CANNOT_WRITE, USAGE, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pflow.conformance.check import Check
    from pflow.conformance.target import Target
    from pflow.conformance.trial import Run

OK, FAILED, SKIPPED = "ok", "failed", "skipped"


class Verdict:
    """What came of a check: OK, FAILED (and how) or SKIPPED (and why); `runs` are those that were made for it."""

    def __init__(
        self, check: Check, result: str, runs: list[Run], *, why: str = "", failed: Failed | None = None
    ) -> None:
        self.check = check
        self.result = result
        self.runs = runs
        self.why = why
        self.failed = failed


def choose_checks(wanted: Sequence[str]) -> list[Check]:
    """The checks that have one of these ids, or hold one in theirs; all without any. Raises PflowError (2)."""
    chosen = []
    for text in wanted:
        found = [check for check in CHECKS if check.id == text] or [check for check in CHECKS if text in check.id]
        if not found:
            raise PflowError(f"cannot find the check '{text}'", hint="--list shows them", exit=USAGE)
        chosen += found
    return [check for check in CHECKS if check in chosen] if wanted else list(CHECKS)


def conduct(target: Target, given: list[str], checks: Sequence[Check], timeout: float) -> Generator[Verdict]:
    """Hold a node to the checks, one after the other. `given` are words that the runs get which must succeed.

    Everything happens in a new directory that is removed at the end, however that comes. Raises PflowError: 2 where the
    words are none of the node's, 73 where there is no room for a directory.
    """
    try:
        place = tempfile.mkdtemp(prefix="pflow-test-node-")
    except OSError as error:
        raise PflowError(f"cannot make a directory to test in: {error.strerror}", exit=CANNOT_WRITE) from None
    try:
        trial = Trial(target, given, place, timeout)
        trial.take_words()
        for check in checks:
            yield _judge(trial, check)
    finally:
        remove(place)


def _judge(trial: Trial, check: Check) -> Verdict:
    before = len(trial.begun)
    try:
        check.function(trial)
    except Skipped as skipped:
        return Verdict(check, SKIPPED, trial.begun[before:], why=str(skipped))
    except Failed as failed:
        return Verdict(check, FAILED, trial.begun[before:], failed=failed)
    return Verdict(check, OK, trial.begun[before:])
