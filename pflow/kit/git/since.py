"""The time that --since names: a day from its midnight in local time, a time, or words that git knows."""

from __future__ import annotations

import calendar
import re
import warnings
from contextlib import suppress
from datetime import UTC, datetime

from dateutil.parser import parse

from pflow.errors import USAGE, PflowError
from pflow.kit.git.program import Git

_WEEKDAYS = {name.lower() for name in (*calendar.day_name, *calendar.day_abbr)}
_MONTHS = {name.lower() for name in (*calendar.month_name, *calendar.month_abbr)}
_DAYS = _WEEKDAYS | _MONTHS | {"today", "yesterday"}
_UNITS = {f"{unit}{s}" for unit in ("second", "minute", "hour", "day", "week", "month", "year") for s in ("", "s")}
_TIMES = {"noon", "midnight", "tea", "now", "never", "am", "pm"}
_COUNTS = {"last", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}


def parse_since(text: str) -> datetime:
    """Return the time in UTC that a text names; a time without a zone is local. Raises PflowError (2)."""
    now, begins_with_day = datetime.now(), re.match(r"\d\d?\.", text) is not None
    if re.search(r"(?<!@)\b\d{4}(?!\d{5})", text):  # a year, no seconds since 1970
        with suppress(ValueError, OverflowError, RuntimeWarning), warnings.catch_warnings(action="error"):
            clock = text.upper().replace("NOON", "12:00").replace("MIDNIGHT", "00:00")
            time: datetime = parse(clock, default=datetime(now.year, 1, 1), dayfirst=begins_with_day)
            return time.astimezone(UTC)
    seconds = _ask_git(re.sub(r"\ban?\b", "one", text.lower()))
    if seconds is None:
        what = f"cannot use --since='{text}': it is not a day or a time"
        raise PflowError(what, hint="2026-11-01, 2026-11-01T08:00:00Z, yesterday or '2 weeks ago'", exit=USAGE)
    return datetime.fromtimestamp(min(seconds, int(now.timestamp())), UTC)


def _ask_git(said: str) -> int | None:
    """Return the seconds that git reads in words; None for a word that is unknown, which git takes for the present."""
    words = set(re.findall(r"[^\W\d_]+", said))
    days, named = words & _DAYS, words & (_DAYS | _UNITS | _TIMES)
    is_wrong_date = re.search(r"\d{4}" if days else r"\d{4}[-/]", said)  # such as 30 Feb 2001, else it had been read
    if words - named - _COUNTS - {"ago", "at"} or is_wrong_date or not (named or re.match(r"@\d|\d{9}|\d\d?:", said)):
        return None
    if words & _WEEKDAYS and not words & _COUNTS:  # git takes the name alone for today
        said = f"last {said}"
    if days and not (words & _TIMES or ":" in said):  # git takes the present time of day
        said += " 00:00"
    git = Git("/", "read a time", reads=True)
    code, printed, _ = git.call("-c", f"pflow.since={said}", "config", "--type=expiry-date", "pflow.since")
    return None if code else int(printed)
