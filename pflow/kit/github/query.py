"""What is asked for: times, numbers, searches, as GitHub takes them."""

from __future__ import annotations

from datetime import UTC, datetime

from pflow.errors import USAGE, PflowError

_SEARCHES = {"prs": ("issues", "is:pr"), "issues": ("issues", "is:issue")}


def time_of(text: str | None) -> str | None:
    """A day or a time as GitHub writes it; without a zone it is UTC. Raises PflowError (2) for any other text."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text.strip())
        time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        hint = "2026-11-01 or 2026-11-01T08:00:00Z"
        raise PflowError(f"cannot take '{text}' for --since: it is no day and no time", hint=hint, exit=USAGE) from None
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def at_least_one(limit: int) -> int:
    if limit < 1:
        raise PflowError(f"cannot list {limit}: --limit is 1 or more", exit=USAGE)
    return limit


def search_path(kind: str) -> str:
    return f"/search/{_SEARCHES.get(kind, (kind, ''))[0]}"


def search_query(query: str, kind: str, repo: str | None) -> str:
    """The query with what selects the kind, where it does not say it itself, and the repository."""
    words = query.split()
    says_kind = any(word.startswith(("is:", "type:")) for word in words)
    more = ["" if says_kind else _SEARCHES.get(kind, ("", ""))[1], f"repo:{repo}" if repo else ""]
    return " ".join(filter(None, (query.strip(), *more)))
