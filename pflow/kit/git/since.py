"""The time that --since names: a day from its midnight in local time, a time, or words that git knows."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from pflow.errors import USAGE, PflowError
from pflow.kit.git.program import Git

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_UNITS = {f"{unit}{s}" for unit in ("second", "minute", "hour", "day", "week", "month", "year") for s in ("", "s")}
_TIMES = {"noon", "midnight", "tea", "now", "never", "am", "pm"}
_COUNTS = {"last", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
_FORMS = (
    (r"^(\d{4})[/.](\d+)[/.](\d+)", r"\1-\2-\3"),
    (r"^(\d+)/(\d+)/(\d{4})", r"\3-\1-\2"),
    (r"^(\d+)\.(\d+)\.(\d{4})", r"\3-\2-\1"),
    (r"(?<![\d.])(\d)(?=[-:T ]|$)", r"0\1"),
    (r"(\d{4}.*?) ?(UTC|GMT|Z)$", r"\1+00:00"),
)
"""Forms of a day or time that git takes, as ISO 8601 writes them."""


def parse_since(text: str) -> datetime:
    """Return the time in UTC that a text names; a time without a zone is local. Raises PflowError (2)."""
    today, said = date.today(), text.strip()
    days = ((r"\btoday\b|^(?=\d\d?:\d\d)", f"{today} "), (r"\byesterday\b", f"{today - timedelta(days=1)} "))
    for pattern, form in (*days, *_FORMS):
        said = re.sub(pattern, form, said, flags=re.IGNORECASE).strip()
    try:
        return datetime.fromisoformat(re.sub(" +", " ", said)).astimezone(UTC)
    except (ValueError, OverflowError):
        time = _ask_git(said.lower())
    if time is None:
        hint = "2026-11-01, 2026-11-01T08:00:00Z, yesterday or '2 weeks ago'"
        raise PflowError(f"cannot use --since='{text}': it is not a day or a time", hint=hint, exit=USAGE)
    return time


def _ask_git(said: str) -> datetime | None:
    """Return the time by git's reading of words; None for a word that is unknown, which git takes for the present."""
    said = re.sub(r"\ban?\b", "one", said)
    words = set(re.findall(r"[^\W\d_]+", said))
    weekdays, months = ({word for word in words if _begins(word, names)} for names in (_DAYS, _MONTHS))
    named = words & (_UNITS | _TIMES) | weekdays | months
    if words - named - _COUNTS - {"ago", "at"} or not (named or re.match(r"@?\d{9,}\b", said)):
        return None
    if weekdays and not months and not words & _COUNTS:
        said = f"last {said}"  # git takes the name alone for today
    if weekdays | months and not (words & _TIMES or ":" in said):
        said += " 00:00"  # git would take the present time of day
    git = Git("/", "read a time", reads=True)
    code, printed, _ = git.call("-c", f"pflow.since={said}", "config", "--type=expiry-date", "pflow.since")
    time = None if code else datetime.fromtimestamp(min(int(printed), int(datetime.now().timestamp())), UTC)
    if time is None or not months or re.search(r"[+-]\d\d:?\d\d$", said):
        return time
    local, years = time.astimezone(), re.findall(r"\b\d{4}\b", said)
    return time if f"{local.day}" in re.findall(r"[1-9]\d*", said) and years in ([], [f"{local.year}"]) else None


def _begins(word: str, names: tuple[str, ...]) -> bool:
    return len(word) >= 3 and any(name.startswith(word) for name in names)
