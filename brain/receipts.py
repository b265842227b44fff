"""What became of events: receipts in the lake, written with what they tell of, and answers for those who wait.

A receipt is kept for good, so that no event is applied twice. An answer is a file that whoever drained leaves for the
process that waits, which so learns the outcome without opening the lake; it is taken once, and one that nobody takes is
removed. Where it is missing the receipt tells the same.
"""

import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain import event_files

if TYPE_CHECKING:
    import duckdb

    from brain.events import Event

_ANSWER_AGE_S = 600.0


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an event: `state` is applied or rejected; `reason` is set when rejected.

    `note` is what else the drain told about it, where it did: what it wrote after the commit.
    """

    event_id: str
    state: str
    result_id: str | None = None
    reason: str | None = None
    note: Any = None


@dataclass(slots=True)
class Waiting:
    """One event of a batch and what became of it. `bundle` is set where its file holds others too."""

    path: Path
    event: "Event"
    outcome: str | None = None
    result_id: str | None = None
    reason: str | None = None
    earlier: Receipt | None = None  # of a duplicate
    bundle: "Bundle | None" = None


@dataclass(slots=True)
class Bundle:
    """A file of several events: how many of them are not settled."""

    left: int


def ensure_schema(con: "duckdb.DuckDBPyConnection") -> None:
    """Create the table of receipts, `store.events`, where it is missing."""
    con.execute("CREATE SCHEMA IF NOT EXISTS store")
    con.execute("""
        CREATE TABLE IF NOT EXISTS store.events (
            event_id VARCHAR NOT NULL, kind VARCHAR NOT NULL, event_at TIMESTAMPTZ NOT NULL,
            state VARCHAR NOT NULL, result_id VARCHAR, reason VARCHAR, applied_at TIMESTAMPTZ NOT NULL)
    """)


def has_schema(con: "duckdb.DuckDBPyConnection") -> bool:
    """Whether the lake has the table of receipts."""
    sql = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'store' AND table_name = 'events'"
    return bool(con.execute(sql).fetchall())


def find(con: "duckdb.DuckDBPyConnection", ids: list[str]) -> list[Receipt]:
    """The receipts of these events, as far as there are any."""
    sql = (
        "SELECT event_id, state, result_id, reason FROM store.events WHERE event_id IN (SELECT unnest($ids))"
    )
    return [Receipt(*row) for row in con.execute(sql, {"ids": ids}).fetchall()]


def write(con: "duckdb.DuckDBPyConnection", done: Sequence[Waiting], now: datetime) -> None:
    """Write receipts in the caller's transaction."""
    rows = {
        "id": [w.event.id for w in done],
        "kind": [w.event.kind for w in done],
        "at": [w.event.at for w in done],
        "state": [w.outcome for w in done],
        "result": [w.result_id for w in done],
        "reason": [w.reason for w in done],
    }
    columns = ", ".join(f"unnest(${name})" for name in rows)
    con.execute(f"INSERT INTO store.events SELECT {columns}, $now", {**rows, "now": now}).fetchall()


class Answers:
    """The answers of one home."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def leave(self, receipt: Receipt) -> None:
        """Leave an answer; one that cannot be written is no loss."""
        fields = [receipt.event_id, receipt.state, receipt.result_id, receipt.reason, receipt.note]
        path = self._path(receipt.event_id)
        draft = path.with_suffix(".new")
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_text(json.dumps(fields), "utf-8")
            draft.chmod(0o600)
            draft.replace(path)

    def take(self, event_id: str) -> Receipt | None:
        """The answer about this event, which is then gone."""
        path = self._path(event_id)
        try:
            fields = json.loads(path.read_text("utf-8"))
            path.unlink()
            return Receipt(*fields)
        except (OSError, ValueError, TypeError):  # none, taken by another, or cut by a crash
            return None

    def clean(self) -> None:
        """Remove the answers that nobody took."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > _ANSWER_AGE_S:
                        path.unlink()

    def _path(self, event_id: str) -> Path:
        return self._folder / f"{event_files.tag(event_id)}.json"
