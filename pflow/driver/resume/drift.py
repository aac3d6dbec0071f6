"""What has changed since a run began: the flow that was kept, and the versions and the code of its nodes."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.cache.code import code_of
from pflow.errors import BAD_CONFIG, PflowError
from pflow.flow.unload import flow_to_ir
from pflow.values.digest import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.wired import WiredFlow

    Facts = dict[str, Any]
    """`flow`, `nodes`: by step type, version, and code (digests by file, versions by distribution), and `secrets`:
    digests by variable.
    """


def facts_of(flow: WiredFlow) -> Facts:
    """What a flow is held to when a run of it goes on: its digest, and by step type, version and code."""
    nodes = {}
    for id, wired in flow.steps.items():
        assert wired.kind is not None
        nodes[id] = {"type": wired.step.type, "version": wired.kind.version, "code": code_of(wired.kind).parts}
    return {"flow": digest_of(flow_to_ir(flow.flow)), "nodes": nodes}


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
