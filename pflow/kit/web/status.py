"""Answers whose status is a failure, in the server's words and with an exit code."""

from collections.abc import Collection
from typing import Any

from pflow.errors import BAD_DATA, DENIED, FAILED, MISSING, TRY_AGAIN, PflowError, retry_after
from pflow.kit.web.address import show
from pflow.kit.web.client import Answer
from pflow.kit.web.failures import HINTS
from pflow.values.jsontext import decode
from pflow.values.masks import masked
from pflow.words.printable import one_line

_BY_STATUS = {
    **dict.fromkeys((401, 403, 407, 451), DENIED),
    **dict.fromkeys((404, 410), MISSING),
    **dict.fromkeys((408, 423, 425, 429), TRY_AGAIN),
}
_BY_CLASS = {4: BAD_DATA, 5: TRY_AGAIN}
_MEMBERS = ("message", "error_description", "detail", "error", "title")
"""What a JSON answer calls its message; the first that is there counts, and may hold another."""


def check(answer: Answer, secrets: Collection[str] = ()) -> Answer:
    """The answer, where its status is no failure. Raises PflowError with the server's own words."""
    status = answer.status
    if status < 400:
        return answer
    exit = _BY_STATUS.get(status, _BY_CLASS.get(status // 100, FAILED))
    said = ": ".join(filter(None, (f"{status} {answer.reason}".strip(), _words_of(answer))))
    error = PflowError(
        f"cannot {answer.method} '{show(answer.url)}': {said}",
        hint=HINTS.get(exit, ""),
        exit=exit,
        retry_after=retry_after(answer.headers.get("retry-after", "")) if exit == TRY_AGAIN else None,
        is_permanent=exit != TRY_AGAIN,
    )
    raise masked(error, *secrets)


def _words_of(answer: Answer) -> str:
    """What the body says of the failure, on one line: its message where it is JSON, else a plain text."""
    text = answer.body[:100_000].decode(errors="replace")
    if "json" in answer.headers.get("content-type", ""):
        try:
            return one_line(_message(decode(answer.body)))
        except ValueError:
            return ""
    return one_line(text) if answer.headers.get("content-type", "").startswith("text/plain") else ""


def _message(said: Any) -> str:
    while isinstance(said, dict):
        said = next((said[name] for name in _MEMBERS if said.get(name)), "")
    return said if isinstance(said, str) else ""
