"""Messages of Slack as rows: who said what, when, in which thread, with its links, files and reactions."""

import hashlib
from collections.abc import Mapping
from typing import Any

from brain.slack.text import Names, content_of

# What Slack itself writes into a channel about the channel; people do not search for it.
_SYSTEM_SUBTYPES = """
    channel_join channel_leave channel_topic channel_purpose channel_name channel_archive channel_unarchive
    channel_convert_to_private channel_canvas_updated channel_posting_permissions group_join group_leave group_topic
    group_purpose group_name group_archive group_unarchive pinned_item unpinned_item bot_add bot_remove bot_enable
    bot_disable reminder_add huddle_thread sh_room_created tombstone message_deleted
"""
SYSTEM = frozenset(_SYSTEM_SUBTYPES.split())


class Unreadable(ValueError):
    """A message that cannot be taken; the text says why."""


def micros(ts: object) -> int:
    """Microseconds since 1970 UTC of a Slack timestamp. Raises Unreadable."""
    if isinstance(ts, str):
        seconds, dot, fraction = ts.partition(".")
        is_number = seconds.isascii() and seconds.isdigit() and fraction.isascii() and fraction.isdigit()
        if dot and is_number and 9 <= len(seconds) <= 10 and len(fraction) == 6:
            return int(seconds) * 1_000_000 + int(fraction)
    raise Unreadable(f"`ts` is no timestamp: {str(ts)[:40]!r}")


def row_of(message: object, channel_id: str, names: Names) -> dict[str, Any]:
    """A message as one row of `slack_messages`. Raises Unreadable.

    A notice that a message was changed or deleted is the message as it is since then.
    """
    if not isinstance(message, dict):
        raise Unreadable("no object")
    subtype = _text(message.get("subtype"))
    deleted = subtype in ("tombstone", "message_deleted")
    if subtype == "message_changed" and isinstance(message.get("message"), dict):
        message = dict(message["message"])
        subtype = _text(message.get("subtype"))
    elif subtype == "message_deleted":
        before = message.get("previous_message")
        message = {
            **(before if isinstance(before, Mapping) else {}),
            "ts": message.get("deleted_ts") or _ts_of(before),
        }
    if message.get("type") not in (None, "message"):
        raise Unreadable(f"no message but {str(message.get('type'))[:40]!r}")
    ts = message.get("ts")
    sent = micros(ts)
    thread = message.get("thread_ts")
    if thread is not None and thread != ts:
        micros(thread)
    content = content_of({} if deleted else message, names)
    edited = message.get("edited")
    replies = message.get("reply_count")
    row = {
        "channel_id": channel_id,
        "ts": ts,
        "sent_us": sent,
        "thread_ts": thread or ts,
        "user_id": _text(message.get("user")) or None,
        "author": author_of(message, names),
        "subtype": subtype or None,
        "is_system": subtype in SYSTEM,
        "is_deleted": deleted,
        "is_broadcast": subtype == "thread_broadcast",
        "text": content.text,
        "edited_ts": _text(edited.get("ts")) or None if isinstance(edited, Mapping) else None,
        "reply_count": replies
        if isinstance(replies, int) and not isinstance(replies, bool) and replies >= 0
        else 0,
        "links": [{"url": link.url, "label": link.label} for link in content.links],
        "reactions": [] if deleted else _reactions(message.get("reactions")),
        "files": [] if deleted else _files(message),
    }
    said = [row[name] for name in ("text", "author", "subtype", "reply_count", "links", "reactions", "files")]
    digest = hashlib.blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=8)
    # Signed, as Arrow and DuckDB both know it.
    row["content_hash"] = int.from_bytes(digest.digest(), "big", signed=True)
    return row


def author_of(message: Mapping[str, Any], names: Names) -> str:
    """Who wrote it, by the best name there is; people of other workspaces and bots are in no list."""
    user = _text(message.get("user"))
    if user and user in names.users:
        return names.users[user]
    profile = message.get("user_profile")
    if isinstance(profile, Mapping) and (name := name_of({"profile": profile, **profile})):
        return name
    for inner in ("file", "comment"):
        held = message.get(inner)
        if isinstance(held, Mapping) and (own := _text(held.get("user"))):
            return names.user(own)
    bot = message.get("bot_profile")
    said = (_text(bot.get("name")) if isinstance(bot, Mapping) else "") or _text(message.get("username"))
    return said or user or _text(message.get("bot_id")) or "unknown"


def name_of(user: Mapping[str, Any]) -> str:
    """What a user of a list is called; every one of the names may be blank."""
    profile = user.get("profile")
    held = profile if isinstance(profile, Mapping) else {}
    candidates = (held.get("display_name"), held.get("real_name"), user.get("real_name"), user.get("name"))
    return next((name.strip() for name in candidates if isinstance(name, str) and name.strip()), "")


def _ts_of(message: object) -> object:
    return message.get("ts") if isinstance(message, Mapping) else None


def _reactions(told: object) -> list[dict[str, Any]]:
    if not told:
        return []
    found = []
    for each in told if isinstance(told, list) else ():
        if isinstance(each, Mapping) and (name := _text(each.get("name"))):
            users = [user for user in each.get("users") or () if isinstance(user, str)]
            count = each.get("count")
            # The list of users may be cut, the count is whole.
            whole = count if isinstance(count, int) and not isinstance(count, bool) else 0
            found.append({"name": name, "count": max(min(whole, 2**31 - 1), len(users)), "users": users})
    return found


def _files(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    if "files" not in message and "file" not in message:
        return []
    told = message.get("files")
    files = told if isinstance(told, list) else [message.get("file")]
    found = []
    for each in files:
        if not isinstance(each, Mapping) or not (file_id := _text(each.get("id"))):
            continue
        size = each.get("size")
        found.append(
            {
                "file_id": file_id,
                "name": _text(each.get("name")) or None,
                "title": _text(each.get("title")) or None,
                "mimetype": _text(each.get("mimetype")) or None,
                "bytes": size if isinstance(size, int) and 0 <= size < 2**62 else None,
                "url": _text(each.get("permalink")) or _text(each.get("url_private")) or None,
            }
        )
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
