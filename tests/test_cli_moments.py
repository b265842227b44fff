"""Instants as they are said, by the calendar of the person's zone."""

from datetime import UTC, datetime

import pytest

from brain.cli.moments import ago, local

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("instant", "said"),
    [
        ("2026-11-30T11:59:30.000000Z", "just now"),
        ("2026-11-30T11:18:00.000000Z", "42 min ago"),
        ("2026-11-30T06:05:00.000000Z", "today 07:05"),
        ("2026-11-29T23:30:00.000000Z", "today 00:30"),
        ("2026-11-29T22:30:00.000000Z", "yesterday 23:30"),
        ("2026-11-27T12:00:00.000000Z", "3 days ago"),
        ("2026-11-02T12:00:00.000000Z", "4 weeks ago"),
        ("2026-06-30T12:00:00.000000Z", "5 months ago"),
        ("2024-06-30T12:00:00.000000Z", "2024-06-30"),
        ("2026-12-01T12:00:00.000000Z", "2026-12-01"),
    ],
)
def test_how_long_ago_follows_the_local_calendar(instant: str, said: str) -> None:
    assert ago(instant, NOW, "Europe/Vienna") == said


def test_local_time_follows_clock_changes() -> None:
    assert local("2026-07-01T12:00:00.000000Z", "Europe/Vienna") == "2026-07-01 14:00"
    assert local("2026-12-01T12:00:00.000000Z", "Europe/Vienna") == "2026-12-01 13:00"
