"""Events from browsers: checked one by one, made durable in few writes, applied by the next drain."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from brain import receipts
from brain.errors import EventRefused, LakeBusy, UsageError
from brain.events import check
from brain.services.access import Key
from brain.services.drain_inbox import inbox
from brain.workspace import Workspace

KINDS = ("visit", "tabs", "dwell", "bookmark", "highlight", "note", "capture")
MOST = 10_000
_AHEAD = timedelta(minutes=5)  # how far a browser's clock may be ahead of ours


@dataclass(slots=True)
class Received:
    """How many events are safe now, how many were known, and which cannot be taken, each with its reason."""

    accepted: int = 0
    duplicate: int = 0
    rejected: list[dict[str, str]] = field(default_factory=list)


def receive(ws: Workspace, key: Key, events: Sequence[Any]) -> Received:
    """Take what a browser tells; the client is the key's, whatever the events say.

    Raises UsageError for more than 10,000 at once, LakeError when they cannot be written.
    """
    if len(events) > MOST:
        raise UsageError(f"at most {MOST:,} events at once")
    report = Received()
    taken: dict[str, dict[str, Any]] = {}
    latest = ws.settings.now() + _AHEAD
    for number, event in enumerate(events):
        name = (
            str(event.get("id"))[:200] if isinstance(event, dict) and event.get("id") else f"events[{number}]"
        )
        try:
            checked = check(event)
            if checked.kind not in KINDS:
                raise EventRefused(f"unknown kind {checked.kind!r}; known: {', '.join(KINDS)}")
            if checked.at > latest:
                raise EventRefused("`at` lies in the future")
        except EventRefused as error:
            report.rejected.append({"id": name, "reason": str(error)})
            continue
        if checked.id in taken:
            report.duplicate += 1
            continue
        taken[checked.id] = {
            "id": _own(key, checked.id),
            "kind": checked.kind,
            "at": event["at"],
            "data": checked.data,
            "source": "extension",
            "client": key.name,
            "browser": key.browser or "unknown",
            "profile": key.profile or "",
        }
    known = _known(ws, [event["id"] for event in taken.values()])
    fresh = [event for event in taken.values() if event["id"] not in known]
    report.duplicate += len(taken) - len(fresh)
    for event, outcome in zip(fresh, inbox(ws).drop_all(fresh), strict=True):
        if isinstance(outcome, EventRefused):
            report.rejected.append({"id": event["id"].partition(":")[2], "reason": str(outcome)})
        else:
            report.accepted += 1
    return report


def _own(key: Key, event_id: str) -> str:
    """The id of a browser's event: two browsers may count alike."""
    own = f"{key.id}:{event_id}"
    return own if len(own) <= 200 else f"{key.id}:{hashlib.sha256(event_id.encode()).hexdigest()}"


def _known(ws: Workspace, event_ids: list[str]) -> set[str]:
    """Those applied before; while the lake is busy none, and the drain finds them out."""
    if not event_ids or not ws.lake.exists:
        return set()
    with suppress(LakeBusy), ws.lake.read(what="receive", timeout=0.5) as con:
        if receipts.has_schema(con):
            return {receipt.event_id for receipt in receipts.find(con, event_ids)}
    return set()
