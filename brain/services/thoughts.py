"""Capturing thoughts and changing them. Every write is an event of the inbox: durable first, then applied once.

What a write answers is what the lake holds afterwards; a refusal raises UsageError with the reason.
"""

import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from brain.errors import IndexUnavailable, LakeBusy, UsageError
from brain.events import instant
from brain.extraction import Metadata, extract
from brain.plaintext import clean_lines
from brain.services import drain_inbox
from brain.services._live_index import as_text, read_documents
from brain.services._thought_events import LONGEST, id_of
from brain.sql import records
from brain.workspace import Workspace

_PEOPLE_KNOWN = 500
_PEOPLE_FOR_S = 60.0
_PATIENCE_S = 30.0  # with many writers at once; what is not settled by then is safe all the same


@dataclass(frozen=True, slots=True)
class ThoughtReceipt:
    """A captured thought. `status` is captured, or merged when it joined the same text of the last 24 hours.

    `indexed` is vector when it is found by meaning from now on, keyword when only by words, pending when not yet.
    """

    id: str
    type: str
    topics: list[str]
    people: list[str]
    action_items: list[str]
    dates: list[str]
    status: str
    indexed: str

    @property
    def said(self) -> str:
        """The receipt in one line."""
        parts = [f"Captured as {self.type}" if self.status == "captured" else f"Already here as {self.type}"]
        named = (("", self.topics), ("people: ", self.people), ("actions: ", self.action_items))
        told = " / ".join(label + ", ".join(values) for label, values in named if values)
        return " - ".join([*parts, *([told] if told else [])])


@dataclass(frozen=True, slots=True)
class Changed:
    """A thought that was changed, and its version now."""

    id: str
    version: int


def capture_thought(
    ws: Workspace,
    content: str,
    *,
    source: str = "cli",
    channel: str = "cli",
    created_at: str | None = None,
    idempotency_key: str | None = None,
    client: str | None = None,
) -> ThoughtReceipt:
    """Store a thought with its metadata; it is found by words and meaning when this returns.

    `channel` is one of brain.models.SOURCES, `source` any name for where it comes from, `client` who captures it. The
    same `idempotency_key` from the same source captures once. Raises UsageError for a text that cannot be kept, and
    LakeBusy when the lake did not take it in time: it is safe then, and is applied by the next drain.
    """
    text = clean_lines(content).strip()
    if not text:
        raise UsageError("a thought needs some text")
    if len(text) > LONGEST:
        raise UsageError(f"a thought has at most {LONGEST:,} characters, this one {len(text):,}")
    written = _moment(created_at) or ws.settings.now()
    embedder, _ = ws.embedder_or_none()
    vector = embedder.embed([text])[0] if embedder else None
    found = extract(text, written, ws.settings.timezone, known_people(ws), embedder, vector)
    event: dict[str, Any] = {
        "kind": "thought",
        "source": channel,
        "data": thought_data(text, source, created_at, found),
    }
    if client:
        event["client"] = client
    if idempotency_key:
        event["id"] = "key-" + hashlib.sha256(f"{source}\0{idempotency_key}".encode()).hexdigest()
    if embedder and vector is not None:  # for whoever writes it into the index
        event["embedding"] = as_text(embedder.identity, vector)
    box, appliers = drain_inbox.inbox(ws), drain_inbox.appliers(ws)
    event_id = box.drop(event, awaited=True)
    receipt = box.settle(event_id, appliers, timeout=_PATIENCE_S)
    if receipt is None:
        raise LakeBusy("the thought is safe and will be stored as soon as the lake is free")
    if receipt.state == "rejected" or receipt.result_id is None:
        raise UsageError(receipt.reason or "the thought was refused")
    if receipt.result_id != id_of(event_id):
        return _as_known(ws, receipt.result_id)
    return ThoughtReceipt(
        receipt.result_id,
        found.type,
        found.topics,
        found.people,
        found.action_items,
        found.dates,
        "captured",
        receipt.note or "pending",
    )


def update_thought(
    ws: Workspace, thought_id: str, content: str, *, version: int | None = None, client: str | None = None
) -> Changed:
    """Replace a thought's text; the old one is kept. Raises UsageError for an unknown id or an older version."""
    text = clean_lines(content).strip()
    found = extract(text, ws.settings.now(), ws.settings.timezone, known_people(ws), ws.embedder_or_none()[0])
    data = thought_data(text, "", None, found) | {"id": thought_id, "version": version}
    return _change(ws, "thought_edit", data, client)


