"""What has changed since a run began: the flow that was kept, and the versions and the code of its nodes."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.cache.code import code_of
from pflow.errors import BAD_CONFIG, PflowError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.wired import WiredFlow

    Facts = dict[str, Any]
    """By step: type, version, and the code (parts: digests by file, versions by distribution)."""


def facts_of(flow: WiredFlow) -> Facts:
    """What a run is held to when it goes on."""
    found = {}
    for id, wired in flow.steps.items():
        assert wired.kind is not None
        found[id] = {"type": wired.step.type, "version": wired.kind.version, "code": code_of(wired.kind).parts}
    return found


def refuse_drift(run: str, before: Facts, now: Facts) -> None:
    """Raise PflowError (78) where something has changed; all of it is named."""
    changes = list(_changes(before, now))
    if changes:
        hint = f"pflow resume {run} --accept-changes goes on all the same"
        raise PflowError(f"cannot resume the run {run}: {'; '.join(changes)}", hint=hint, exit=BAD_CONFIG)


def _changes(before: Facts, now: Facts) -> Iterator[str]:
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
