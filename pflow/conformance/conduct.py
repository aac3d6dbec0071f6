"""Going through the checks: what came of each."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pflow.conformance import declared, inputs, outputs, refusals  # noqa: F401 - they enter their checks
from pflow.conformance.node import TestedNode
from pflow.conformance.trial import CHECKS, Check, Failed, Run, Skipped, Trial
from pflow.errors import CANNOT_WRITE, USAGE, PflowError

OK, FAILED, SKIPPED = "ok", "failed", "skipped"


@dataclass
class Verdict:
    """What came of a check: OK, FAILED (how) or SKIPPED (why), and the runs that were made for it."""

    check: Check
    result: str
    runs: list[Run]
    why: str = ""
    failed: Failed | None = None


def choose_checks(wanted: Sequence[str]) -> list[Check]:
    """The checks with one of these ids, or with an id that contains one; all without any. Raises PflowError (2)."""
    chosen: list[Check] = []
    for text in wanted:
        found = [check for check in CHECKS if check.id == text] or [check for check in CHECKS if text in check.id]
        if not found:
            raise PflowError(f"cannot find the check '{text}'", hint="--list shows them", exit=USAGE)
        chosen += found
    return [check for check in CHECKS if check in chosen or not wanted]


def conduct(node: TestedNode, given: list[str], checks: Sequence[Check], timeout: float) -> Generator[Verdict]:
    """Hold a node to the checks, one after the other. `given` are the user's words for runs that must succeed.

    Everything happens in a new directory, which is removed at the end. Raises PflowError: 2 where the words do not fit
    the node, 73 where the directory cannot be made.
    """
    try:
        with TemporaryDirectory(prefix="pflow-test-node-", ignore_cleanup_errors=True) as place:
            trial = Trial(node, given, Path(place), timeout)
            for check in checks:
                yield _judge(trial, check)
    except OSError as error:
        raise PflowError(f"cannot make a directory to test in: {error.strerror}", exit=CANNOT_WRITE) from None


def _judge(trial: Trial, check: Check) -> Verdict:
    before = len(trial.begun)
    verdict = Verdict(check, OK, [])
    try:
        check.function(trial)
    except Skipped as skipped:
        verdict = Verdict(check, SKIPPED, [], why=str(skipped))
    except Failed as failed:
        verdict = Verdict(check, FAILED, [], failed=failed)
    verdict.runs = trial.begun[before:]
    return verdict
