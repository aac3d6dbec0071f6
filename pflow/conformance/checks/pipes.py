"""What a node does when nobody reads what it writes."""

from __future__ import annotations

from pflow.conformance.check import Check, fail, how_it_ended
from pflow.conformance.process import EARLY, GONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.conformance.trial import Run, Trial

_DEAD = (-13, 141)


def closed_stdout_ends_it(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    _expect_silence(trial.run(trial.samples.words_without(), trial.document(), reader=GONE))


def early_reader_ends_it(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    sent = trial.document({"large": "x" * 10_000_000})
    _expect_silence(trial.run(trial.samples.words_without(), sent, reader=EARLY))


def _expect_silence(run: Run) -> None:
    change = "let SIGPIPE end you, or exit with 141 and say nothing"
    if run.code not in _DEAD:
        fail(run, f"{how_it_ended(run)}, though nobody read its stdout", "141, or killed by SIGPIPE", change)
    if run.stderr:
        fail(run, f"on stderr: {run.stderr[-120:]!r}", "not a word: head has all that it wanted", change)


CHECKS = (
    Check("closed-stdout", "a closed stdout ends it silently", closed_stdout_ends_it),
    Check("early-reader", "a reader that goes away early ends it silently", early_reader_ends_it),
)
