"""The way of every live write and edit into the lake: one durable file per event, then a receipt.

`drop` returns once the event is on disk; from then on it survives a crash of everything. `drain` applies waiting
events, many in one transaction together with their receipts, and removes the files after the commit. Killed
anywhere in between, the next drain finds the receipts and changes nothing twice.

An event is a JSON object: `id` (the client's, unique; given where missing), `kind`, `at` (ISO 8601 with zone; when it
happened), `data` (an object, its meaning is the kind's), and whatever else tells where it came from (`client`, ...).
What cannot be applied is kept in `rejected/` with its reason beside it and never holds up the others.

Appliers come from the services: `applier(con, event) -> result id or None`, called within the transaction. They raise
EventRefused for what cannot be applied (a stale version, a missing target); their caller learns the reason from the
receipt.
"""

import contextlib
import hashlib
import json
import os
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain.config import Home
from brain.errors import BrainError, EventRefused, LakeBusy, LakeError
from brain.events import MAX_EVENT_BYTES, Event, parse
from brain.intervals import iso
from brain.leases import Leases
from brain.locks import lock

if TYPE_CHECKING:
    import duckdb

_BATCH_EVENTS = 5_000
_BATCH_BYTES = 32_000_000
_LEASE_S = 0.2  # events are applied in leases of about this length
_TMP_AGE_S = 86_400.0  # a draft older than this belongs to a process that died


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an event: `state` is applied or rejected; `reason` is set when rejected."""

    event_id: str
    state: str
    result_id: str | None = None
    reason: str | None = None


@dataclass(slots=True)
class DrainReport:
    """Counts of one drain. `drained` is False when another process was at it: it drains for all."""

    applied: int = 0
    duplicate: int = 0
    rejected: int = 0
    drained: bool = True


Applier = Callable[["duckdb.DuckDBPyConnection", Event], str | None]


def ensure_schema(con: "duckdb.DuckDBPyConnection") -> None:
    """Create the table of receipts, `store.events`, where it is missing."""
    con.execute("CREATE SCHEMA IF NOT EXISTS store")
    con.execute("""
        CREATE TABLE IF NOT EXISTS store.events (
            event_id VARCHAR NOT NULL, kind VARCHAR NOT NULL, event_at TIMESTAMPTZ NOT NULL,
            state VARCHAR NOT NULL, result_id VARCHAR, reason VARCHAR, applied_at TIMESTAMPTZ NOT NULL)
    """)


class Inbox:
    """The inbox of one home. Safe for any number of processes and threads."""

    def __init__(
        self, home: Home, leases: Leases, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._home = home
        self._leases = leases
        self._now = now
        self._tmp, self._new, self._rejected = (home.inbox / name for name in ("tmp", "new", "rejected"))

    def drop(self, event: Mapping[str, Any]) -> str:
        """Store the event durably and return its id. `id` and `at` (now) are given where missing.

        Raises EventRefused when it can never be applied as it is, and LakeError when it cannot be written; it is
        not stored then.
        """
        fields = {"id": uuid.uuid4().hex, "at": iso(self._now()), **event}
        try:
            content = json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise EventRefused(f"not storable as JSON: {error}") from error
        name = f"{time.time_ns():020d}-{_tag(parse(content).id)}-{uuid.uuid4().hex[:8]}.json"
        draft = self._tmp / name
        try:
            self._ensure()
            _write(draft, content)
            draft.rename(self._new / name)
            _sync_folder(self._new)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise LakeError(f"the event cannot be stored: {error.strerror or error}") from error
        return str(fields["id"])

    def drain(self, appliers: Mapping[str, Applier], timeout: float = 10.0) -> DrainReport:
        """Apply all waiting events in the order they were dropped. An event that was applied before is a duplicate.

        Does nothing while another process drains. Raises LakeBusy or LakeError when the lake cannot take them now;
        what was not committed waits for the next drain.
        """
        report = DrainReport()
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(
                    lock(self._home.locks / "inbox.lock", timeout=0, what="drain", name="the inbox")
                )
            except LakeBusy:
                return DrainReport(drained=False)
            self._ensure()
            self._clean_drafts()
            seen: set[str] = set()
            while batch := self._read_batch(seen, appliers, report):
                while batch:
                    batch = self._apply(batch, appliers, report, timeout)
        return report

    def submit(
        self, event: Mapping[str, Any], appliers: Mapping[str, Applier], timeout: float = 10.0
    ) -> Receipt | None:
        """Drop the event, see to it that someone drains, and return what became of it.

        None when that was not known in time: the event is safe and will be applied by a later drain.
        Raises EventRefused and LakeError as `drop` does.
        """
        deadline = time.monotonic() + timeout
        event_id = self.drop(event)
        while True:
            left = max(0.0, deadline - time.monotonic())
            try:
                if self.drain(appliers, timeout=left).drained or left <= 0:
                    return self.wait(event_id, timeout=left)
            except LakeBusy:
                return None
            if receipt := self.wait(event_id, timeout=min(left, 0.02)):
                return receipt

    def wait(self, event_id: str, timeout: float = 10.0) -> Receipt | None:
        """What became of the event, waiting up to `timeout` seconds for the drain; None when it still waits.

        Also None for an id that was never dropped. Raises LakeBusy as a read lease does.
        """
        deadline, pause = time.monotonic() + timeout, 0.002
        while any(self._new.glob(f"*-{_tag(event_id)}-*.json")):
            if time.monotonic() >= deadline:
                return None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.03)
        if self._home.lake.exists():
            with self._leases.read(what="receipt", timeout=max(1.0, deadline - time.monotonic())) as con:
                rows = _receipts(con, [event_id]) if _has_receipts(con) else []
            if rows:
                return rows[0]
        for path in sorted(self._rejected.glob(f"*-{_tag(event_id)}-*.reason"), reverse=True):
            return Receipt(event_id, "rejected", reason=path.read_text("utf-8"))
        return None

    def waiting(self) -> int:
        """How many events wait for a drain."""
        return sum(1 for _ in self._new.glob("*.json"))

    def rejected(self) -> list[tuple[Path, str]]:
        """The rejected events' files, oldest first, each with its reason."""
        return [
            (
                path,
                reason.read_text("utf-8") if (reason := path.with_suffix(".reason")).exists() else "unknown",
            )
            for path in sorted(self._rejected.glob("*.json"))
        ]

    def _ensure(self) -> None:
        for folder in (self._tmp, self._new, self._rejected):
            if not folder.is_dir():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _clean_drafts(self) -> None:
        for path in self._tmp.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _TMP_AGE_S:
                    path.unlink()

    def _read_batch(
        self, seen: set[str], appliers: Mapping[str, Applier], report: DrainReport
    ) -> "list[_Waiting]":
        """The next waiting events that are well formed; the others go to `rejected/` here."""
        batch: list[_Waiting] = []
        size = 0
        for path in sorted(self._new.glob("*.json")):
            if path.name in seen:  # could not be removed; not again in this drain
                continue
            if len(batch) >= _BATCH_EVENTS or size >= _BATCH_BYTES:
                break
            seen.add(path.name)
            try:
                content = _read(path)
                event = parse(content)
                if event.kind not in appliers:
                    raise EventRefused(f"unknown kind {event.kind!r}; known: {', '.join(sorted(appliers))}")
            except FileNotFoundError:
                continue
            except EventRefused as error:
                self._reject(path, str(error), report)
                continue
            size += len(content)
            batch.append(_Waiting(path, event))
        return batch

    def _apply(
        self, batch: "list[_Waiting]", appliers: Mapping[str, Applier], report: DrainReport, timeout: float
    ) -> "list[_Waiting]":
        """Apply what fits into one lease, settle the files, and return the rest of the batch."""
        settled: list[_Waiting] = []
        with self._leases.write(timeout=timeout, what="drain") as con:
            ensure_schema(con)
            until = time.monotonic() + _LEASE_S
            known = {receipt.event_id for receipt in _receipts(con, [w.event.id for w in batch])}
            left: list[_Waiting] = []
            for waiting in batch:
                waiting.outcome = "duplicate" if waiting.event.id in known else None
                known.add(waiting.event.id)
                (settled if waiting.outcome else left).append(waiting)
            limit = len(left)
            while left and time.monotonic() < until:
                done, limit = self._transact(con, left[:limit], appliers, until)
                settled += done
                left = left[len(done) :]
        for waiting in settled:
            if waiting.outcome == "rejected":
                self._reject(waiting.path, waiting.reason or "", report)
            else:
                waiting.path.unlink(missing_ok=True)
                report.applied += waiting.outcome == "applied"
                report.duplicate += waiting.outcome == "duplicate"
        return left

    def _transact(
        self,
        con: "duckdb.DuckDBPyConnection",
        group: "list[_Waiting]",
        appliers: Mapping[str, Applier],
        until: float,
    ) -> "tuple[list[_Waiting], int]":
        """One transaction over the first events of the group, as many as time allows.

        Returns those settled and how many to try next. DuckDB has no savepoints. So when an event fails, all is
        rolled back, the ones before it come next, and then it is the first: that one is settled as rejected.
        """
        done: list[_Waiting] = []
        applied = False
        con.execute("BEGIN")
        try:
            for waiting in group:
                waiting.result_id = appliers[waiting.event.kind](con, waiting.event)
                waiting.outcome = "applied"
                done.append(waiting)
                if time.monotonic() > until:
                    break
            applied = True
            self._write_receipts(con, done)
            con.execute("COMMIT")
        except Exception as error:
            if _is_of_the_lake(error):
                raise
            con.execute("ROLLBACK")
            # When the commit itself fails, it is not known by whose fault: halve until it is.
            if before := len(done) // 2 if applied else len(done):
                return [], before
            return [self._refuse(con, group[0], error)], _BATCH_EVENTS
        return done, _BATCH_EVENTS

    def _refuse(self, con: "duckdb.DuckDBPyConnection", failed: "_Waiting", error: Exception) -> "_Waiting":
        failed.outcome, failed.result_id, failed.reason = "rejected", None, str(error)
        if isinstance(error, EventRefused):
            self._write_receipts(con, [failed])
        else:  # a fault of the program: without a receipt, so that the event can be dropped again once it is mended
            failed.reason = f"failed: {type(error).__name__}: {error}"
        return failed

    def _write_receipts(self, con: "duckdb.DuckDBPyConnection", done: "list[_Waiting]") -> None:
        rows = {
            "id": [w.event.id for w in done],
            "kind": [w.event.kind for w in done],
            "at": [w.event.at for w in done],
            "state": [w.outcome for w in done],
            "result": [w.result_id for w in done],
            "reason": [w.reason for w in done],
        }
        now = self._now()
        columns = ", ".join(f"unnest(${name})" for name in rows)
        con.execute(f"INSERT INTO store.events SELECT {columns}, $now", {**rows, "now": now}).fetchall()

    def _reject(self, path: Path, reason: str, report: DrainReport) -> None:
        """Move the event aside, the reason first: killed in between, the next drain does it again."""
        target = self._rejected / path.name
        note = target.with_suffix(".reason")
        _write(note, reason.encode("utf-8", "replace"))
        with contextlib.suppress(FileNotFoundError):
            path.rename(target)
        report.rejected += 1


