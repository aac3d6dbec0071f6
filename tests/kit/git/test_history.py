"""What --since takes for which time, and what it refuses."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from pflow.errors import PflowError
from pflow.kit.git.history import parse_since


@pytest.fixture(autouse=True)
def in_india(monkeypatch):
    monkeypatch.setenv("TZ", "IST-5:30")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


TIMES = {
    "2001-01-31|2001/01/31|2001.1.31|2001-1-31|20010131|31.1.2001|1/31/2001|31 Jan 2001|January 31, 2001": "30T18:30",
    "2001-01-31 8:00": "31T02:30",
    "2001-01-31 3pm": "31T09:30",
    "2001-01-31 noon|31 Jan 2001 Noon": "31T06:30",
    "2001-01-31 midnight": "30T18:30",
    "2001-01-31T08:00:00Z|2001-01-31 08:00 utc|@980928000|980928000|Wed, 31 Jan 2001 08:00:00 GMT": "31T08:00",
    "2001-01-31 08:00:00 +0100|Wed Jan 31 08:00:00 2001 +0100": "31T07:00",
}
DAYS = {"today": (0, "%a"), "Yesterday": (1, "%a"), "Mon": (7, "Mon"), "last Friday": (7, "Fri"), "1 May": (366, "%a")}
AGO = {"2 weeks ago": 336, "2.days.ago": 48, "a week ago": 168, "one hour": 1, "now": 0, "1000 hours ago": 1000}
NONSENSE = (
    "nonsense|last munth|foo 3|2001-13-45|2001-02-30|2001-01-31 25:00|30 Feb 2001|31 Jan 2001 8:00 XYZ|3 florps ago"
    "|yesterdy|| |weeks|week ago|last|a|5|99|2001-01-31 3 days ago|2001/2/30 noon|hello 2001-01-31|--all|@|tomorrow|\0"
)


def test_a_day_begins_at_midnight_and_a_time_without_a_zone_is_local():
    found = {text: f"{parse_since(text):%dT%H:%M}" for texts in TIMES for text in texts.split("|")}
    assert found == {text: at for texts, at in TIMES.items() for text in texts.split("|")}


@pytest.mark.parametrize(("text", "day"), DAYS.items())
def test_the_name_of_a_day_means_the_last_one_from_its_midnight(text, day):
    begins, (most, weekday) = parse_since(text).astimezone(), day
    assert f"{begins:%H:%M %a}" == f"{begins:00:00 {weekday}}"
    assert 0 <= (datetime.now().date() - begins.date()).days <= most


@pytest.mark.parametrize(("text", "hours"), AGO.items())
def test_words_count_back_from_now(text, hours):
    assert abs(datetime.now(UTC) - parse_since(text) - timedelta(hours=hours)) < timedelta(minutes=30)


@pytest.mark.parametrize("text", NONSENSE.split("|"))
def test_what_is_no_time_is_refused(text):
    with pytest.raises(PflowError, match="it is not a day or a time") as caught:
        parse_since(text)
    assert caught.value.exit == 2
