"""Done once: what is made carries a mark of the step that made it, and is looked for before another is made."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from pflow.errors import BAD_CONFIG, PflowError
from pflow.kit.github.client import Client
from pflow.values.digest import digest_of

Row = dict[str, Any]

_DAYS = 30
"""How far back to look: as long as a run is kept that can be resumed."""


def make_once(github: Client, path: str, content: Row, step_key: str, there: Iterable[Row]) -> Row:
    """What a POST of the content makes, or what it made before in the same visit of a step; `there` is looked through.

    The mark stands at the end of the body, in a comment of HTML, which GitHub does not show. A stage outside of a run
    has no key, and what it makes no mark.
    """
    body = content["body"].rstrip()
    made: Row | None = None
    if step_key:
        # All that a step starts has its key: what is made counts too.
        mark = f"<!-- pflow:{digest_of([step_key, path, content])[:32]} -->"
        body = f"{body}\n\n{mark}".lstrip()
        made = next((row for row in there if (row.get("body") or "").rstrip().endswith(mark)), None)
    return made or dict(github.post(path, {**content, "body": body}, repeats=bool(step_key)))


def earliest() -> str:
    """The time from which on it may have been made, as GitHub writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - _DAYS * 86_400))


def not_too_old(rows: Iterable[Row]) -> Iterator[Row]:
    """Those of the rows, the newest first, that may have been made by a run that goes on."""
    oldest = earliest()
    for row in rows:
        if row["created_at"] < oldest:
            return
        yield row


def never_cached(what: str) -> PflowError:
    return PflowError(f"cannot cache {what}: it is made on GitHub", exit=BAD_CONFIG)
