"""Commands for the extension, inside the drain's transaction: staged, and told what came of them."""

import json
from datetime import timedelta
from typing import Any

from brain.errors import EventRefused
from brain.events import Event
from brain.scrub import scrub_text
from brain.sql import Connection
from brain.workspace import Workspace

KINDS = ("group_tabs", "ungroup_tabs", "close_tabs", "open_tabs", "capture_page")
_LASTS = timedelta(seconds=90)
_LONGEST_S = 3_600


def stage(con: Connection, event: Event) -> str:
    """Keep a command until a browser claims it or it expires; its id."""
    kind, body = event.data.get("command"), event.data.get("data")
    if kind not in KINDS or not isinstance(body, dict):
        raise EventRefused(f"`data.command` must be one of {', '.join(KINDS)}, with an object as `data`")
    seconds = event.data.get("expires_in")
    lasts = (
        timedelta(seconds=min(seconds, _LONGEST_S)) if isinstance(seconds, int) and seconds > 0 else _LASTS
    )
    con.execute(
        """
        INSERT INTO store.commands (command_id, kind, browser, profile, data, asked_by, staged_at, expires_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
        [
            *(event.id, kind, event.data.get("browser"), event.data.get("profile")),
            *(json.dumps(body), event.fields.get("client"), event.at, event.at + lasts),
        ],
    )
    return event.id


def finish(ws: Workspace, con: Connection, event: Event) -> str:
    """Note what came of a command. Raises EventRefused for one that is not this client's, or was told before."""
    command_id, client = str(event.data.get("command") or ""), event.fields.get("client")
    rows = con.execute(
        "SELECT claimed_by, finished_at FROM store.commands WHERE command_id = ?", [command_id]
    ).fetchall()
    if not rows or rows[0][0] is None or rows[0][0] != client:
        raise EventRefused("this client has claimed no such command")
    if rows[0][1] is not None:
        raise EventRefused("the outcome of this command was told before")
    result = json.dumps(_scrubbed(event.data.get("result"), ws.key))
    con.execute(
        "UPDATE store.commands SET finished_at = ?, ok = ?, result = ? WHERE command_id = ?",
        [event.at, event.data.get("ok") is True, result, command_id],
    )
    return command_id


def _scrubbed(value: Any, key: bytes) -> Any:
    """The same with the secrets of every text in it masked: whatever a browser tells is stored no other way."""
    if isinstance(value, str):
        return scrub_text(value, key)
    if isinstance(value, list):
        return [_scrubbed(each, key) for each in value]
    if isinstance(value, dict):
        return {name: _scrubbed(each, key) for name, each in value.items()}
    return value
