"""The changes since a run began, in words: of its flow, its nodes and secrets, and of the files that it read."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Iterator
from pflow.driver.resume.choices import cannot_resume
from pflow.driver.resume.visits import name_of
from pflow.errors import BAD_CONFIG

if TYPE_CHECKING:
    from pflow.driver.begin import Facts
    from pflow.record.file_states import Change


def told_files(changed: list[Change]) -> str:
    """Name the files that have changed, the first three of them."""
    here = os.path.join(os.getcwd(), "")
    words = [
        f"'{path.removeprefix(here)}', which '{name_of(visit)}' read, {how}" for _, path, visit, how in changed[:3]
    ]
    return "; ".join(words + [f"and {len(changed) - 3:,} more"] * (len(changed) > 3))


def refuse_drift(run: str, before: Facts, now: Facts) -> None:
    """Raise PflowError (78), naming all changes, if something has changed since a run began."""
    changes = list(_changes(before["nodes"], now["nodes"]))
    if before["flow"] != now["flow"]:
        changes.insert(0, "its flow has changed")
    others = [name for name, digest in before["secrets"].items() if digest != now["secrets"][name]]
    changes += [f"the secret in {name} has changed" for name in others]
    if changes:
        hint = f"pflow resume {run} --accept-changes resumes it anyway"
        raise cannot_resume(run, "; ".join(changes), hint, BAD_CONFIG)


def _changes(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield each change in words."""
    for id, fact in before.items():
        there = now.get(id, {})
        if fact["version"] != there.get("version"):
            yield f"'{id}' is {fact['type']} {there.get('version')}, was {fact['version']}"
        for part in sorted(fact["code"].keys() | there.get("code", {}).keys()):
            was, is_now = fact["code"].get(part), there.get("code", {}).get(part)
            if was != is_now:
                yield f"'{id}': {part} {_how(was, is_now)}"


def _how(was: str | None, is_now: str | None) -> str:
    if was is None or is_now is None:
        return "is new" if was is None else "is gone"
    return "has changed" if len(was) == 64 else f"is {is_now}, was {was}"
