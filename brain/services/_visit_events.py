"""What events about visits, and the time spent on them, do to the lake, inside the drain's transaction.

Thousands at once cost little more than one.

Privacy comes first: what the deny list names, and what comes from a private window, is dropped without a trace;
secrets are replaced before anything is written.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import polars as pl

from brain import ids, merge, urls
from brain.applying import Outcome
from brain.errors import EventRefused
from brain.events import Event, instant
from brain.intervals import to_us
from brain.models import as_record_batch
from brain.prepare import Preparer
from brain.services._event_fields import browser_source, is_private, known_urls, text_of
from brain.sql import Connection
from brain.workspace import Workspace

_LONGEST_URL = 65_536
_LONGEST_TITLE = 1_000_000
_LONGEST_DWELL_US = 86_400_000_000
# What an extension says of a navigation (webNavigation's transition types) in the lake's vocabulary.
_NAVIGATIONS = {
    "link": "link",
    "typed": "typed",
    "auto_bookmark": "bookmark",
    "generated": "generated",
    "form_submit": "form",
    "reload": "reload",
    "keyword": "keyword",
    "start_page": "start_page",
}
_FLAGS = ("is_visible", "is_hop", "is_subframe", "is_reload", "is_back_forward")


def merge_visits(ws: Workspace, con: Connection, events: Sequence[Event]) -> list[Outcome]:
    """Merge visits; each event's result is the id of its visit, None for one that must not be stored."""
    outcomes: list[Outcome] = [None] * len(events)
    by_source: dict[int, list[int]] = defaultdict(list)
    told: dict[int, tuple[str, str | None, int]] = {}
    # Private ones before anything can be refused: what is refused is kept, and these must not be.
    private = is_private(ws, events)
    for place, event in enumerate(events):
        if private[place]:
            continue
        try:
            url = text_of(event, "url", _LONGEST_URL, required=True)
            told[place] = url or "", text_of(event, "title", _LONGEST_TITLE), to_us(event.at)
        except EventRefused as error:
            outcomes[place] = error
            continue
        by_source[browser_source(con, event)].append(place)
    for source, places in by_source.items():
        keys = _merge(ws, con, {place: (*told[place], events[place].data) for place in places}, source)
        for place in places:
            outcomes[place] = ids.text("v", keys[told[place][0], told[place][2]])
    return outcomes


def _merge(
    ws: Workspace, con: Connection, told: dict[int, tuple[str, str | None, int, dict[str, Any]]], source: int
) -> dict[tuple[str, int], int]:
    """Merge the visits of one source; the visit's key by URL and instant."""
    addresses, titles, instants, data = (list(column) for column in zip(*told.values(), strict=True))
    preparer, rows = Preparer(ws.key, ws.policy), list(range(len(told)))
    fresh, known = preparer.urls(
        as_record_batch(
            "urls", {"url_ref": rows, "url": addresses, "title": titles, "last_visit_us": instants}
        ),
        lambda url_ids: known_urls(con, url_ids),
    )
    transitions = [str(fields.get("transition")) for fields in data]
    batch: dict[str, list[Any]] = {name: [False] * len(rows) for name in _FLAGS}
    batch |= {
        "native_id": rows,
        "url_ref": rows,
        "visited_us": instants,
        "is_visible": [True] * len(rows),
        "is_reload": [transition == "reload" for transition in transitions],
        "is_back_forward": [fields.get("back_forward") is True for fields in data],
        "navigation": [_NAVIGATIONS.get(transition, "other") for transition in transitions],
        "origin": ["local"] * len(rows),
        "title": titles,
    }
    visits = preparer.visits(as_record_batch("visits", batch))
    merge.merge_urls(con, fresh, known, None)
    if merge.merge_visits(con, visits, source, None).new:
        merge.mark_duplicates(con, merge.find_duplicates_of(con, visits, source))
    kept = zip(visits["native_id"], visits["visit_key"], strict=True)
    return {(addresses[row], instants[row]): key for row, key in kept}


def add_dwell(ws: Workspace, con: Connection, events: Sequence[Event]) -> list[Outcome]:
    """Add time in front of the person to the visit it belongs to: the newest of that URL and browser before its end."""
    outcomes: list[Outcome] = [None] * len(events)
    private = is_private(ws, events)
    for place, event in enumerate(events):
        if private[place]:
            continue
        try:
            outcomes[place] = _dwell(ws, con, event)
        except EventRefused as error:
            outcomes[place] = error
    return outcomes


def _dwell(ws: Workspace, con: Connection, event: Event) -> str | None:
    url = text_of(event, "url", _LONGEST_URL, required=True)
    began, ended = (instant(event.data.get(name), f"data.{name}") for name in ("from", "to"))
    us = to_us(ended) - to_us(began)
    if not 0 <= us <= _LONGEST_DWELL_US:
        raise EventRefused("`data.to` must be after `data.from`, by a day at most")
    source = browser_source(con, event)
    url_id = urls.url_ids(pl.Series([url]), ws.key)[0]
    rows = con.execute(
        """
        UPDATE store.visits
        SET foreground_us = coalesce(foreground_us, 0) + $us, change_id = nextval('store.change_seq')
        WHERE visit_key = (
            SELECT arg_max(visit_key, visited_at) FROM store.visits
            WHERE url_id = $url AND source_id = $source AND visited_at BETWEEN $since AND $until)
        RETURNING visit_key, duplicate_of""",
        {
            "us": us,
            "url": url_id,
            "source": source,
            "since": ended - timedelta(days=1),
            "until": ended + timedelta(seconds=1),
        },
    ).fetchall()
    if not rows:
        return None  # time on a page whose visit is not kept
    key, first = rows[0]
    if (
        first is not None
    ):  # a browser's own file tells of the visit too: the one that counts is the richer for it
        con.execute(
            "UPDATE store.visits SET foreground_us = greatest(foreground_us, (SELECT foreground_us FROM store.visits"
            " WHERE visit_key = $key)), change_id = nextval('store.change_seq') WHERE visit_key = $first",
            {"key": key, "first": first},
        )
    return ids.text("v", key)
