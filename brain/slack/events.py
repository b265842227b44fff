"""What Slack tells as it happens, by the Events API or Socket Mode: the envelope of an event, read.

Source of the forms: Slack's documentation of the Events API (`event_callback`, `message` and its subtypes).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from brain.slack.messages import Unreadable, micros

Action = Literal["said", "changed", "deleted"]


@dataclass(frozen=True, slots=True)
class Told:
    """One message that was written, changed or deleted. `ts` and `thread_ts` identify it and the start of its thread.

    `message` is the message as it is now, empty when it was deleted; `notice` is what the event held.
    """

    event_id: str
    channel: str
    action: Action
    ts: str
    thread_ts: str
    message: Mapping[str, Any]
    notice: Mapping[str, Any]

    @property
    def is_by_bot(self) -> bool:
        """Whether an app wrote it, ours perhaps."""
        return bool(self.message.get("bot_id")) or self.message.get("subtype") == "bot_message"

    @property
    def edited_ts(self) -> str:
        """When it was edited last; empty when it never was."""
        edited = self.message.get("edited")
        return str(edited.get("ts") or "") if isinstance(edited, Mapping) else ""


def read_envelope(envelope: object) -> Told | None:
    """The message an event is about, or None when it is about none. Raises Unreadable when it is malformed."""
    if not isinstance(envelope, Mapping) or not isinstance(event := envelope.get("event"), Mapping):
        raise Unreadable("no event")
    if event.get("type") != "message":
        return None
    event_id, channel = envelope.get("event_id"), event.get("channel")
    if not isinstance(event_id, str) or not 0 < len(event_id) <= 100 or not event_id.isprintable():
        raise Unreadable("`event_id` is missing")
    if not isinstance(channel, str) or not re.fullmatch(r"[A-Z0-9]{2,20}", channel):
        raise Unreadable(f"`channel` is no channel: {str(channel)[:40]!r}")
    return read_message(event, channel, event_id)


def read_message(event: Mapping[str, Any], channel: str, event_id: str) -> Told:
    """The same for a message as the Web API gives it, or a notice of its change. Raises Unreadable."""
    message: Mapping[str, Any] = event
    action: Action = "said"
    if event.get("subtype") == "message_changed" and isinstance(event.get("message"), Mapping):
        message, action = event["message"], "changed"
    if event.get("subtype") == "message_deleted" or message.get("subtype") == "tombstone":
        action = "deleted"
    before = event.get("previous_message")
    ts = (event.get("deleted_ts") if action == "deleted" else None) or message.get("ts")
    micros(ts)
    # A deleted reply's thread is told by what it was.
    told = message if action != "deleted" or not isinstance(before, Mapping) else before
    thread = told.get("thread_ts") or ts
    micros(thread)
    return Told(
        event_id, channel, action, str(ts), str(thread), {} if action == "deleted" else message, event
    )
