"""What the extension is asked to do: staged in the lake by any process, claimed once by a browser, acknowledged.

A command that no browser claims, or that is not acknowledged, expires: nothing is done later that nobody expects.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from brain.errors import UsageError
from brain.receipts import Receipt
from brain.services import drain_inbox
from brain.sql import records
from brain.workspace import Workspace

Told = Callable[[str], None]  # hears what is being waited for
_WORD_S = 2.0


def unheard(_: str) -> None:
    """For who does not want to hear."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command as the extension gets it."""

    id: str
    kind: str
    data: dict[str, Any]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class CommandState:
    """`state` is staged, claimed, done, failed or expired; `result` is what the extension told."""

    state: str
    result: Any


def stage(
    ws: Workspace,
    kind: str,
    data: dict[str, Any],
    *,
    browser: str | None = None,
    profile: str | None = None,
    client: str | None = None,
    expires_in: int | None = None,
) -> str:
    """Ask a browser for something; its id. Without `browser` whichever asks first takes it."""
    body = {"command": kind, "data": data, "browser": browser, "profile": profile, "expires_in": expires_in}
    receipt = _submit(ws, "command", body, client)
    if receipt.result_id is None:
        raise UsageError(receipt.reason or "the command was refused")
    mark(ws).parent.mkdir(mode=0o700, exist_ok=True)
    mark(ws).touch(0o600)
    return receipt.result_id


def claim(ws: Workspace, client: str, browser: str, profile: str) -> list[Command]:
    """The commands for this browser that are waiting, each of them handed out this once."""
    if not ws.lake.exists:
        return []
    ws.lake.ensure()
    now = ws.settings.now()
    waits = """
        claimed_by IS NULL AND expires_at > $now AND coalesce(browser, $browser) = $browser
        AND coalesce(profile, $profile) = $profile"""
    values = {"now": now, "browser": browser, "profile": profile}
    with ws.lake.read(what="commands") as con:
        if not con.execute(f"SELECT 1 FROM store.commands WHERE {waits} LIMIT 1", values).fetchall():
            return []
    with ws.lake.write(what="commands") as con:
        rows = records(
            con.execute(
                f"UPDATE store.commands SET claimed_by = $client, claimed_at = $now WHERE {waits} "
                "RETURNING command_id AS id, kind, data, expires_at, staged_at",
                {**values, "client": client},
            )
        )
    rows.sort(key=lambda row: row.pop("staged_at"))
    return [Command(**row | {"data": json.loads(row["data"])}) for row in rows]


def wait_for(ws: Workspace, client: str, browser: str, profile: str, seconds: float) -> list[Command]:
    """The same, waiting for the first one for so long."""
    until = time.monotonic() + seconds
    while True:
        seen = _stamp(mark(ws))
        if found := claim(ws, client, browser, profile):
            return found
        while _stamp(mark(ws)) == seen:
            if time.monotonic() >= until:
                return []
            time.sleep(0.2)


def finish(ws: Workspace, command_id: str, client: str, ok: bool, result: Any) -> None:
    """Note what came of a command. Raises UsageError for one that this client has not claimed."""
    receipt = _submit(ws, "command_done", {"command": command_id, "ok": ok, "result": result}, client)
    if receipt.state == "rejected":
        raise UsageError(receipt.reason or "the outcome was refused")


def outcome(ws: Workspace, command_id: str, wait_s: float = 0.0, told: Told = unheard) -> CommandState:
    """What became of a command, waiting for so long for its end; `told` hears every two seconds that it waits.

    Raises UsageError for an unknown id.
    """
    began = time.monotonic()
    until, next_word = began + wait_s, began
    while True:
        ws.lake.ensure()
        with ws.lake.read(what="commands") as con:
            rows = records(
                con.execute(
                    "SELECT claimed_at, finished_at, ok, result, expires_at FROM store.commands WHERE command_id = ?",
                    [command_id],
                )
            )
        if not rows:
            raise UsageError(f"there is no command {command_id!r}")
        (row,) = rows
        if row["finished_at"] is not None:
            return CommandState("done" if row["ok"] else "failed", json.loads(row["result"] or "null"))
        if row["expires_at"] <= ws.settings.now():
            return CommandState("expired", None)
        if time.monotonic() >= until:
            return CommandState("claimed" if row["claimed_at"] else "staged", None)
        if time.monotonic() >= next_word:
            told("the browser is at it" if row["claimed_at"] else "waiting for the browser")
            next_word += _WORD_S
        time.sleep(0.25)


def mark(ws: Workspace) -> Path:
    """The file that is touched when a command is staged, so that waiting for one costs nothing."""
    return ws.home.locks / "commands"


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _submit(ws: Workspace, kind: str, data: dict[str, Any], client: str | None) -> Receipt:
    event = {"kind": kind, "data": data} | ({"client": client} if client else {})
    receipt = drain_inbox.inbox(ws).submit(event, drain_inbox.appliers(ws), timeout=30.0)
    if receipt is None:
        raise UsageError("the lake is busy; the command will be taken as soon as it is free")
    return receipt
