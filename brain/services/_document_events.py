"""What events about notes, highlights, captured pages and bookmarks do to the lake, inside the drain's transaction."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import polars as pl

from brain import ids, merge, merge_records, removals, scrub, urls
from brain.applying import Outcome
from brain.errors import EventRefused
from brain.events import Event
from brain.intervals import to_us
from brain.models import SOURCES, as_record_batch
from brain.prepare import Preparer
from brain.services._event_fields import is_private, known_urls, text_of
from brain.sql import Connection, frame
from brain.workspace import Workspace

_LONGEST_URL = 65_536
_LONGEST_TEXT = 1_000_000
_LONGEST_TITLE = 10_000
_SAID_OF_A_CAPTURE = ("excerpt", "byline", "lang", "summary")


def merge_texts(ws: Workspace, con: Connection, events: Sequence[Event]) -> list[Outcome]:
    """Keep notes, highlights and captured pages as documents; the id of each, None for one that must not be stored.

    A page has one capture, which a later one renews; what a later one leaves out (a summary) stays.
    """
    outcomes: list[Outcome] = [None] * len(events)
    rows: dict[tuple[str, str, str], list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for place, (event, hidden) in enumerate(zip(events, is_private(ws, events), strict=True)):
        if hidden:
            continue
        try:
            rows[_whence(event)].append((place, _text_row(event, ws.key)))
        except EventRefused as error:
            outcomes[place] = error
    for (source, browser, profile), told in rows.items():
        source_id = merge.source_id(con, source, browser, profile, "")
        # One at a time where a page is captured twice: the later one renews the earlier.
        for part in _distinct(told):
            batch = {name: [row[name] for _, row in part] for name in part[0][1]}
            prepared = Preparer(ws.key, ws.policy).texts(as_record_batch("texts", batch), "events")
            merge_records.merge_texts(con, _kept_details(con, prepared), source_id, None)
            made = dict(zip(prepared["native_id"], prepared["doc_id"], strict=True))
            for place, row in part:
                outcomes[place] = made.get(row["native_id"])
    return outcomes


def merge_bookmarks(ws: Workspace, con: Connection, events: Sequence[Event]) -> list[Outcome]:
    """Add, renew or remove bookmarks; the id of the bookmarked page's document."""
    outcomes: list[Outcome] = [None] * len(events)
    hidden = is_private(ws, events)
    for place, event in enumerate(events):
        if hidden[place]:
            continue
        try:
            outcomes[place] = _bookmark(ws, con, event)
        except EventRefused as error:
            outcomes[place] = error
    return outcomes


def _bookmark(ws: Workspace, con: Connection, event: Event) -> str:
    url = text_of(event, "url", _LONGEST_URL, required=True)
    change = event.data.get("change") or "added"
    if change not in ("added", "changed", "removed"):
        raise EventRefused("`data.change` must be added, changed or removed")
    folder = event.data.get("folder") or []
    if isinstance(folder, str):
        folder = [folder]
    if not isinstance(folder, list) or not all(isinstance(name, str) for name in folder) or len(folder) > 100:
        raise EventRefused("`data.folder` must be a list of names")
    us = to_us(event.at)
    row = {
        "native_id": [str(event.data["native_id"])[:200] if event.data.get("native_id") else None],
        "url": [url],
        "title": [text_of(event, "title", _LONGEST_TITLE)],
        "folder": [[name[:1_000] for name in folder]],
        "tags": [[]],
        "added_us": [us if change == "added" else None],
        "modified_us": [us if change == "changed" else None],
        "shelf": ["bookmarks"],
    }
    source, browser, profile = _whence(event)
    preparer = Preparer(ws.key, ws.policy)
    fresh, kept = preparer.bookmarks(
        as_record_batch("bookmarks", row), f"{source}\0{browser}\0{profile}", lambda ids: known_urls(con, ids)
    )
    if change == "removed":
        gone = kept.select("bookmark_key")
        removals.remove(con, removals.Missing(pl.DataFrame(schema={"visit_key": pl.UInt64}), gone), event.at)
    else:
        merge.merge_urls(con, fresh, fresh.clear().drop("url"), None)
        merge_records.merge_bookmarks(con, kept, merge.source_id(con, source, browser, profile, ""), None)
    page = fresh["page_id"] if fresh.height else _page_of(con, int(kept["url_id"][0]))
    return ids.text("b", page[0])


def _page_of(con: Connection, url_id: int) -> pl.Series:
    return frame(con, "SELECT page_id FROM store.urls WHERE url_id = $1", [url_id])["page_id"]


def _text_row(event: Event, key: bytes) -> dict[str, Any]:
    """One row of texts. Raises EventRefused."""
    url = text_of(event, "url", _LONGEST_URL, required=event.kind != "note")
    title = text_of(event, "title", _LONGEST_TITLE)
    text = text_of(event, "text", _LONGEST_TEXT, required=True) or ""
    details = {}
    native_id = event.id
    if event.kind == "highlight" and (note := text_of(event, "note", _LONGEST_TEXT)):
        text = f"{text}\n\n{note}"
        details["note"] = note
    if event.kind == "capture":
        native_id = str(urls.normalise(scrub.scrub(pl.Series([url]), key))["url_norm"][0])
        for name in _SAID_OF_A_CAPTURE:
            if said := text_of(event, name, _LONGEST_TEXT):
                details[name] = said
    us = to_us(event.at)
    return {
        "native_id": native_id,
        "kind": event.kind,
        "url": url,
        "title": title,
        "text": text,
        "created_us": us if event.kind != "capture" else None,
        "modified_us": us,
        "tags": [],
        "details": json.dumps(details, ensure_ascii=False) if details else None,
    }


def _kept_details(con: Connection, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with what the lake already knows of each text and they do not say again."""
    known = frame(
        con,
        "SELECT doc_id, details::VARCHAR AS old FROM store.texts "
        "WHERE doc_id IN (SELECT unnest($1)) AND details IS NOT NULL",
        [rows["doc_id"].to_list()],
    )
    if not known.height:
        return rows
    joined = rows.join(known, on="doc_id", how="left", maintain_order="left")
    merged = [
        json.dumps(json.loads(old) | json.loads(new or "{}"), ensure_ascii=False) if old else new
        for old, new in zip(joined["old"], joined["details"], strict=True)
    ]
    return joined.with_columns(pl.Series("details", merged, pl.String)).drop("old")


def _distinct(told: list[tuple[int, dict[str, Any]]]) -> list[list[tuple[int, dict[str, Any]]]]:
    """The rows in parts that hold each text once, in their order."""
    parts: list[list[tuple[int, dict[str, Any]]]] = []
    times: dict[tuple[str, str], int] = defaultdict(int)
    for place, row in told:
        turn = times[row["kind"], row["native_id"]]
        times[row["kind"], row["native_id"]] += 1
        if turn == len(parts):
            parts.append([])
        parts[turn].append((place, row))
    return parts


def _whence(event: Event) -> tuple[str, str, str]:
    """Source, browser and profile: an extension's is the browser it runs in, any other's the client that wrote."""
    source = str(event.fields.get("source") or "cli")
    source = source if source in SOURCES else "cli"
    if source == "extension":
        browser, profile = (str(event.fields.get(name) or "") for name in ("browser", "profile"))
        return source, browser or "unknown", profile
    return source, "unknown", str(event.fields.get("client") or "")
