"""GitHub's failures, in its own words: what is missing, what a key needs, and how long a limit holds."""

from __future__ import annotations

import time
from typing import Any

from pflow.errors import BAD_DATA, DENIED, MISSING, TRY_AGAIN, PflowError, retry_after
from pflow.kit.github.access import NO_KEY
from pflow.kit.web.client import Answer
from pflow.kit.web.status import check
from pflow.values.jsontext import decode
from pflow.words.printable import one_line

_PAUSE = 60.0
"""Seconds to wait at a limit of which GitHub says no end, as its documentation has it."""
_LONGEST = 86_400.0


def failure_of(answer: Answer, act: str, missing: str, *, has_key: bool) -> PflowError | None:
    """What is wrong with an answer, in words; `missing` is what a 404 means."""
    status, said = answer.status, _words(answer.body) if answer.status >= 400 else ""
    if status in (403, 429) and (limit := _limit(answer, act, said, has_key=has_key)):
        return limit
    known = {
        401: (f"GitHub does not take the key: {said}" if has_key else said, NO_KEY, DENIED),
        403: (said, _needed(answer), DENIED),
        404: (*_not_found(missing, has_key=has_key), MISSING),
        406: (said, "", BAD_DATA),
        410: (f"it is gone: {said}", "", MISSING),
        422: (said, "", BAD_DATA),
    }.get(status)
    if known:
        why, hint, exit = known
        return PflowError(f"{act}: {why}", hint=hint, exit=exit, is_permanent=True)
    try:
        check(answer)
    except PflowError as error:
        return error
    return None


def _not_found(missing: str, *, has_key: bool) -> tuple[str, str]:
    if has_key:
        return f"{missing}, or the key may not see it", "look at --repo, and at what the key was given"
    return f"{missing}, or it is private and there is no key", NO_KEY


def _limit(answer: Answer, act: str, said: str, *, has_key: bool) -> PflowError | None:
    """The limit that a request met, and how long it holds; None where it met none."""
    asked = answer.headers.get("retry-after", "")
    is_used_up = answer.headers.get("x-ratelimit-remaining") == "0"
    if not asked and not is_used_up and "rate limit" not in said.lower() and answer.status != 429:
        return None
    seconds = retry_after(asked) if asked else None
    if seconds is None:
        end = answer.headers.get("x-ratelimit-reset", "")
        seconds = max(float(end) - time.time(), 0) + 1 if is_used_up and end.isdecimal() else _PAUSE
    seconds = min(seconds, _LONGEST)
    until = time.strftime("%H:%M", time.localtime(time.time() + seconds + 59))
    which = answer.headers.get("x-ratelimit-resource", "core").replace("_", " ")
    kind = "the rate limit" if which == "core" else f"the rate limit of {which}"
    hint = "--retries waits for it" if has_key else f"with a key there is more: {NO_KEY}"
    what = f"{act}: {kind} is reached until {until}"
    return PflowError(what, hint=hint, exit=TRY_AGAIN, retry_after=seconds)


def _words(body: bytes) -> str:
    """What GitHub says of a failure, on one line."""
    try:
        said = decode(body)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return "it says no more"
    details = said["errors"] if isinstance(said.get("errors"), list) else []
    words = [str(said.get("message") or "it says no more"), *map(_detail, details)]
    return one_line(": ".join(word.strip().rstrip(".") for word in words[:4] if word.strip()))


def _detail(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    return str(error.get("message") or f"{error.get('field', '')} {error.get('code', '')}".replace("_", " "))


def _needed(answer: Answer) -> str:
    """What a key needs to be given, where GitHub says it."""
    needed = answer.headers.get("x-accepted-github-permissions", "")
    return f"the key needs {needed}" if needed else ""
