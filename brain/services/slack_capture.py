"""Slack's live messages into the inbox, and the short answer to those that became thoughts.

`take` makes a message durable and returns within milliseconds, so that Slack can be told so at once; `settle` waits
until it is in the lake and says in its thread what it was captured as.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from brain import receipts
from brain.errors import BrainError, LakeBusy
from brain.extraction import extract
from brain.plaintext import clean_lines
from brain.services import drain_inbox
from brain.services._live_index import as_text
from brain.services._slack_events import names_of
from brain.services._thought_events import LONGEST
from brain.services.thoughts import ThoughtReceipt, known_people, thought_data
from brain.slack.events import Told
from brain.slack.messages import author_of, micros
from brain.slack.proposals import Proposal, read_proposal
from brain.slack.text import Names, content_of
from brain.workspace import Workspace

if TYPE_CHECKING:
    from slack_sdk import WebClient

CLIENT = "slack"
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that is safe. `captured` is what it will be as a thought; None for what gets no answer."""

    event_id: str
    channel: str
    ts: str
    captured: ThoughtReceipt | None = None
    proposal: Proposal | None = None


def is_capture_channel(ws: Workspace, channel: str, names: Names) -> bool:
    """Whether messages of this channel, known by its id, become thoughts."""
    listed = {str(name).strip().lstrip("#").lower() for name in ws.settings.slack_capture}
    return bool(listed & {channel.lower(), names.channel(channel).lower()})


def known_names(ws: Workspace) -> Names:
    """What the lake knows people and channels by. Raises LakeError."""
    ws.lake.ensure()
    with ws.lake.read(what="slack") as con:
        return names_of(con)


def take(ws: Workspace, told: Told, names: Names) -> Taken | None:
    """Make what Slack told durable; None when there is nothing to keep.

    What apps write into a capture channel, our own answers among it, is left out. Raises LakeError when it cannot be
    written: Slack shall send it again then.
    """
    if not is_capture_channel(ws, told.channel, names):
        event_id = f"slack:{told.event_id}"
        event = {
            "id": event_id,
            "kind": "slack_message",
            "source": "slack",
            "data": {"channel": told.channel, "message": dict(told.notice)},
        }
        drain_inbox.inbox(ws).drop(event)
        return Taken(event_id, told.channel, told.ts)
    return None if told.is_by_bot else _capture(ws, told, names)


def settle(ws: Workspace, taken: Taken, client: "WebClient | None") -> bool:
    """Wait until it is applied, then answer in its thread; whether an answer was posted.

    The lake has the thought whatever becomes of the answer. Raises LakeBusy when it was not applied in time.
    """
    box, appliers = drain_inbox.inbox(ws), drain_inbox.appliers(ws)
    receipt = box.settle(taken.event_id, appliers, timeout=_PATIENCE_S)
    if receipt is None:
        raise LakeBusy("a message from Slack is safe and will be stored as soon as the lake is free")
    if client is None or taken.captured is None or receipt.state == "rejected":
        return False
    from slack_sdk.errors import SlackClientError

    text = taken.captured.said
    if taken.proposal:
        text += f"\nThis proposes a preference. Only you can set it: `{taken.proposal.command}`"
    try:
        client.chat_postMessage(channel=taken.channel, thread_ts=taken.ts, text=text, unfurl_links=False)
    except (SlackClientError, OSError) as error:
        raise BrainError(f"the answer could not be posted to Slack: {error}") from error
    return True


def _capture(ws: Workspace, told: Told, names: Names) -> Taken | None:
    data: dict[str, Any] = {
        "channel": told.channel,
        "ts": told.ts,
        "thread_ts": told.thread_ts,
        "action": told.action,
        "edited_ts": told.edited_ts,
    }
    # Of one message every telling has one id, whichever way it comes, so that none is applied twice.
    identity = f"{told.channel}\0{told.ts}\0{told.action == 'deleted'}\0{told.edited_ts}"
    event_id = f"slack-thought:{hashlib.sha256(identity.encode()).hexdigest()[:32]}"
    event: dict[str, Any] = {
        "id": event_id,
        "kind": "slack_thought",
        "source": "slack",
        "client": CLIENT,
        "data": data,
    }
    if _is_known(ws, event_id):
        return None
    if told.action == "deleted":
        drain_inbox.inbox(ws).drop(event)
        return Taken(event_id, told.channel, told.ts)
    text = clean_lines(content_of(told.message, names).text).strip()[:LONGEST]
    if not text:
        return None
    now = ws.settings.now()
    written = min(now, datetime.fromtimestamp(micros(told.ts) / 1e6, UTC))  # clocks differ
    embedder, _ = ws.embedder_or_none()
    vector = embedder.embed([text])[0] if embedder else None
    found = extract(text, written, ws.settings.timezone, known_people(ws), embedder, vector)
    proposal = read_proposal(text)
    data |= thought_data(text, f"slack:{names.channel(told.channel)}", written.isoformat(), found)
    data |= {"author": author_of(told.message, names), "is_proposal": proposal is not None}
    if embedder and vector is not None:
        event["embedding"] = as_text(embedder.identity, vector)
    drain_inbox.inbox(ws).drop(event, awaited=True)
    lists = (found.topics, found.people, found.action_items, found.dates)
    receipt = ThoughtReceipt("", found.type, *lists, status="captured", indexed="pending")
    return Taken(event_id, told.channel, told.ts, receipt if told.action == "said" else None, proposal)


def _is_known(ws: Workspace, event_id: str) -> bool:
    with ws.lake.read(what="slack") as con:
        return receipts.has_schema(con) and bool(receipts.find(con, [event_id]))