@dataclass(slots=True)
class _Waiting:
    """One event of a batch and what became of it."""

    path: Path
    event: Event
    outcome: str | None = None
    result_id: str | None = None
    reason: str | None = None


def _is_of_the_lake(error: Exception) -> bool:
    """Whether the fault lies with lake or machine (disk, memory), so that the event shall wait and not be judged."""
    import duckdb

    if isinstance(error, BrainError):
        return not isinstance(error, EventRefused)
    faults = (
        duckdb.IOException,
        duckdb.OutOfMemoryException,
        duckdb.FatalException,
        duckdb.InterruptException,
    )
    return isinstance(error, (OSError, MemoryError, *faults))


def _has_receipts(con: "duckdb.DuckDBPyConnection") -> bool:
    sql = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'store' AND table_name = 'events'"
    return bool(con.execute(sql).fetchall())


def _receipts(con: "duckdb.DuckDBPyConnection", ids: list[str]) -> list[Receipt]:
    sql = (
        "SELECT event_id, state, result_id, reason FROM store.events WHERE event_id IN (SELECT unnest($ids))"
    )
    return [Receipt(*row) for row in con.execute(sql, {"ids": ids}).fetchall()]


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_EVENT_BYTES:
            raise EventRefused(f"larger than {MAX_EVENT_BYTES // 1_000_000} MB")
        return path.read_bytes()
    except (PermissionError, IsADirectoryError) as error:
        raise EventRefused(f"not readable: {error.strerror}") from error


def _tag(event_id: str) -> str:
    """The part of a file name that tells which event it is: ids may hold anything."""
    return hashlib.sha256(event_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _write(path: Path, content: bytes) -> None:
    """Write a private file through to the disk."""
    fd = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_folder(folder: Path) -> None:
    """Make a rename in the folder durable; Windows has no such call."""
    if os.name == "posix":
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
