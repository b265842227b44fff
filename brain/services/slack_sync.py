"""Slack by its Web API: what is new since the last time, and what changed or was deleted within the last days.

Needs a token whose scopes are *:history, *:read and users:read. Slack's limits are kept: after a 429 the client waits
as long as it is told. Each page is in the lake before the next is asked for, so a run that breaks off is gone on with.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brain import merge, merge_slack
from brain.errors import UsageError
from brain.importers.slack_export import channels_batch, messages_batch, users_batch
from brain.prepare import Preparer
from brain.progress import Progress, silent
from brain.services import coverage, drain_inbox, slack_capture
from brain.services.slack_access import FATAL, SlackUnavailable, required, web_client
from brain.slack.events import read_message
from brain.slack.export import Channel
from brain.slack.messages import SYSTEM, Unreadable, name_of, row_of
from brain.slack.text import Names
from brain.sql import Connection, records, transaction
from brain.workspace import Workspace

if TYPE_CHECKING:
    from slack_sdk import WebClient

_PAGE = 200
_AGAIN_S = 7 * 86_400  # how far back edits, deletions and late replies are looked for
_THREADS_S = 30 * 86_400  # threads last spoken in since then are asked for new replies


@dataclass(slots=True)
class SyncReport:
    """What a run brought. `problems` names channels that could not be read, each with Slack's word for why.

    `captured` counts messages of capture channels, new or changed, which became thoughts.
    """

    channels: int = 0
    messages: int = 0
    new: int = 0
    updated: int = 0
    deleted: int = 0
    captured: int = 0
    rejected: int = 0
    problems: list[str] = field(default_factory=list)


def sync(
    ws: Workspace,
    *,
    token: str | None = None,
    channels: tuple[str, ...] = (),
    base_url: str | None = None,
    progress: Progress | None = None,
) -> SyncReport:
    """Bring the channels that the token's user is in up to date, or those named.

    `token` is by default `$BRAIN_SLACK_TOKEN`, else the text of `keys/slack_token` in the home. Raises SlackUnavailable
    when Slack cannot be asked at all; what was brought before is safe.
    """
    run = _Sync(ws, web_client(token or required(ws, "slack_token"), base_url), progress or silent)
    return run.run({name.strip().lstrip("#").lower() for name in channels})


class _Sync:
    def __init__(self, ws: Workspace, client: "WebClient", progress: Progress) -> None:
        self._ws, self._client, self._say = ws, client, progress
        self._report = SyncReport()
        self._preparer = Preparer(ws.key, ws.policy)
        ws.lake.ensure()
        with ws.lake.write(what="slack sync") as con:
            self._source = merge.source_id(con, "slack", "unknown", "", "")

    def run(self, wanted: set[str]) -> SyncReport:
        users = {
            user["id"]: user
            for user in self._pages("users_list", "members")
            if isinstance(user.get("id"), str)
        }
        self._names = Names({user_id: name_of(told) or user_id for user_id, told in users.items()})
        kinds = "public_channel,private_channel,im,mpim"
        listed = [
            Channel(told["id"], str(told.get("name") or told["id"]), _kind(told), told)
            for told in self._pages("conversations_list", "channels", types=kinds, exclude_archived=False)
            if isinstance(told.get("id"), str) and (told.get("is_member", True) or told.get("is_im"))
        ]
        names = Names(self._names.users, {channel.id: channel.name for channel in listed})
        self._names = names
        if users:
            self._merge("slack_users", users_batch(users), merge_slack.merge_users)
        if listed:
            self._merge("slack_channels", channels_batch(listed, names), merge_slack.merge_channels)
        chosen = [c for c in listed if not wanted or c.name.lower() in wanted or c.id.lower() in wanted]
        if missing := wanted - {c.name.lower() for c in chosen} - {c.id.lower() for c in chosen}:
            raise UsageError(f"no such channel among those the token can read: {', '.join(sorted(missing))}")
        for number, channel in enumerate(chosen):
            self._say("syncing Slack", number, len(chosen))
            try:
                self._channel(channel)
                self._report.channels += 1
            except _Refused as error:
                self._report.problems.append(f"{channel.name}: {error}")
        drain_inbox.drain(self._ws)
        coverage.refresh(self._ws)
        return self._report

    def _channel(self, channel: Channel) -> None:
        take = self._capture if self._is_captured(channel) else self._take
        through = self._through(channel.id)
        oldest = max(0.0, through - _AGAIN_S)
        seen: set[str] = set()
        newest = through
        threads: set[str] = set()
        for page in self._history(channel.id, oldest):
            take(channel.id, page)
            for message in page:
                ts = str(message.get("ts"))
                seen.add(ts)
                newest = max(newest, _seconds(ts))
                if message.get("reply_count"):
                    threads.add(str(message.get("thread_ts") or ts))
        threads |= self._talked_in(channel.id)
        for root in sorted(threads):
            replies = list(
                self._pages("conversations_replies", "messages", channel=channel.id, ts=root, limit=_PAGE)
            )
            take(channel.id, replies)
            self._delete(channel.id, {str(reply.get("ts")) for reply in replies}, root=root)
        if through:  # what stood in the window before and is told no longer was deleted
            self._delete(channel.id, seen, after=oldest)
        self._remember(channel.id, newest)

    def _history(self, channel: str, oldest: float) -> Iterator[list[dict[str, Any]]]:
        arguments = {"channel": channel, "oldest": f"{oldest:.6f}", "limit": _PAGE, "inclusive": False}
        for answer in self._answers("conversations_history", **arguments):
            yield [message for message in answer.get("messages") or () if isinstance(message, dict)]

    def _pages(self, method: str, key: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        arguments.setdefault("limit", _PAGE)
        for answer in self._answers(method, **arguments):
            yield from (item for item in answer.get(key) or () if isinstance(item, dict))

    def _answers(self, method: str, **arguments: Any) -> Iterator[Any]:
        from slack_sdk.errors import SlackApiError

        cursor = ""
        while True:
            call = getattr(self._client, method)
            try:
                answer = call(**arguments, **({"cursor": cursor} if cursor else {}))
            except SlackApiError as error:
                word = str(error.response.get("error") or "unknown error")
                if word in FATAL:
                    raise SlackUnavailable(f"Slack refuses the token: {word}") from error
                raise _Refused(word) from error
            except OSError as error:
                raise SlackUnavailable(f"Slack cannot be reached: {error}") from error
            yield answer
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return

    def _take(self, channel: str, messages: list[dict[str, Any]]) -> None:
        rows = []
        for message in messages:
            try:
                rows.append(row_of(message, channel, self._names))
            except Unreadable:
                self._report.rejected += 1
        self._report.messages += len(rows)
        if rows:
            self._store(rows)

    def _is_captured(self, channel: Channel) -> bool:
        return slack_capture.is_capture_channel(self._ws, channel.id, self._names)

    def _capture(self, channel: str, messages: list[dict[str, Any]]) -> None:
        """Messages of a capture channel become thoughts, also those that were written while nobody listened."""
        for message in messages:
            try:
                told = read_message(message, channel, "sync")
            except Unreadable:
                self._report.rejected += 1
                continue
            self._report.messages += 1
            if message.get("subtype") not in SYSTEM or told.action == "deleted":
                self._report.captured += slack_capture.take(self._ws, told, self._names) is not None

    def _store(self, rows: list[dict[str, Any]]) -> int:
        prepared = self._preparer.slack_messages(messages_batch(rows))
        with self._ws.lake.write(what="slack sync") as con, transaction(con):
            merged = merge_slack.merge_messages(con, prepared, self._source, None)
        self._report.new += merged.new
        self._report.updated += merged.updated
        return merged.updated

    def _delete(self, channel: str, told: set[str], *, root: str | None = None, after: float = 0.0) -> None:
        """Mark what the lake has and Slack no longer tells as deleted: of one thread, or what began since `after`."""
        with self._ws.lake.read(what="slack sync") as con:
            messages = self._gone(con, "slack_messages", channel, told, root, after)
            captures = self._gone(con, "slack_captures", channel, told, root, after)
        rows = [row_of({"subtype": "tombstone", **message}, channel, self._names) for message in messages]
        if rows:
            before = self._report.updated
            self._report.deleted += self._store(rows)
            self._report.updated = before
        for message in captures:
            gone = read_message({"subtype": "tombstone", **message}, channel, "sync")
            self._report.deleted += slack_capture.take(self._ws, gone, self._names) is not None

    def _gone(
        self, con: Connection, table: str, channel: str, told: set[str], root: str | None, after: float
    ) -> list[dict[str, Any]]:
        # What only an export brought may lie beyond what this token reads.
        ours = f"AND source_id = {self._source}" if table == "slack_messages" else ""
        return records(
            con.execute(
                f"""
                SELECT ts, thread_ts FROM store.{table}
                WHERE channel_id = $1 AND NOT is_deleted AND NOT list_contains($2, ts) {ours}
                    AND CASE WHEN $3 IS NULL THEN ts = thread_ts AND ts::DOUBLE > $4 ELSE thread_ts = $3 END""",
                [channel, sorted(told), root, after],
            )
        )

    def _merge(self, record: str, rows: Any, into: Callable[..., merge.Merged]) -> None:
        with self._ws.lake.write(what="slack sync") as con, transaction(con):
            into(con, self._preparer.slack_list(rows), self._source, None)

    def _talked_in(self, channel: str) -> set[str]:
        """Threads that may have got replies since: those spoken in lately."""
        since = time.time() - _THREADS_S
        with self._ws.lake.read(what="slack sync") as con:
            rows = con.execute(
                "SELECT thread_ts FROM store.slack_messages WHERE channel_id = ? GROUP BY thread_ts "
                "HAVING count(*) > 1 AND epoch(max(sent_at)) > ? "
                "UNION SELECT thread_ts FROM store.slack_captures WHERE channel_id = ? GROUP BY thread_ts "
                "HAVING count(*) > 1 AND max(ts::DOUBLE) > ?",
                [channel, since, channel, since],
            ).fetchall()
        return {root for (root,) in rows}

    def _through(self, channel: str) -> float:
        with self._ws.lake.read(what="slack sync") as con:
            rows = con.execute(
                "SELECT value FROM store.meta WHERE name = ?", [f"slack_sync:{channel}"]
            ).fetchall()
        return float(rows[0][0]) if rows else 0.0

    def _remember(self, channel: str, through: float) -> None:
        with self._ws.lake.write(what="slack sync") as con:
            con.execute(
                "INSERT INTO store.meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                [f"slack_sync:{channel}", f"{through:.6f}"],
            )


class _Refused(Exception):
    """Slack refuses one question; others may be answered."""


def _kind(told: dict[str, Any]) -> str:
    if told.get("is_im"):
        return "dm"
    return "group_dm" if told.get("is_mpim") else "private" if told.get("is_private") else "public"


def _seconds(ts: str) -> float:
    try:
        return float(ts)
    except ValueError:
        return 0.0
