"""Intervals as people write them, resolved in the user's zone.

A phrase names a period: `2026-11-30` a day, `2026-W48` an ISO week, `2026-11` a month, `today`, `yesterday`,
`this/last week/month/year`, and `3d` (also `12h`, `90m`, `2w`) the time up to now. `since` takes a period's
start, `until` its end, so `--since 2026-11-01 --until 2026-11-30` holds the whole of both days. A full
instant is both its own start and end. Local days follow the zone's clock changes.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import overload
from zoneinfo import ZoneInfo

from brain.config import Settings
from brain.errors import UsageError

_AGO = re.compile(r"(\d{1,6})\s*(m|min|minutes?|h|hours?|d|days?|w|weeks?)(?:\s+ago)?", re.IGNORECASE)
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Interval:
    """Half-open [since, until) in microseconds since 1970 UTC; None is unbounded."""

    since_us: int | None
    until_us: int | None
    zone: str

    def as_dict(self) -> dict[str, str | None]:
        """The interval echoed in answers."""
        return {"since": iso(self.since_us), "until": iso(self.until_us)}


@overload
def iso(instant: datetime | int) -> str: ...
@overload
def iso(instant: None) -> None: ...
def iso(instant: datetime | int | None) -> str | None:
    """ISO 8601 UTC with six digits and Z of an aware instant or of microseconds since 1970; None stays None."""
    if instant is None:
        return None
    moment = instant if isinstance(instant, datetime) else _EPOCH + timedelta(microseconds=instant)
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def to_us(moment: datetime) -> int:
    """Exact microseconds since 1970 of an aware instant."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def resolve(settings: Settings, since: str | None = None, until: str | None = None) -> Interval:
    """Resolve what a person wrote. Raises UsageError for a phrase not understood or an empty interval."""
    start = period(since, settings)[0] if since else None
    end = period(until, settings)[1] if until else None
    if start and end and start >= end:
        raise UsageError(f"the interval is empty: it starts {start.isoformat()} and ends {end.isoformat()}")
    return Interval(to_us(start) if start else None, to_us(end) if end else None, settings.timezone)


def period(phrase: str, settings: Settings) -> tuple[datetime, datetime]:
    """Start and end (UTC) of the period a phrase names. Raises UsageError when it names none."""
    text = " ".join(phrase.strip().lower().split())
    now = settings.now()
    if match := _AGO.fullmatch(text):
        try:
            return now - int(match[1]) * _UNITS[match[2][0]], now
        except OverflowError as error:
            raise UsageError(f"{phrase!r} is too far back") from error
    try:
        days = _named(text, now.astimezone(settings.zone).date()) or _dated(text)
        if days:
            return _midnight(days[0], settings.zone), _midnight(days[1], settings.zone)
        moment = datetime.fromisoformat(phrase.strip())
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"not a time: {phrase!r}; write 2026-11-30, 2026-11-30T12:00:00Z, today, yesterday, last week or 3d"
        ) from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=settings.zone)
    try:
        return moment.astimezone(UTC), moment.astimezone(UTC)
    except OverflowError as error:
        raise UsageError(f"{phrase!r} is out of range") from error


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def _named(text: str, today: date) -> tuple[date, date] | None:
    if text in {"today", "yesterday"}:
        day = today if text == "today" else today - timedelta(days=1)
        return day, day + timedelta(days=1)
    which, _, unit = text.partition(" ")
    if which not in {"this", "last"}:
        return None
    back = which == "last"
    if unit == "week":
        start = today - timedelta(days=today.weekday() + 7 * back)
        return start, start + timedelta(days=7)
    if unit == "month":
        start = today.replace(day=1)
        return ((start - timedelta(days=1)).replace(day=1), start) if back else (start, _next_month(start))
    if unit == "year":
        year = today.year - back
        return date(year, 1, 1), date(year + 1, 1, 1)
    return None


def _dated(text: str) -> tuple[date, date] | None:
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        day = date.fromisoformat(text)
        return day, day + timedelta(days=1)
    if match := re.fullmatch(r"(\d{4})-w(\d{1,2})", text):
        start = date.fromisocalendar(int(match[1]), int(match[2]), 1)
        return start, start + timedelta(days=7)
    if match := re.fullmatch(r"(\d{4})-(\d{2})", text):
        start = date(int(match[1]), int(match[2]), 1)
        return start, _next_month(start)
    if re.fullmatch(r"\d{4}", text):
        return date(int(text), 1, 1), date(int(text) + 1, 1, 1)
    return None


def _next_month(start: date) -> date:
    return (start.replace(day=28) + timedelta(days=4)).replace(day=1)
