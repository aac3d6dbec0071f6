"""What a run of the evaluation says: a line a sentence, and a table at the end. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pflow.terminal.columns import clean, shorten
from tests.eval.score import ASPECTS

Result = dict[str, Any]
"""A sentence, what is `right` of its plan, how it `differs`, `tries`, `findings` (rules), `error`, `seconds`, …"""

SAID = {
    "valid": "valid",
    "nodes": "nodes right",
    "order": "order right",
    "mappings": "mappings right",
    "values": "values right",
}


def line(number: int, result: Result) -> str:
    """One sentence: ok, or what is wrong with what came of it."""
    mark = "ok  " if is_all_right(result) else "err " if result["error"] else "    "
    why = result["error"] or "; ".join(result["differs"])
    if result["findings"] and not is_all_right(result):
        why += f" ({', '.join(sorted(set(result['findings'])))})"
    tries = f", {result['tries']} tries" if (result["tries"] or 0) > 1 else ""
    sentence = shorten(clean(result["sentence"]), 70)
    return f"{number:3} {mark}{sentence}  [{result['seconds']:.1f} s{tries}]" + (
        f"\n        {shorten(clean(why), 200)}" if why else ""
    )


def is_all_right(result: Result) -> bool:
    return all(result["right"].values())


def table(model: str, results: list[Result]) -> str:
    """How many of the sentences came out right, what it took, and which rules found something."""
    rows = [(SAID[aspect], _of(results, [each for each in results if each["right"][aspect]])) for aspect in ASPECTS]
    rows.append(("all right", _of(results, [each for each in results if is_all_right(each)])))
    refusals = [each for each in results if each["is_refusal"]]
    if refusals:
        rows.append(("refused rightly", _of(refusals, [each for each in refusals if is_all_right(each)])))
    rows.append(("tries", _counted(each["tries"] for each in results if each["tries"])))
    rows.append(("findings", _counted(rule for each in results for rule in each["findings"])))
    rows.append(("errors", _counted(each["exit"] for each in results if each["error"])))
    rows += [("seconds", _seconds(results)), ("tokens", _tokens(results))]
    said = [f"  {name:16}{text}" for name, text in rows if text]
    return "\n".join([f"{model}: {len(results)} sentences", *said])


def _of(results: list[Result], right: list[Result]) -> str:
    return f"{len(right):4} of {len(results)}"


def _counted(found: Iterable[Any]) -> str:
    """Each with how often it was there: `PF03 × 4`."""
    return ", ".join(f"{one} × {many}" for one, many in Counter(found).most_common())


def _seconds(results: list[Result]) -> str:
    seconds = sorted(each["seconds"] for each in results)
    if not seconds:
        return ""
    return f"{sum(seconds):.1f} in all, {seconds[len(seconds) // 2]:.1f} in the middle, {seconds[-1]:.1f} at most"


def _tokens(results: list[Result]) -> str:
    known = [each["tokens"] for each in results if each["tokens"]]
    return f"{sum(each[0] for each in known)} in, {sum(each[1] for each in known)} out" if known else ""
