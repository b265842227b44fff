"""Apply what waits in the inbox: visits and notes. Each event kind has one applier, called in the drain's transaction.

Privacy comes first here too: what the deny list names, and what comes from a private window, is dropped without a
trace; secrets are replaced before anything is written.
"""

import hashlib
from typing import Any

import polars as pl

from brain import ids, merge, scrub, urls
from brain.errors import EventRefused
from brain.events import Event
from brain.inbox import Applier, DrainReport, Inbox
from brain.intervals import to_us
from brain.models import as_record_batch
from brain.prepare import Preparer
from brain.services import coverage
from brain.sql import Connection
from brain.workspace import Workspace

_LONGEST_URL = 65_536
_LONGEST_TEXT = 1_000_000
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


def drain(ws: Workspace) -> DrainReport:
    """Apply all waiting events; safe to call from any number of processes. Raises LakeBusy or LakeError."""
    box = inbox(ws)
    if not box.waiting():
        return DrainReport()
    report = box.drain(appliers(ws))
    if report.applied:
        coverage.refresh(ws)
    return report


def inbox(ws: Workspace) -> Inbox:
    """The inbox of this lake."""
    return Inbox(ws.home, ws.lake.leases, ws.settings.now)


def appliers(ws: Workspace) -> dict[str, Applier]:
    """What each event kind does; creates the lake where there is none.

    Raises LakeError, and UsageError for a deny list that cannot be meant.
    """
    ws.lake.ensure()
    _ = ws.key, ws.policy  # they read the lake and files, which cannot wait until the lease is held
    return {
        "visit": lambda con, event: _visit(ws, con, event),
        "note": lambda con, event: _note(ws, con, event),
    }


def _visit(ws: Workspace, con: Connection, event: Event) -> str | None:
    # Before anything can be refused: what is refused is kept, and this must not be.
    if _is_private(ws, event):
        return None
    url = _text(event, "url", _LONGEST_URL, required=True)
    title = _text(event, "title", _LONGEST_TEXT)
    preparer = Preparer(ws.key, ws.policy)
    us = to_us(event.at)
    fresh, known = preparer.urls(
        as_record_batch("urls", {"url_ref": [0], "url": [url], "title": [title], "last_visit_us": [us]}),
        lambda ids: _known(con, ids),
    )
    batch: dict[str, list[Any]] = {name: [False] for name in _FLAGS}
    batch |= {
        "native_id": [0],
        "url_ref": [0],
        "visited_us": [us],
        "is_visible": [True],
        "is_reload": [event.data.get("transition") == "reload"],
        "navigation": [_NAVIGATIONS.get(str(event.data.get("transition")), "other")],
        "origin": ["local"],
        "title": [title],
    }
    visits = preparer.visits(as_record_batch("visits", batch))
    browser, profile = (str(event.fields.get(name) or "") for name in ("browser", "profile"))
    source = merge.source_id(con, "extension", browser or "unknown", profile, "")
    merge.merge_urls(con, fresh, known, None)
    if merge.merge_visits(con, visits, source, None).new:
        merge.mark_duplicates(con, merge.find_duplicates_of(con, visits, source))
    return ids.text("v", visits["visit_key"][0])


_FLAGS = ("is_visible", "is_hop", "is_subframe", "is_reload", "is_back_forward")


def _known(con: Connection, ids: pl.Series) -> pl.Series:
    rows = con.execute("SELECT 1 FROM store.urls WHERE url_id = ?", [ids[0]]).fetchall() if len(ids) else []
    return pl.Series([bool(rows)] * len(ids), dtype=pl.Boolean)


def _is_private(ws: Workspace, event: Event) -> bool:
    """Whether the event comes from a private window or from an address that must not be stored."""
    if event.data.get("incognito") and not ws.settings.keep_private:
        return True
    url = event.data.get("url")
    return isinstance(url, str) and bool(ws.policy.denied(pl.Series([_storable(url)]))[0])


def _note(ws: Workspace, con: Connection, event: Event) -> str | None:
    if _is_private(ws, event):
        return None
    text = _text(event, "text", _LONGEST_TEXT, required=True)
    assert text
    url = _text(event, "url", _LONGEST_URL)
    doc_id = "n" + hashlib.sha256(f"note:{event.id}".encode()).hexdigest()[:16]
    clean = scrub.scrub(pl.Series([url]), ws.key)[0] if url else None
    domain = urls.normalise(pl.Series([clean]))["domain"][0] if clean else None
    source = str(event.fields.get("source") or "cli")
    con.execute(
        """
        INSERT INTO store.documents (doc_id, kind, title, text, url, domain, source, origin, first_at, last_at,
                                     visit_count, state, change_id)
        VALUES (?, 'note', NULL, ?, ?, ?, ?, ?, ?, ?, 0, 'stale', nextval('store.change_seq'))""",
        [
            doc_id,
            scrub.scrub_text(text, ws.key),
            clean,
            domain,
            source,
            event.fields.get("client"),
            event.at,
            event.at,
        ],
    )
    return doc_id


def _text(event: Event, name: str, longest: int, required: bool = False) -> str | None:
    value = event.data.get(name)
    if value is None or (isinstance(value, str) and not value.strip()):
        if required:
            raise EventRefused(f"`data.{name}` is missing")
        return None
    if not isinstance(value, str):
        raise EventRefused(f"`data.{name}` must be text")
    if len(value) > longest:
        raise EventRefused(f"`data.{name}` has {len(value):,} characters; at most {longest:,} are taken")
    return _storable(value)


def _storable(text: str) -> str:
    """The text with halves of surrogate pairs, which JSON can carry and UTF-8 cannot, replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")