def delete_thought(
    ws: Workspace,
    thought_id: str,
    *,
    version: int | None = None,
    reason: str | None = None,
    client: str | None = None,
) -> Changed:
    """Take a thought out of sight; `restore_thought` brings it back. Raises UsageError as `update_thought`."""
    return _change(ws, "thought_delete", {"id": thought_id, "version": version, "reason": reason}, client)


def restore_thought(
    ws: Workspace, thought_id: str, *, version: int | None = None, client: str | None = None
) -> Changed:
    """Bring a deleted thought back. Raises UsageError when it is not deleted."""
    return _change(ws, "thought_restore", {"id": thought_id, "version": version}, client)


def supersede_thought(
    ws: Workspace, thought_id: str, by: str, *, version: int | None = None, client: str | None = None
) -> Changed:
    """Let a later thought replace an earlier one, which stays linked. Raises UsageError for unknown ids."""
    return _change(ws, "thought_supersede", {"id": thought_id, "by": by, "version": version}, client)


def submit(
    ws: Workspace,
    kind: str,
    data: Mapping[str, Any],
    client: str | None,
    *,
    source: str | None = None,
    browser: str | None = None,
    profile: str | None = None,
) -> str:
    """Have one event applied; returns the id it is about. Raises UsageError when it is refused."""
    event: dict[str, Any] = {"kind": kind, "data": dict(data)}
    whence = {"client": client, "source": source, "browser": browser, "profile": profile}
    event |= {name: value for name, value in whence.items() if value}
    receipt = drain_inbox.inbox(ws).submit(event, drain_inbox.appliers(ws), timeout=_PATIENCE_S)
    if receipt is None:
        raise LakeBusy("the change is safe and will be made as soon as the lake is free")
    if receipt.state == "rejected" or receipt.result_id is None:
        raise UsageError(receipt.reason or "the change was refused")
    return receipt.result_id


def _change(ws: Workspace, kind: str, data: dict[str, Any], client: str | None) -> Changed:
    thought_id = submit(ws, kind, data, client)
    with ws.lake.read(what="thought") as con:
        rows = con.execute(
            """
            SELECT t.version, d.doc_id FROM store.thoughts t LEFT JOIN store.thoughts s USING (content_hash)
            LEFT JOIN store.documents d ON d.doc_id = s.thought_id WHERE t.thought_id = ?""",
            [thought_id],
        ).fetchall()
    for doc_id in {thought_id, *(row[1] for row in rows if row[1])}:
        _index(ws, doc_id)
    return Changed(thought_id, int(rows[0][0]))


def _index(ws: Workspace, doc_id: str) -> None:
    """Bring the index rows of one thought up to date; what does not work out is done by the next indexing."""
    with ws.lake.read(what="thought") as con:
        documents = read_documents(con, [doc_id])
    with suppress(IndexUnavailable):
        if documents:
            ws.index.put(documents, ws.embedder_or_none()[0])
        else:  # deleted, or shown by the earlier thought of the same text
            ws.index.delete([doc_id])


def thought_data(text: str, source: str, created_at: str | None, found: Metadata) -> dict[str, Any]:
    return {
        "content": text,
        "source": source,
        "created_at": created_at,
        "type": found.type,
        "topics": found.topics,
        "people": found.people,
        "action_items": found.action_items,
        "dates": found.dates,
    }


def _as_known(ws: Workspace, thought_id: str) -> ThoughtReceipt:
    with ws.lake.read(what="thought") as con:
        (row,) = records(con.execute("SELECT * FROM store.thoughts WHERE thought_id = ?", [thought_id]))
    return ThoughtReceipt(
        thought_id,
        row["type"],
        row["topics"],
        row["people"],
        row["action_items"],
        row["dates"],
        status="merged",
        indexed="vector",
    )


def _moment(text: str | None) -> datetime | None:
    from brain.errors import EventRefused

    try:
        return instant(text, "created_at") if text else None
    except EventRefused as error:
        raise UsageError(str(error)) from error


def known_people(ws: Workspace) -> list[str]:
    """Names known from earlier thoughts, most mentioned first; read anew every minute."""
    read_at, names = _KNOWN.get(ws.home.root, (0.0, []))
    if not ws.lake.exists or time.monotonic() - read_at < _PEOPLE_FOR_S:
        return names
    ws.lake.ensure()
    with ws.lake.read(what="people") as con:
        rows = con.execute(
            "SELECT name, count(*) FROM (SELECT unnest(people) AS name FROM store.thoughts) GROUP BY 1 "
            "HAVING count(*) > 1 ORDER BY 2 DESC LIMIT ?",
            [_PEOPLE_KNOWN],
        ).fetchall()
    names = [name for name, _ in rows]
    _KNOWN[ws.home.root] = time.monotonic(), names
    return names


_KNOWN: dict[Path, tuple[float, list[str]]] = {}
