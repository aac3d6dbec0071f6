"""The report: a line a check, what was sent where one failed, and a last line with the numbers."""

from __future__ import annotations

import os
import re
import shlex

from pflow.conformance.conduct import FAILED, OK, SKIPPED
from pflow.conformance.process import EARLY, GONE
from pflow.conformance.samples import FILES
from pflow.conformance.trial import NEVER_ENDS, NO_INTERFACE, UNTIL_IT_RUNS
from pflow.terminal.columns import clean, encodable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pflow.conformance.check import Check, Failed
    from pflow.conformance.conduct import Verdict
    from pflow.conformance.target import Target
    from pflow.conformance.trial import Run
    from pflow.terminal.colour import Colour

_WIDTH = 16
_LONGEST = 400
_WAITING = (NO_INTERFACE, UNTIL_IT_RUNS, NEVER_ENDS)
_WORDS = {OK: "ok", FAILED: "FAILED", SKIPPED: "skipped"}


def list_lines(checks: Sequence[Check]) -> str:
    return "".join(f"{check.id:{_WIDTH}}{check.demand}\n" for check in checks)


def verdict_lines(verdict: Verdict, target: Target, colour: Colour, *, verbose: bool) -> str:
    """A line that says what came of a check, and under it what went wrong, and with `verbose` what was run."""
    check = verdict.check
    if verdict.why in _WAITING and not verbose:
        return ""
    paint = {OK: colour.good, FAILED: colour.fault, SKIPPED: colour.dim}[verdict.result]
    first = f"{check.id:{_WIDTH}}{clean(verdict.why or check.demand)}"
    more = [f"$ {command_of(run, target)}" for run in verdict.runs] if verbose else []
    more += _failure(verdict.failed, target) if verdict.failed else []
    return "".join(
        [f"{paint(f'{_WORDS[verdict.result]:9}')}{first}\n", *(f"         {clean(line)}\n" for line in more)]
    )


def _failure(failed: Failed, target: Target) -> list[str]:
    rows = [("beside", _beside(failed.run)), ("sent", command_of(failed.run, target))] if failed.run else []
    rows += [("came", _cut(failed.came)), ("expected", failed.expected), ("change", failed.change)]
    return [f"{name:10}{text}" for name, text in rows if text]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def summary(target: Target, verdicts: Sequence[Verdict]) -> str:
    counts = {result: sum(each.result == result for each in verdicts) for result in _WORDS}
    waiting = sum(each.why in _WAITING for each in verdicts)
    skipped = f"{counts[SKIPPED]} skipped" + (f", {waiting} of them until that is mended" if waiting else "")
    text = f"{clean(target.name)}: {counts[OK]} ok, {counts[FAILED]} failed, {skipped}\n"
    return text + (_guard_hint(target) if counts[FAILED] else "")


def _guard_hint(target: Target) -> str:
    """What makes most of a plain program's failures go away."""
    if not target.is_program or target.has_guard or not _is_script(target.file):
        return ""
    line = f'[ "${{PFLOW_NODE-}}" = {shlex.quote(target.name)} ] || exec pflow "$0" "$@"'
    return f"A shell script whose first line of code is this leaves the rest to pflow:\n  {clean(line)}\n"


def _is_script(file: str) -> bool:
    with open(file, "rb") as source:
        first = source.readline()
    return first.startswith(b"#!") and first.strip().endswith(b"sh")


def as_json(target: Target, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The report for other programs."""
    return {
        "node": encodable(target.name),
        "file": encodable(target.file),
        "ok": not any(each.result == FAILED for each in verdicts),
        "checks": [_entry(each, target) for each in verdicts],
    }


def _entry(verdict: Verdict, target: Target) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": verdict.check.id, "demand": verdict.check.demand, "result": verdict.result}
    if verdict.why:
        entry["why"] = verdict.why
    if verdict.failed:
        failed = verdict.failed
        entry |= {"came": encodable(_cut(failed.came)), "expected": encodable(failed.expected), "change": failed.change}
        entry |= {"beside": "", "sent": ""}
        if failed.run:
            entry |= {"beside": _beside(failed.run), "sent": command_of(failed.run, target)}
    return {**entry, "runs": [command_of(run, target) for run in verdict.runs]}


def command_of(run: Run, target: Target) -> str:
    """A line that a person can type to repeat a run, in a directory with the files that `_beside` makes."""
    names = {**target.environment, **run.sent.environment}
    settings = [f"{name}={shlex.quote(value)}" for name, value in names.items()]
    words = " ".join([*settings, *map(_word, [*target.argv, *run.sent.words])])
    after = {GONE: " | true", EARLY: " | head -c 1"}
    return _fed(run.sent.stdin, words) + ("" if run.sent.reader is None else after[run.sent.reader])


def _word(word: str) -> str:
    """A word for a shell, on one line."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join("\\'" if sign == "'" else _sign(sign) for sign in word).replace("%%", "%") + "'"


def _fed(stdin: bytes | None, words: str) -> str:
    if stdin is None:
        return f"{words} </dev/null"
    if not stdin:
        return f": | {words}"
    found = re.search(rb"([^\n\\%]{1,6}?)\1{999,}", stdin)
    if found is None:
        return f"printf {_format(stdin)} | {words}"
    begin, end = found.span()
    many = f"yes {_format(found[1])} | tr -d '\\n' | head -c {end - begin}"
    return f"{{ printf {_format(stdin[:begin])}; {many}; printf {_format(stdin[end:])}; }} | {words}"


def _beside(run: Run) -> str:
    """What makes the files that a run may look at, where its words or its store name one."""
    named = " ".join(run.sent.words).encode() + (run.sent.stdin or b"")
    files = {name: text for name, text in FILES.items() if name.split("/")[0].encode() in named} | {**run.sent.files}
    folders = sorted({os.path.dirname(name) for name in files} - {""})
    made = [f"mkdir -p {folder}" for folder in folders]
    return "; ".join([*made, *(f"printf {_format(text.encode())} >{name}" for name, text in files.items())])


def _format(data: bytes) -> str:
    """Bytes as a word for printf(1), on one line."""
    text = data.decode("utf-8", "surrogateescape")
    return shlex.quote("".join(map(_sign, text)))


def _sign(sign: str) -> str:
    special = {"\n": "\\n", "\\": "\\\\", "%": "%%"}.get(sign)
    if special or sign.isprintable():
        return special or sign
    return "".join(f"\\{byte:03o}" for byte in sign.encode("utf-8", "surrogateescape"))
