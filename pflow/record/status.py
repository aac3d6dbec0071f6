"""The status of a map while it goes, and after: a small file in its run's directory, which others read."""

from __future__ import annotations

import os

from pflow import Any
from pflow.files.atomic import replace
from pflow.files.reading import read_regular
from pflow.values.jsontext import decode, encode
from pflow.words.usage import amount

STATUS = "status.json"
_AMOUNTS = ("total", "left", "done", "failed", "begun", "time")


def write_status(directory: str, counts: dict[str, Any]) -> None:
    """Replace the status: total, left (None if unknown), done, failed, begun, usage (as Usage.total), time (seconds).

    `begun` counts the failed items that have begun a step which does not repeat. A map calls it at most once a second,
    and goes on if it cannot be written.
    """
    try:
        replace(os.path.join(directory, STATUS), encode(counts) + b"\n", mode=0o600, lasts=False)
    except OSError:
        pass  # a later one may fit


def read_status(directory: str) -> dict[str, Any]:
    """Return the status; empty if there is none, as of a run that is no map, or if it is damaged."""
    try:
        counts = decode(read_regular(os.path.join(directory, STATUS)))
    except (OSError, ValueError):
        return {}
    are_sound = isinstance(counts, dict) and isinstance(counts.get("usage", {}), dict)
    is_sound = are_sound and all(counts.get(name) is None or amount(counts[name]) is not None for name in _AMOUNTS)
    return counts if is_sound else {}
