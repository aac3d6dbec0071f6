"""The key of a visit or an item: the same in all its tries and resumes, for what must not be done twice."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.node import STEP_KEY
from pflow.values.digest import digest_of

if TYPE_CHECKING:
    from pflow.engine.context import Context


def step_key(context: Context, path: str) -> str:
    """SHA-256 of the run and the path of the visit; empty outside of a run."""
    return digest_of([context.run_id, path]) if context.run_id else ""


class KeyInEnvironment:
    """A while in which what a node starts finds the key of its visit; an empty one is not put there."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __enter__(self) -> None:
        self.before = os.environ.get(STEP_KEY)
        if self.key:
            os.environ[STEP_KEY] = self.key

    def __exit__(self, *error: object) -> None:
        if self.before is not None:
            os.environ[STEP_KEY] = self.before
        else:
            os.environ.pop(STEP_KEY, None)
