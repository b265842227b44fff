"""The record of imports: what ran, what it counted, what it could not take."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain import merge
from brain.errors import UsageError, first_line
from brain.intervals import iso
from brain.models import Rejected
from brain.snapshot import Snapshot
from brain.sql import Connection, records, transaction
from brain.workspace import Workspace

if TYPE_CHECKING:
    from brain.services._import_run import RunTotals

Where = tuple[str, str, str, str]  # source, browser, profile, device


def begin(
    ws: Workspace,
    path: Path,
    taken: Snapshot,
    state: str,
    reader: str,
    where: Where,
    clock_us: int = 1_000_000,
) -> tuple[int, int]:
    """Record that an import of this file starts; returns (import_id, source_id).

    Earlier runs, of any file, that never finished and whose process is gone are marked interrupted.
    """
    with ws.lake.write(what="begin import") as con, transaction(con):
        _mark_interrupted(con)
        source_id = merge.source_id(con, *where, clock_us)
        row = con.execute(
            """
            INSERT INTO store.imports (import_id, path, source, browser, profile, device, sha256, bytes, file_state,
                                       reader, started_at, status, pid)
            VALUES (nextval('store.import_seq'), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?) RETURNING import_id""",
            [_text(path), *where, taken.sha256, taken.bytes, state, reader, datetime.now(UTC), os.getpid()],
        ).fetchone()
    assert row
    return int(row[0]), source_id


def finish(ws: Workspace, totals: "RunTotals", rejects: list[Rejected], seconds: float) -> None:
    """Record the outcome and the rejected records kept."""
    assert totals.import_id
    with ws.lake.write(what="finish import") as con, transaction(con):
        if rejects:
            con.executemany(
                "INSERT INTO store.rejects VALUES (?, ?, ?)",
                [[int(totals.import_id), r.where, r.reason] for r in rejects],
            )
        con.execute(
            """
            UPDATE store.imports SET finished_at = ?, status = ?, seen = ?, new = ?, updated = ?, rejected = ?,
                visible = ?, counts = ?, seconds = ?, error = ? WHERE import_id = ?""",
            [
                datetime.now(UTC),
                totals.status,
                totals.seen,
                totals.new,
                totals.updated,
                totals.rejected,
                totals.visible,
                json.dumps(totals.counts),
                seconds,
                totals.error,
                int(totals.import_id),
            ],
        )


def mark_interrupted(ws: Workspace) -> int:
    """Mark imports that say they run although their process is gone; returns how many."""
    with ws.lake.write(what="imports") as con, transaction(con):
        return _mark_interrupted(con)


def _mark_interrupted(con: Connection) -> int:
    rows = con.execute("SELECT import_id, pid FROM store.imports WHERE status = 'running'").fetchall()
    dead = [import_id for import_id, pid in rows if not is_alive(pid)]
    for import_id in dead:
        con.execute("UPDATE store.imports SET status = 'interrupted' WHERE import_id = ?", [import_id])
    return len(dead)


def abort(ws: Workspace, import_id: int, error: BaseException) -> None:
    """Record that a begun import failed."""
    with ws.lake.write(what="abort import") as con:
        con.execute(
            "UPDATE store.imports SET status = 'failed', finished_at = ?, error = ? WHERE import_id = ?",
            [datetime.now(UTC), _text(first_line(error)), import_id],
        )


def record_failure(
    ws: Workspace,
    path: Path,
    source: str | None,
    status: str,
    error: str,
    rejects: Sequence[Rejected] = (),
) -> str:
    """Record a file that could not be read at all, unless its import had begun and says so itself.

    `rejects` are members of an archive that could not be had; as many are kept as are given.
    """
    with ws.lake.write(what="record import") as con, transaction(con):
        begun = con.execute(
            "SELECT max(import_id) FROM store.imports WHERE path = ? AND pid = ? AND status = 'failed' AND error = ?",
            [_text(path), os.getpid(), _text(error)],
        ).fetchone()
        if begun and begun[0]:
            return str(begun[0])
        now = datetime.now(UTC)
        row = con.execute(
            """
            INSERT INTO store.imports (import_id, path, source, started_at, finished_at, status, error, pid, rejected)
            VALUES (nextval('store.import_seq'), ?, ?, ?, ?, ?, ?, ?, ?) RETURNING import_id""",
            [_text(path), source, now, now, status, _text(error), os.getpid(), len(rejects)],
        ).fetchone()
        assert row
        if rejects:
            con.executemany(
                "INSERT INTO store.rejects VALUES (?, ?, ?)",
                [[int(row[0]), _text(r.where), r.reason] for r in rejects],
            )
    return str(row[0])


def earlier_import(
    ws: Workspace, sha256: str, readers: list[str], where: Where, told: bool = True
) -> dict[str, Any] | None:
    """What a complete import of the same bytes under one of these rules counted, or None.

    Unless it is `told` which browser and profile the file is of, an import as any of them will do.
    """
    return _earlier(ws, "sha256 = ? AND list_contains(?, reader)", [sha256, readers], where, told)


def earlier_imports_of_path(ws: Workspace, path: Path, state: str) -> list[dict[str, Any]]:
    """Complete imports, newest first, of a file that nobody has touched since, told without reading it."""
    return _complete(ws, "path = ? AND file_state = ?", [_text(path), state])


def earlier_imports_within(ws: Workspace, archive: Path, state: str) -> list[dict[str, Any]]:
    """The same for what lies in an archive: `state` is how theirs begins, `member` their path within it."""
    inside = _text(f"{archive}{os.sep}")
    found = _complete(ws, "starts_with(path, ?) AND starts_with(file_state, ?)", [inside, f"{state} "])
    return [record | {"member": record["path"][len(inside) :]} for record in found]


def _complete(ws: Workspace, condition: str, values: list[Any]) -> list[dict[str, Any]]:
    with ws.lake.read(what="import check") as con:
        found = con.execute(
            f"""
            SELECT import_id::VARCHAR AS id, path, file_state, reader, source, browser, profile, device, sha256,
                   seen, visible
            FROM store.imports WHERE {condition} AND status IN ('imported', 'partial')
            ORDER BY store.imports.import_id DESC""",
            values,
        )
        return records(found)


def _earlier(
    ws: Workspace, condition: str, values: list[Any], where: Where, told: bool = True
) -> dict[str, Any] | None:
    source, browser, profile, device = where
    with ws.lake.read(what="import check") as con:
        found = con.execute(
            f"""
            SELECT import_id::VARCHAR AS id, source, browser, profile, sha256, seen, visible FROM store.imports
            WHERE {condition} AND source = ? AND device = ? AND (NOT ? OR (browser = ? AND profile = ?))
                AND status IN ('imported', 'partial') ORDER BY import_id DESC LIMIT 1""",
            [*values, source, device, told, browser, profile],
        )
        rows = records(found)
    return rows[0] if rows else None


@dataclass(frozen=True, slots=True)
class ImportDetail:
    """One import and the records it could not take (at most 1,000 are kept; `rejected` counts all)."""

    record: dict[str, Any]
    rejects: list[dict[str, str]]


def list_imports(ws: Workspace) -> list[dict[str, Any]]:
    """All imports, newest last."""
    return _records(ws, "", [])


def show_import(ws: Workspace, import_id: str) -> ImportDetail:
    """One import with its rejects. Raises UsageError for an unknown id."""
    number = int(import_id) if import_id.isdecimal() and len(import_id) < 10 else -1
    records = _records(ws, "WHERE import_id = ?", [number])
    if not records:
        raise UsageError(f"there is no import {import_id!r}; `brain imports` lists them")
    with ws.lake.read(what="imports") as con:
        rows = con.execute(
            'SELECT "where", reason FROM store.rejects WHERE import_id = ?', [number]
        ).fetchall()
    return ImportDetail(records[0], [{"where": w, "reason": r} for w, r in rows])


def _records(ws: Workspace, where: str, values: list[Any]) -> list[dict[str, Any]]:
    if not ws.lake.exists:
        return []
    with ws.lake.read(what="imports") as con:
        found = con.execute(
            f"""
            SELECT import_id::VARCHAR AS id, path, source, browser, profile, sha256, status, seen, new, updated,
                   rejected, visible, counts, seconds, error, started_at
            FROM store.imports {where} ORDER BY import_id""",
            values,
        )
        rows = records(found)
    for row in rows:
        row["counts"] = json.loads(row["counts"]) if row["counts"] else {}
        row["started_at"] = iso(row["started_at"])
    return rows


def _text(name: Path | str) -> str:
    """A path or a line that names one, as the lake can hold it: bytes that are no UTF-8 are spelt \\xff."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def is_alive(pid: int | None) -> bool:
    """Whether a process with this id runs now."""
    if not pid:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
