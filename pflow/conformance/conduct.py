"""Conduct the checks and print the report; try a stranger's node, confined, before it is installed."""

import os
import shlex
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pflow.conformance import answers, inputs  # noqa: F401 - they enter their checks
from pflow.conformance.samples import Skipped
from pflow.conformance.sandbox import Failed, NodeRun, limit_files
from pflow.conformance.trial import CHECKS, Check, TestedNode, Trial, find_node
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, USAGE, Attempt, PflowError
from pflow.process.children import adopt_orphans
from pflow.process.confine import has_landlock
from pflow.terminal.columns import Colour
from pflow.text.printable import clean
from pflow.values.secrets import Secrets

OK, FAILED, SKIPPED = "ok", "failed", "skipped"
_WIDTH = 16
_LONGEST = 400
_LONGEST_INPUT = 4000


@dataclass
class Verdict:
    """The result of a check: OK, FAILED or SKIPPED, the reason, and the runs that were made for it."""

    check: Check
    result: str
    runs: Sequence[NodeRun]
    why: str = ""
    failed: Failed | None = None

    @property
    def account(self) -> dict[str, str]:
        """The facts about a failure: what was sent, what came, what was expected, what to change."""
        if self.failed is None:
            return {}
        sent = command_of(self.failed.run) if self.failed.run else ""
        came = self.failed.came if len(self.failed.came) <= _LONGEST else f"{self.failed.came[:_LONGEST]}…"
        return {"sent": sent, "came": came, "expected": self.failed.expected, "change": self.failed.change}


def choose_checks(wanted: Sequence[str]) -> list[Check]:
    """Return the checks whose ids equal or contain one of `wanted`; all if it is empty. Raises PflowError (2)."""
    chosen: list[Check] = []
    for text in wanted:
        found = [check for check in CHECKS if check.id == text] or [check for check in CHECKS if text in check.id]
        if not found:
            raise PflowError(f"cannot find the check '{text}'", hint="--list shows them", exit=USAGE)
        chosen += found
    return [check for check in CHECKS if check in chosen or not wanted]


def conduct(
    node: TestedNode, given: list[str], checks: Sequence[Check], timeout: float, *, confined: bool = False
) -> Generator[Verdict]:  # fmt: skip
    """Yield the verdict of each check on a node. `given` are the user's words for runs that must succeed.

    A stranger's node runs `confined` (NodeRun). All runs are in a new directory, which is removed at the end. Raises
    PflowError (2, 73).
    """
    with Attempt("cannot make a directory to test in", exit=CANNOT_WRITE):
        directory = TemporaryDirectory(prefix="pflow-test-node-", ignore_cleanup_errors=True)
    with directory as place:
        trial, secrets = Trial(node, given, Path(place), timeout, confined=confined), _secrets_of(node)
        for check in checks:
            yield _judge(trial, check, secrets)


def _secrets_of(node: TestedNode) -> Secrets:
    secrets = Secrets()
    for field in node.interface.secrets:
        secrets.add(os.environ.get(field.env))
    return secrets


def _judge(trial: Trial, check: Check, secrets: Secrets) -> Verdict:
    before = len(trial.begun)
    try:
        if check.of_good_run:
            trial.answer  # noqa: B018 - raises Skipped
        check.function(trial)
    except Skipped as skipped:
        return Verdict(check, SKIPPED, trial.begun[before:], why=secrets.mask(str(skipped)))
    except Failed as failed:
        failed.came = secrets.mask(failed.came)
        return Verdict(check, FAILED, trial.begun[before:], failed=failed)
    return Verdict(check, OK, trial.begun[before:])


def list_lines(checks: Sequence[Check]) -> str:
    return "".join(f"{check.id:{_WIDTH}}{check.demand}\n" for check in checks)


def verdict_lines(verdict: Verdict, colour: Colour, *, verbose: bool) -> str:
    """Return a check's line, and below it the facts about a failure; `verbose` adds skipped checks, and the runs."""
    if verdict.result == SKIPPED and not verbose:
        return ""
    words = {OK: ("ok", colour.good), FAILED: ("FAILED", colour.fault), SKIPPED: ("skipped", colour.dim)}
    word, paint = words[verdict.result]
    more = [f"$ {command_of(run)}" for run in verdict.runs] if verbose else []
    more += [f"{name:10}{text}" for name, text in verdict.account.items() if text]
    first = f"{verdict.check.id:{_WIDTH}}{clean(verdict.why or verdict.check.demand)}"
    return "".join([f"{paint(f'{word:9}')}{first}\n", *(f"         {clean(line)}\n" for line in more)])


def summary(node: TestedNode, verdicts: Sequence[Verdict]) -> str:
    counts = [f"{sum(each.result == result for each in verdicts)} {result}" for result in (OK, FAILED, SKIPPED)]
    return f"{clean(node.name)}: {', '.join(counts)}\n"


def as_json(node: TestedNode, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the report for other programs."""
    is_ok = not any(each.failed for each in verdicts)
    return {"node": node.name, "file": node.file, "ok": is_ok, "checks": [_entry(each) for each in verdicts]}


def _entry(verdict: Verdict) -> dict[str, Any]:
    return {
        "id": verdict.check.id,
        "demand": verdict.check.demand,
        "result": verdict.result,
        **({"why": verdict.why} if verdict.why else {}),
        **verdict.account,
        "runs": [command_of(run) for run in verdict.runs],
    }


def command_of(run: NodeRun) -> str:
    """Return a command that repeats a run; a long input is cut short in it."""
    settings = [f"{name}={shlex.quote(value)}" for name, value in run.environment.items()]
    words = " ".join([*settings, *map(shlex.quote, run.argv)]) + run.reader
    if run.stdin is None:
        return f"{words} </dev/null"
    if len(run.stdin) > _LONGEST_INPUT:
        return f"printf {_format(run.stdin[:_LONGEST_INPUT])}… | {words}"
    return f"printf {_format(run.stdin)} | {words}"


def _format(data: bytes) -> str:
    return shlex.quote("".join(map(_escaped, data.decode("utf-8", "surrogateescape"))))


def _escaped(char: str) -> str:
    special = {"\n": "\\n", "\\": "\\\\", "%": "%%"}.get(char)
    if special or char.isprintable():
        return special or char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


_SECONDS = 10.0
"""The most seconds that one run of the node may take."""


def try_node(file: str) -> list[Verdict]:
    """Run a node in directories of its own, and return the verdicts: FAILED if it does not keep to what it declares.

    The node and the processes that it starts can write only there. They get no secrets, and no internet unless it
    declares the network. If the node ends with an error or declares no interface, the checks that need a result are
    SKIPPED, not FAILED. Raises PflowError if the file is not a node, or without Landlock (78): then nothing is run.
    """
    if not has_landlock():
        raise PflowError(f"cannot try '{file}': the kernel has no Landlock to confine it", exit=BAD_CONFIG)
    node = find_node(file)
    checks = choose_checks(["effects", "network", "isolation", "leftovers"])
    limit_files()
    adopt_orphans(is_on=True)
    try:
        always = [replace(check, of_good_run=check.id == "isolation") for check in checks]
        verdicts = list(conduct(node, [], always, _SECONDS, confined=True))
    finally:
        adopt_orphans(is_on=False)
    for each in verdicts:
        each.why = clean(each.why.replace("(see runs)", "with sample values").replace(" (see interface)", ""))
    return verdicts
