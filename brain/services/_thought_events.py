"""What events about thoughts do to the lake, inside the drain's transaction: capture, edit, delete, restore, supersede.

The stream is append-only: every capture is an occurrence. The same text from the same source within 24 hours joins the
earlier thought; any other repeat is a thought of its own that names the earliest one, and search shows that one alone.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from brain import scrub
from brain.applying import Outcome
from brain.errors import EventRefused
from brain.events import Event, instant
from brain.extraction import TYPES
from brain.intervals import iso
from brain.models import SOURCES
from brain.sql import Connection, records
from brain.thought_rows import LISTS, hash_of, refresh_document, refresh_documents

LONGEST = 100_000
MERGED_WITHIN = timedelta(hours=24)
_CLOCKS_APART = timedelta(minutes=5)


def id_of(event_id: str) -> str:
    """The id of the thought that this event makes, unless it joins an earlier one."""
    return "t" + hashlib.sha256(f"thought:{event_id}".encode()).hexdigest()[:16]


@dataclass(slots=True)
class _Known:
    """A thought that is there, or comes with the same events."""

    thought_id: str
    source: str
    last_at: datetime


def capture(con: Connection, events: Sequence[Event], key: bytes) -> list[Outcome]:
    """Store thoughts, or one more occurrence of those that are there; the id of each."""
    outcomes: list[Outcome] = []
    made = [_capture_of(event, key) for event in events]
    taken = [row for row in made if isinstance(row, dict)]
    known = _known_texts(con, {row["content_hash"] for row in taken})
    before = {digest for digest, same in known.items() if same}
    fresh: list[dict[str, Any]] = []
    occurrences: list[list[Any]] = []
    for event, row in zip(events, made, strict=True):
        if isinstance(row, EventRefused):
            outcomes.append(row)
            continue
        same = known[row["content_hash"]]
        created, source = row["created_at"], row["source"]
        near = [one for one in same if one.source == source and abs(created - one.last_at) <= MERGED_WITHIN]
        if near:
            thought_id = near[-1].thought_id
            near[-1].last_at = max(near[-1].last_at, created)
        else:
            thought_id = row["thought_id"]
            fresh.append(row | {"same_as": same[0].thought_id if same else None, "place": len(fresh)})
            same.append(_Known(thought_id, source, created))
        occurrences.append([thought_id, source, row["client"], created, event.at, event.id])
        outcomes.append(thought_id)
    if fresh:
        _insert(con, fresh)
    if occurrences:
        _record(con, occurrences)
        # A new text that is alone is shown by its own document, which `_insert` made.
        refresh_documents(
            con, [digest for digest, same in known.items() if digest in before or len(same) > 1]
        )
    return outcomes


def _capture_of(event: Event, key: bytes) -> dict[str, Any] | EventRefused:
    """The row of a thought as it would be were it new."""
    data = event.data
    try:
        content = _content(data.get("content"), key)
        created = instant(data["created_at"], "created_at") if data.get("created_at") else event.at
        if created > event.at + _CLOCKS_APART:
            raise EventRefused(f"`created_at` lies in the future: {iso(created)}")
    except EventRefused as error:
        return error
    channel = str(event.fields.get("source") or "mcp")
    client = event.fields.get("client")
    return {
        "thought_id": id_of(event.id),
        "content": content,
        "content_hash": hash_of(content),
        "source": str(data.get("source") or channel)[:100],
        "channel": channel if channel in SOURCES else "mcp",
        "client": None if client is None else str(client),
        "created_at": created,
        "captured_at": event.at,
        **_metadata(data, key),
    }


def _insert(con: Connection, fresh: list[dict[str, Any]]) -> None:
    """Add thoughts, each with the document that shows it."""
    con.register("made", pl.DataFrame(fresh, schema=_MADE).to_arrow())
    con.execute("""
        INSERT INTO store.thoughts BY NAME
        SELECT * EXCLUDE (place), 1 AS version, nextval('store.change_seq') AS change_id
        FROM made ORDER BY place""")
    con.execute("""
        INSERT INTO store.documents BY NAME
        SELECT thought_id AS doc_id, 'thought' AS kind, content AS text, channel AS source, source AS origin,
               created_at AS first_at, created_at AS last_at, 0 AS visit_count, 'stale' AS state,
               nextval('store.change_seq') AS change_id
        FROM made ORDER BY place""")
    con.unregister("made")


def _record(con: Connection, occurrences: list[list[Any]]) -> None:
    """Add occurrences, and to the audit log who captured what."""
    names = ("thought", "source", "client", "at", "now", "event")
    told = dict(zip(names, (list(column) for column in zip(*occurrences, strict=True)), strict=True))
    columns = ", ".join(f"unnest(${name})" for name in names)
    con.execute(f"INSERT INTO store.thought_occurrences SELECT {columns}", told)
    con.execute(
        """
        INSERT INTO store.audit
        SELECT unnest($now), unnest($client), 'captured', unnest($thought), NULL, unnest($new), NULL""",
        {
            **{name: told[name] for name in ("now", "client", "thought")},
            "new": [json.dumps({"source": source}, ensure_ascii=False) for source in told["source"]],
        },
    )


def _known_texts(con: Connection, digests: set[str]) -> dict[str, list[_Known]]:
    """The thoughts of each text that are not deleted, earliest first."""
    known: dict[str, list[_Known]] = {digest: [] for digest in digests}
    asked = [sorted(digests)]
    there = "t.content_hash IN (SELECT unnest($1)) AND t.deleted_at IS NULL"
    if not con.execute(f"SELECT 1 FROM store.thoughts t WHERE {there} LIMIT 1", asked).fetchall():
        return known
    rows = con.execute(
        f"""
        SELECT t.content_hash, t.thought_id, t.source, max(o.occurred_at) FROM store.thoughts t
        JOIN store.thought_occurrences o USING (thought_id)
        WHERE {there} GROUP BY ALL ORDER BY min(t.created_at), min(t.rowid)""",
        asked,
    ).fetchall()
    for digest, *fields in rows:
        known[digest].append(_Known(*fields))
    return known


_AT = pl.Datetime("us", "UTC")
_TEXTS = ("thought_id", "content", "content_hash", "source", "channel", "client", "type", "same_as")
_MADE: dict[str, pl.DataType] = {
    **dict.fromkeys(_TEXTS, pl.String()),
    **dict.fromkeys(LISTS, pl.List(pl.String)),
    "created_at": _AT,
    "captured_at": _AT,
    "place": pl.Int64(),
}


def edit(con: Connection, event: Event, key: bytes) -> str:
    """Replace the text of a thought; the old one is kept."""
    old = _thought(con, event)
    content = _content(event.data.get("content"), key)
    meta = _metadata(event.data, key)
    con.execute(
        "INSERT INTO store.thought_versions VALUES (?, ?, ?, ?, ?, ?)",
        [
            old["thought_id"],
            old["version"],
            old["content"],
            old["type"],
            event.at,
            event.fields.get("client"),
        ],
    )
    con.execute(
        """
        UPDATE store.thoughts SET content = ?, content_hash = ?, type = ?, topics = ?, people = ?, action_items = ?,
            dates = ?, version = version + 1, edited_at = ?, change_id = nextval('store.change_seq')
        WHERE thought_id = ?""",
        [
            *(content, hash_of(content), meta["type"], *(meta[name] for name in LISTS), event.at),
            old["thought_id"],
        ],
    )
    audit(con, event, "edited", old["thought_id"], {"content": old["content"]}, {"content": content})
    refresh_document(con, old["content_hash"])
    refresh_document(con, hash_of(content))
    return str(old["thought_id"])


def delete(con: Connection, event: Event) -> str:
    """Take a thought out of sight; it can be restored."""
    old = _thought(con, event)
    _set(con, old["thought_id"], "deleted_at = ?", [event.at])
    audit(con, event, "deleted", old["thought_id"], {"content": old["content"]}, None)
    refresh_document(con, old["content_hash"])
    return str(old["thought_id"])


def restore(con: Connection, event: Event) -> str:
    """Bring a deleted thought back."""
    old = _thought(con, event, deleted=True)
    _set(con, old["thought_id"], "deleted_at = NULL", [])
    audit(con, event, "restored", old["thought_id"], None, {"content": old["content"]})
    refresh_document(con, old["content_hash"])
    return str(old["thought_id"])


def supersede(con: Connection, event: Event) -> str:
    """Say that a later thought replaces this one, which stays and is linked."""
    old = _thought(con, event)
    by = str(event.data.get("by") or "")
    found = con.execute(
        "SELECT 1 FROM store.thoughts WHERE thought_id = ? AND deleted_at IS NULL AND superseded_by IS DISTINCT FROM ?",
        [by, old["thought_id"]],
    ).fetchall()
    if not found or by == old["thought_id"]:
        raise EventRefused(f"there is no thought {by!r} that could replace {old['thought_id']}")
    _set(con, old["thought_id"], "superseded_by = ?", [by])
    audit(con, event, "superseded", old["thought_id"], None, {"by": by})
    refresh_document(con, old["content_hash"])
    return str(old["thought_id"])


def audit(con: Connection, event: Event, action: str, subject: str, old: Any, new: Any) -> None:
    """Record who did what."""
    made = [None if value is None else json.dumps(value, ensure_ascii=False) for value in (old, new)]
    who, reason = event.fields.get("client"), event.data.get("reason")
    con.execute(
        "INSERT INTO store.audit VALUES (?, ?, ?, ?, ?, ?, ?)",
        [event.at, who, action, subject, *made, reason],
    )


def _thought(con: Connection, event: Event, deleted: bool = False) -> dict[str, Any]:
    """The thought an event is about, in the version it means."""
    thought_id = str(event.data.get("id") or "")
    rows = records(con.execute("SELECT * FROM store.thoughts WHERE thought_id = ?", [thought_id]))
    if not rows or (not deleted and rows[0]["deleted_at"] is not None):
        raise EventRefused(f"there is no thought {thought_id!r}; list_thoughts and search_thoughts give ids")
    (row,) = rows
    if deleted and row["deleted_at"] is None:
        raise EventRefused(f"the thought {thought_id} is not deleted")
    if (meant := event.data.get("version")) is not None and meant != row["version"]:
        raise EventRefused(
            f"the thought {thought_id} is at version {row['version']} by now, not {meant}: read it again, then repeat"
        )
    return row


def _set(con: Connection, thought_id: str, what: str, values: list[Any]) -> None:
    con.execute(
        f"UPDATE store.thoughts SET {what}, version = version + 1, change_id = nextval('store.change_seq') "
        "WHERE thought_id = ?",
        [*values, thought_id],
    )


def _content(value: object, key: bytes) -> str:
    if not isinstance(value, str) or not value.strip():
        raise EventRefused("a thought needs some text")
    if len(value) > LONGEST:
        raise EventRefused(f"a thought has at most {LONGEST:,} characters, this one {len(value):,}")
    return scrub.scrub_text(value.strip(), key)


def _metadata(data: dict[str, Any], key: bytes) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    for name in LISTS:
        values = data.get(name)
        listed = values if isinstance(values, list) else []
        meta[name] = [scrub.scrub_text(v, key)[:500] for v in listed[:20] if isinstance(v, str)]
    meta["type"] = data.get("type") if data.get("type") in TYPES else "observation"
    return meta
