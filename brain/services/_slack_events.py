"""What messages of Slack do to the lake, inside the drain's transaction.

Those of a capture channel become thoughts, each known by its channel and timestamp: told again it changes nothing, an
edit changes the thought, a deletion takes it out of sight. Those of other channels are kept as messages.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from brain import merge, merge_slack, scrub
from brain.applying import Outcome
from brain.errors import EventRefused
from brain.events import Event
from brain.importers.slack_export import messages_batch
from brain.prepare import Preparer
from brain.services import _thought_events as thoughts
from brain.slack.messages import Unreadable, row_of
from brain.slack.text import Names
from brain.sql import Connection, records
from brain.workspace import Workspace


def names_of(con: Connection) -> Names:
    """What people and channels are called, as far as Slack has told."""
    users = con.execute("SELECT user_id, name FROM store.slack_users").fetchall()
    channels = con.execute("SELECT channel_id, name FROM store.slack_channels").fetchall()
    return Names(dict(users), dict(channels))


def merge_said(ws: Workspace, con: Connection, events: Sequence[Event]) -> list[Outcome]:
    """Keep messages, or what they have become."""
    outcomes: list[Outcome] = []
    rows: list[dict[str, Any]] = []
    names = names_of(con)
    for event in events:
        try:
            rows.append(row_of(event.data.get("message"), str(event.data.get("channel")), names))
            outcomes.append(None)
        except Unreadable as error:
            outcomes.append(EventRefused(str(error)))
    if rows:
        source = merge.source_id(con, "slack", "unknown", "", "")
        prepared = Preparer(ws.key, ws.policy).slack_messages(messages_batch(rows))
        merge_slack.merge_messages(con, prepared, source, None)
    return outcomes


def capture(con: Connection, event: Event, key: bytes) -> str | None:
    """Make, change or delete the thought of a message; its id, or None where there is nothing to do."""
    data = event.data
    asked = [data.get("channel"), data.get("ts")]
    rows = records(con.execute("SELECT * FROM store.slack_captures WHERE channel_id = ? AND ts = ?", asked))
    known = rows[0] if rows else None
    if data.get("action") == "deleted":
        return _delete(con, event, known)
    content = scrub.scrub_text(str(data.get("content") or "").strip(), key)
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    edited = str(data.get("edited_ts") or "")
    if known is None:
        thought_id = _thought(con, event, key)
        con.execute(
            "INSERT INTO store.slack_captures VALUES (?, ?, ?, ?, ?, ?, ?, ?, false)",
            [*asked, data.get("thread_ts"), data.get("author"), edited, digest, thought_id, _proposes(data)],
        )
        return thought_id
    if known["is_deleted"] or known["digest"] == digest or edited < known["edited_ts"]:
        return str(known["thought_id"])
    thought_id = known["thought_id"]
    if not _is_there(con, thought_id):  # its person deleted it here: that stands
        return str(thought_id)
    if _is_alone(con, thought_id):
        thoughts.edit(con, _about(event, thought_id), key)
    else:  # the same was said elsewhere too, and there it was not edited
        thought_id = _thought(con, event, key)
    con.execute(
        "UPDATE store.slack_captures SET digest = ?, edited_ts = ?, thought_id = ?, is_proposal = ? "
        "WHERE channel_id = ? AND ts = ?",
        [digest, edited, thought_id, _proposes(data), *asked],
    )
    return str(thought_id)


def _delete(con: Connection, event: Event, known: dict[str, Any] | None) -> str | None:
    if known is None or known["is_deleted"]:
        return None
    thought_id = str(known["thought_id"])
    if _is_there(con, thought_id) and _is_alone(con, thought_id):
        thoughts.delete(con, _about(event, thought_id))
    con.execute(
        "UPDATE store.slack_captures SET is_deleted = true WHERE channel_id = ? AND ts = ?",
        [known["channel_id"], known["ts"]],
    )
    return thought_id


def _thought(con: Connection, event: Event, key: bytes) -> str:
    (outcome,) = thoughts.capture(con, [event], key)
    if isinstance(outcome, EventRefused):
        raise outcome
    return str(outcome)


def _about(event: Event, thought_id: str) -> Event:
    return replace(event, data={**event.data, "id": thought_id, "reason": "so in Slack"})


def _proposes(data: dict[str, Any]) -> bool:
    return data.get("is_proposal") is True


def _is_there(con: Connection, thought_id: str) -> bool:
    sql = "SELECT 1 FROM store.thoughts WHERE thought_id = ? AND deleted_at IS NULL"
    return bool(con.execute(sql, [thought_id]).fetchall())


def _is_alone(con: Connection, thought_id: str) -> bool:
    """Whether the thought was had once only."""
    sql = "SELECT count(*) FROM store.thought_occurrences WHERE thought_id = ?"
    ((times,),) = con.execute(sql, [thought_id]).fetchall()
    return int(times) <= 1
