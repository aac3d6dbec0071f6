"""The report: a line a check, what was sent where one failed, and a last line with the numbers."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from typing import Any

from pflow.conformance.conduct import FAILED, OK, SKIPPED, Verdict
from pflow.conformance.node import TestedNode
from pflow.conformance.samples import FILES
from pflow.conformance.sandbox import ALL, EARLY, GONE
from pflow.conformance.trial import NEVER_ENDS, NO_INTERFACE, UNTIL_IT_RUNS, Check, Run
from pflow.terminal.columns import Colour, clean, encodable

_WIDTH = 16
_LONGEST = 400
_WAITING = (NO_INTERFACE, UNTIL_IT_RUNS, NEVER_ENDS)
_READERS = {ALL: "", GONE: " | true", EARLY: " | head -c 1"}


def list_lines(checks: Sequence[Check]) -> str:
    return "".join(f"{check.id:{_WIDTH}}{check.demand}\n" for check in checks)


def verdict_lines(verdict: Verdict, node: TestedNode, colour: Colour, *, verbose: bool) -> str:
    """What came of a check, and below it what went wrong, and with `verbose` what was run."""
    if verdict.why in _WAITING and not verbose:
        return ""
    word, paint = {
        OK: ("ok", colour.good),
        FAILED: ("FAILED", colour.fault),
        SKIPPED: ("skipped", colour.dim),
    }[verdict.result]
    first = f"{verdict.check.id:{_WIDTH}}{clean(verdict.why or verdict.check.demand)}"
    more = [f"$ {command_of(run, node)}" for run in verdict.runs] if verbose else []
    names = ("beside", "sent", "came", "expected", "change")
    account = _account(verdict, node)
    more += [f"{name:10}{account[name]}" for name in names if account.get(name)]
    return "".join([f"{paint(f'{word:9}')}{first}\n", *(f"         {clean(line)}\n" for line in more)])


def _account(verdict: Verdict, node: TestedNode) -> dict[str, str]:
    """How a check failed: what was sent and stood beside it, what came, what was expected, what to change."""
    failed = verdict.failed
    if failed is None:
        return {}
    came = failed.came if len(failed.came) <= _LONGEST else f"{failed.came[:_LONGEST]}…"
    account = {"came": came, "expected": failed.expected, "change": failed.change, "beside": "", "sent": ""}
    if failed.run:
        account |= {"beside": _beside(failed.run), "sent": command_of(failed.run, node)}
    return account


def summary(node: TestedNode, verdicts: Sequence[Verdict]) -> str:
    counts = {result: sum(each.result == result for each in verdicts) for result in (OK, FAILED, SKIPPED)}
    waiting = sum(each.why in _WAITING for each in verdicts)
    skipped = f"{counts[SKIPPED]} skipped" + (f", {waiting} of them until that is fixed" if waiting else "")
    text = f"{clean(node.name)}: {counts[OK]} ok, {counts[FAILED]} failed, {skipped}\n"
    if counts[FAILED] and node.is_plain_script:
        line = f'[ "${{PFLOW_NODE-}}" = {shlex.quote(node.name)} ] || exec pflow "$0" "$@"'
        text += f"A shell script whose first line of code is this leaves the rest to pflow:\n  {clean(line)}\n"
    return text


def as_json(node: TestedNode, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The report for other programs."""
    return {
        "node": encodable(node.name),
        "file": encodable(node.file),
        "ok": not any(each.result == FAILED for each in verdicts),
        "checks": [_entry(each, node) for each in verdicts],
    }


def _entry(verdict: Verdict, node: TestedNode) -> dict[str, Any]:
    return {
        "id": verdict.check.id,
        "demand": verdict.check.demand,
        "result": verdict.result,
        **({"why": verdict.why} if verdict.why else {}),
        **{name: encodable(text) for name, text in _account(verdict, node).items()},
        "runs": [command_of(run, node) for run in verdict.runs],
    }


def command_of(run: Run, node: TestedNode) -> str:
    """A line that a person can type to repeat a run, in a directory with the files that `_beside` makes."""
    settings = [f"{name}={shlex.quote(value)}" for name, value in run.sent.environment.items()]
    words = " ".join([*settings, *map(_word, [*node.argv, *run.sent.words])])
    return _feeding(run.sent.stdin, words) + _READERS[run.sent.reader]


def _word(word: str) -> str:
    """A word for a shell, on one line."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join("\\'" if char == "'" else _escaped(char) for char in word).replace("%%", "%") + "'"


def _feeding(stdin: bytes | None, words: str) -> str:
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
    """A command that makes the files that a run may look at: those that its words or its store name."""
    named = " ".join(run.sent.words).encode() + (run.sent.stdin or b"")
    there = {
        name: text for name, text in run.sent.files.items() if name not in FILES or name.split("/")[0].encode() in named
    }
    folders = sorted({os.path.dirname(name) for name in there} - {""})
    made = [f"printf {_format(text.encode())} >{name}" for name, text in there.items()]
    return "; ".join([*(f"mkdir -p {folder}" for folder in folders), *made])


def _format(data: bytes) -> str:
    """Bytes as a word for printf(1), on one line."""
    return shlex.quote("".join(map(_escaped, data.decode("utf-8", "surrogateescape"))))


def _escaped(char: str) -> str:
    special = {"\n": "\\n", "\\": "\\\\", "%": "%%"}.get(char)
    if special or char.isprintable():
        return special or char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
