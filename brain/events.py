"""The form of an event, checked when it is dropped and again when it is applied."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from brain.errors import EventRefused
from brain.intervals import iso, to_us
from brain.models import EARLIEST_US, LATEST_US

MAX_EVENT_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class Event:
    """One event as an applier sees it. `at` is UTC; `fields` holds all of the object, provenance included."""

    id: str
    kind: str
    at: datetime
    data: dict[str, Any]
    fields: dict[str, Any]


def parse(content: bytes) -> Event:
    """Check the form of an event. Raises EventRefused naming the first fault."""
    if len(content) > MAX_EVENT_BYTES:
        raise EventRefused(f"larger than {MAX_EVENT_BYTES // 1_000_000} MB")
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise EventRefused(f"not JSON: {error}") from error
    return check(fields)


def check(fields: object) -> Event:
    """The same for an event that was read already."""
    if not isinstance(fields, dict):
        raise EventRefused("not a JSON object")
    for name, longest in (("id", 200), ("kind", 50)):
        value = fields.get(name)
        if not isinstance(value, str) or not 0 < len(value) <= longest or not value.isprintable():
            raise EventRefused(f"`{name}` must be a text of 1 to {longest} printable characters")
    if not isinstance(fields.get("data"), dict):
        raise EventRefused("`data` must be an object")
    return Event(fields["id"], fields["kind"], instant(fields.get("at"), "at"), fields["data"], fields)


def instant(value: object, name: str) -> datetime:
    """An ISO 8601 instant with a zone, as UTC. Raises EventRefused, naming the field, for anything else."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is None or moment.tzinfo is None:
            raise EventRefused(
                f"`{name}` must be an ISO 8601 instant with a zone, such as 2026-11-30T12:00:00Z"
            )
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise EventRefused(f"`{name}` is no instant: {error}") from error
    if not EARLIEST_US <= to_us(moment) <= LATEST_US:
        raise EventRefused(f"`{name}` is out of the years 1990 to 2099: {iso(moment)}")
    return moment
