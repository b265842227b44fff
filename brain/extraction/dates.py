"""Days that a text names, resolved against the day it was written on."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from brain.extraction.words import MONTHS, WEEKDAYS

_MONTH = "|".join(
    sorted({m for month in MONTHS for m in (month, month[:3], month[:4])}, key=len, reverse=True)
)
_DAY = "|".join(
    sorted(
        {d for day in WEEKDAYS for d in (day, day[:3])} - {"sun", "sat", "mon", "wed"}, key=len, reverse=True
    )
)
_NUMBERS = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "a": 1,
    "an": 1,
}
_NUMBERS["a couple of"] = 2
_COUNT = "|".join(sorted(_NUMBERS, key=len, reverse=True))

_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d)-(\d\d)\b")
_DAY_MONTH = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?({_MONTH})\b\.?(?:,?\s+((?:19|20)\d\d)\b)?", re.IGNORECASE
)
_MONTH_DAY = re.compile(
    rf"\b({_MONTH})\b\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*[:.]\d)(?:,?\s+((?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(today|tonight|tomorrow|yesterday|heute|morgen|demain|hier|hoy|ma\u00f1ana)\b", re.IGNORECASE
)
_OFFSETS = {
    **dict.fromkeys(("today", "tonight", "heute", "hoy"), 0),
    **dict.fromkeys(("tomorrow", "morgen", "demain", "ma\u00f1ana"), 1),
    **dict.fromkeys(("yesterday", "hier"), -1),
}
_WEEKDAY = re.compile(
    rf"\b(?:(by|on|next|this|until|till|before|coming)\s+)({_DAY})\b(?!\s+(?:morning|afternoon|evening|night)s)",
    re.IGNORECASE,
)
_SPAN = re.compile(rf"\bin\s+(\d{{1,3}}|{_COUNT})\s+(day|week|month)s?\b", re.IGNORECASE)


def find(text: str, written: date) -> list[date]:
    """The days named, each once, in order of time. A day without a year is the next one."""
    return sorted({day for day in _named(text, written) if day is not None})


def _named(text: str, written: date) -> Iterator[date | None]:
    for found in _ISO.finditer(text):
        yield _date(int(found[1]), int(found[2]), int(found[3]))
    for found in _DAY_MONTH.finditer(text):
        yield _in_year(found[3], found[2], found[1], written)
    for found in _MONTH_DAY.finditer(text):
        yield _in_year(found[3], found[1], found[2], written)
    for found in _RELATIVE.finditer(text):
        yield written + timedelta(days=_OFFSETS[found[1].lower()])
    for found in _WEEKDAY.finditer(text):
        number = next(n for n, name in enumerate(WEEKDAYS) if name.startswith(found[2].lower()))
        ahead = (number - written.weekday() - 1) % 7 + 1
        yield written + timedelta(days=ahead)
    for found in _SPAN.finditer(text):
        count = _NUMBERS.get(found[1].lower()) or (int(found[1]) if found[1].isdecimal() else 0)
        days = {"day": 1, "week": 7, "month": 30}[found[2].lower()] * count
        yield written + timedelta(days=days) if count else None


def _in_year(year: str | None, month: str, day: str, written: date) -> date | None:
    number = next(n for n, name in enumerate(MONTHS, 1) if name.startswith(month.lower()[:3]))
    if year:
        return _date(int(year), number, int(day))
    this = _date(written.year, number, int(day))
    return this if this and this >= written else _date(written.year + 1, number, int(day))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
