"""Instants as a person says them, in the person's zone."""

from datetime import datetime
from zoneinfo import ZoneInfo


def local(instant: str, zone: str) -> str:
    """`2026-11-30 14:05` in `zone`, from an ISO 8601 instant."""
    return datetime.fromisoformat(instant).astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")


def ago(instant: str, now: datetime, zone: str) -> str:
    """How long ago by the calendar of `zone`: `5 min ago`, `today 09:12`, `3 weeks ago`; a date when long ago."""
    there = ZoneInfo(zone)
    moment, present = datetime.fromisoformat(instant).astimezone(there), now.astimezone(there)
    minutes = (present - moment).total_seconds() / 60
    days = (present.date() - moment.date()).days
    if minutes < 0 or days >= 365:
        return moment.strftime("%Y-%m-%d")
    if minutes < 60:
        return f"{minutes:.0f} min ago" if minutes >= 1 else "just now"
    if days == 0:
        return f"today {moment:%H:%M}"
    if days == 1:
        return f"yesterday {moment:%H:%M}"
    if days < 14:
        return f"{days} days ago"
    return f"{days // 7} weeks ago" if days < 63 else f"{days * 12 // 365} months ago"
