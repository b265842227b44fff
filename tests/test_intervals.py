"""Phrases for intervals mean exact instants in the user's zone."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.config import Home, Settings
from brain.errors import UsageError
from brain.intervals import iso, period, resolve, to_us

VIENNA = Settings(
    home=Home(Path("unused")),
    timezone="Europe/Vienna",
    fixed_now=datetime(2026, 11, 30, 23, 30, tzinfo=UTC),  # Tuesday 1 December, 00:30 in Vienna
)


def bounds(phrase: str, settings: Settings = VIENNA) -> tuple[str, str]:
    start, end = period(phrase, settings)
    return f"{start:%Y-%m-%dT%H:%M}", f"{end:%Y-%m-%dT%H:%M}"


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("today", "2026-11-30T23:00", "2026-12-01T23:00"),
        ("Yesterday", "2026-11-29T23:00", "2026-11-30T23:00"),
        ("this week", "2026-11-29T23:00", "2026-12-06T23:00"),
        ("last  week", "2026-11-22T23:00", "2026-11-29T23:00"),
        ("this month", "2026-11-30T23:00", "2026-12-31T23:00"),
        ("last month", "2026-10-31T23:00", "2026-11-30T23:00"),
        ("last year", "2024-12-31T23:00", "2025-12-31T23:00"),
        ("2026-W48", "2026-11-22T23:00", "2026-11-29T23:00"),
        ("2026-11", "2026-10-31T23:00", "2026-11-30T23:00"),
        ("3d", "2026-11-27T23:30", "2026-11-30T23:30"),
        ("90m", "2026-11-30T22:00", "2026-11-30T23:30"),
        ("2 weeks ago", "2026-11-16T23:30", "2026-11-30T23:30"),
        # A day of a clock change has 23 or 25 hours.
        ("2026-03-29", "2026-03-28T23:00", "2026-03-29T22:00"),
        ("2026-10-25", "2026-10-24T22:00", "2026-10-25T23:00"),
    ],
)
def test_a_phrase_means_a_period_of_the_users_zone(phrase: str, start: str, end: str) -> None:
    assert bounds(phrase) == (start, end)


def test_an_instant_keeps_its_zone_and_a_bare_one_is_local() -> None:
    assert bounds("2026-07-01T12:00:00Z") == ("2026-07-01T12:00", "2026-07-01T12:00")
    assert bounds("2026-07-01T12:00") == ("2026-07-01T10:00", "2026-07-01T10:00")


def test_since_takes_the_start_and_until_the_end_of_a_period() -> None:
    interval = resolve(VIENNA, "2026-11-01", "2026-11-30")
    assert interval.as_dict() == {
        "since": "2026-10-31T23:00:00.000000Z",
        "until": "2026-11-30T23:00:00.000000Z",
    }
    assert interval.zone == "Europe/Vienna"
    assert resolve(VIENNA).as_dict() == {"since": None, "until": None}


@pytest.mark.parametrize(
    "phrase", ["", "soon", "2026-13-01", "2026-W60", "99999999d", "999999w", "0000", "tomorrow'; --"]
)
def test_what_is_no_time_is_refused_in_one_line(phrase: str) -> None:
    with pytest.raises(UsageError) as refusal:
        period(phrase, VIENNA)
    assert "\n" not in str(refusal.value)


def test_an_empty_interval_is_refused() -> None:
    with pytest.raises(UsageError, match="empty"):
        resolve(VIENNA, "today", "yesterday")


@given(st.text(max_size=40))
def test_any_text_is_a_period_or_a_usage_error(text: str) -> None:
    try:
        start, end = period(text, VIENNA)
    except UsageError:
        return
    assert start <= end


@given(st.integers(-(10**15), 4 * 10**15))
def test_instants_survive_their_text(us: int) -> None:
    text = iso(us)
    assert text is not None
    assert to_us(datetime.fromisoformat(text)) == us


def test_the_present_can_be_fixed() -> None:
    later = replace(VIENNA, fixed_now=datetime(2027, 1, 1, 12, tzinfo=UTC))
    assert bounds("today", later) == ("2026-12-31T23:00", "2027-01-01T23:00")
