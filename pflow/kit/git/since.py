"""The time that --since names: a day from its midnight in local time, a time, or words that git knows."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime

from pflow.errors import USAGE, PflowError
from pflow.kit.git.program import Git

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS = {f"{unit}{s}" for unit in ("second", "minute", "hour", "day", "week", "month", "year") for s in ("", "s")}
_TIMES = {"noon", "midnight", "tea", "now", "never", "am", "pm"}
_COUNTS = {"last", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
_FORMS = (
    (r"^(\d{4})[/.](\d+)[/.](\d+)", r"\1-\2-\3"),
    (r"^(\d+)/(\d+)/(\d{4})", r"\3-\1-\2"),
    (r"^(\d+)\.(\d+)\.(\d{4})", r"\3-\2-\1"),
    (r"(?<![\d.])(\d)(?=[-:T ]|$)", r"0\1"),
    (r"^(\d\S*[T ]\d\S*?) ?(UTC|Z)$", r"\1+00:00"),
)
"""Forms of a day or time that git takes, as ISO 8601 writes them."""


def parse_since(text: str) -> datetime:
    """Return the time in UTC that a text names; a time without a zone is local. Raises PflowError (2)."""
    today, said = date.today(), text
    days = ((r"\btoday\b|^(?=\d\d?:\d\d)", f"{today} "), (r"\byesterday\b", f"{today - timedelta(days=1)} "))
    for pattern, form in (*days, *_FORMS):
        said = " ".join(re.sub(pattern, form, said, flags=re.IGNORECASE).split())
    for end in ("", " 00:00", f" {today.year} 00:00", f" {today.year - 1} 00:00"):
        for read in (datetime.fromisoformat, parsedate_to_datetime):
            with suppress(ValueError, OverflowError):
                time = read(said + end).astimezone(UTC)
                if not end or time < datetime.now(UTC):
                    return time
    seconds = _ask_git(re.sub(r"\ban?\b", "one", said.lower()))
    if seconds is None:
        what = f"cannot use --since='{text}': it is not a day or a time"
        raise PflowError(what, hint="2026-11-01, 2026-11-01T08:00:00Z, yesterday or '2 weeks ago'", exit=USAGE)
    return datetime.fromtimestamp(min(seconds, int(datetime.now().timestamp())), UTC)


def _ask_git(said: str) -> int | None:
    """Return the seconds that git reads in words; None for a word that is unknown, which git takes for the present."""
    words = set(re.findall(r"[^\W\d_]+", said))
    weekdays = {word for word in words if len(word) > 2 and any(name.startswith(word) for name in _WEEKDAYS)}
    named = words & (_UNITS | _TIMES) | weekdays
    if words - named - _COUNTS - {"ago", "at"} or not (named or re.match(r"@?\d{9,}\b", said)):
        return None
    if weekdays:  # git takes the name alone for today, and without a time of day the present one
        said = ("" if words & _COUNTS else "last ") + said + ("" if words & _TIMES or ":" in said else " 00:00")
    git = Git("/", "read a time", reads=True)
    code, printed, _ = git.call("-c", f"pflow.since={said}", "config", "--type=expiry-date", "pflow.since")
    return None if code else int(printed)
