"""Slack exports: standard, Business+ and Grid, and slackdump's copy of them, as a zip or a folder."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pyarrow as pa

from brain.archive_members import is_zip
from brain.errors import EmptySource
from brain.models import Batch, Rejected, as_record_batch
from brain.slack import export
from brain.slack.messages import Unreadable, name_of, row_of
from brain.slack.text import Names

NAME = "slack_export"
SOURCE = "slack"
BROWSER = "unknown"
VERSION = 1
_ROWS = 20_000  # about 50 MB


def detect(path: Path) -> bool:
    """Whether the zip is an export."""
    try:
        with path.open("rb") as file:
            return is_zip(file.read(4)) and export.is_export(export.names_in(path))
    except OSError:
        return False


def detect_folder(path: Path, alone: bool = False) -> bool:
    """Whether the folder is an export."""
    try:
        return any((path / name).is_file() for name in (*export.CHANNEL_LISTS, *export.USER_LISTS)) and (
            export.is_export(export.names_in(path))
        )
    except OSError:
        return False


def files(path: Path) -> list[Path]:
    """The files that make up the export."""
    return [path / name for name in export.names_in(path)]


def read(path: Path, only: str | None = None) -> Generator[Batch | Rejected]:
    """People, channels, then messages in the order of the files, or those of one folder `only`. Raises EmptySource."""
    known = export.listing(path)
    yield from known.rejects
    names = Names(
        {user: name_of(told) or user for user, told in known.users.items()},
        {channel.id: channel.name for channel in known.channels.values()},
    )
    if not known.channels:
        raise EmptySource(f"{path.name} holds no channels")
    if known.users:
        yield Batch("slack_users", users_batch(known.users))
    yield Batch("slack_channels", channels_batch(list(known.channels.values()), names))
    rejects: list[Rejected] = []
    rows: list[dict[str, Any]] = []
    for day in export.days(path, known, rejects.append, only):
        yield from rejects
        rejects.clear()
        for number, message in enumerate(day.messages):
            try:
                rows.append(row_of(message, day.channel.id, names))
            except Unreadable as error:
                yield Rejected(f"{day.where}[{number}]", str(error))
        if len(rows) >= _ROWS:
            yield Batch("slack_messages", messages_batch(rows))
            rows = []
    yield from rejects
    if rows:
        yield Batch("slack_messages", messages_batch(rows))


def users_batch(users: dict[str, dict[str, Any]]) -> pa.RecordBatch:
    """People as Slack's lists tell them, by id."""
    return as_record_batch(
        "slack_users",
        {
            "user_id": list(users),
            "name": [name_of(told) or user for user, told in users.items()],
            "is_bot": [told.get("is_bot") is True for told in users.values()],
            "is_deleted": [told.get("deleted") is True for told in users.values()],
        },
    )


def channels_batch(channels: list[export.Channel], names: Names) -> pa.RecordBatch:
    """Channels as Slack's lists tell them."""
    return _columns("slack_channels", [_channel(channel, names) for channel in channels])


def _channel(channel: export.Channel, names: Names) -> dict[str, Any]:
    told = channel.fields
    listed = told.get("members")
    members = [m for m in listed if isinstance(m, str)] if isinstance(listed, list) else []
    if not members and isinstance(user := told.get("user"), str):
        members = [user]  # slackdump names the other person of a direct message instead of both
    name = channel.name
    if channel.kind == "dm" and members:
        name = ", ".join(names.user(member) for member in members)
    created = told.get("created")
    row = {
        "channel_id": channel.id,
        "name": name,
        "kind": channel.kind,
        "created_us": created * 1_000_000 if isinstance(created, int) and 0 < created < 2**33 else None,
        "is_archived": told.get("is_archived") is True,
        "members": members,
    }
    for part in ("topic", "purpose"):
        text = held.get("value") if isinstance(held := told.get(part), dict) else None
        row[part] = text if isinstance(text, str) and text.strip() else None
    return row


def messages_batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """Rows as `brain.slack.messages.row_of` makes them; at least one."""
    return _columns("slack_messages", rows)


def _columns(record: str, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return as_record_batch(record, {name: [row[name] for row in rows] for name in rows[0]})
