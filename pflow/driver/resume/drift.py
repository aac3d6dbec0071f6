"""What has changed since a run began: the flow that was kept, and the versions and the code of its nodes."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import BAD_CONFIG, PflowError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.driver.begin import Facts


def cannot_resume(run: str, why: str, hint: str, exit: int) -> PflowError:
    """The error for a run that does not go on."""
    return PflowError(f"cannot resume the run {run}: {why}", hint=hint, exit=exit)


def refuse_drift(run: str, before: Facts, now: Facts) -> None:
    """Raise PflowError (78) where something has changed since a run began; all of it is named."""
    changes = list(_changes(before["nodes"], now["nodes"]))
    if before["flow"] != now["flow"]:
        changes.insert(0, "the flow that it kept is another one")
    others = [name for name, digest in before["secrets"].items() if digest != now["secrets"][name]]
    changes += [f"the secret in {name} is another one" for name in others]
    if changes:
        hint = f"pflow resume {run} --accept-changes goes on all the same"
        raise cannot_resume(run, "; ".join(changes), hint, BAD_CONFIG)


def _changes(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """In words, what is not as it was."""
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
