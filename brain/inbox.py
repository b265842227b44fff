"""The way of every live write and edit into the lake: one durable file per event, then a receipt.

`drop` returns once the event is on disk; from then on it survives a crash of everything. `drain` applies waiting
events, many in one transaction together with their receipts, and removes the files after the commit. Killed
anywhere in between, the next drain finds the receipts and changes nothing twice.

An event is a JSON object: `id` (the client's, unique; given where missing), `kind`, `at` (ISO 8601 with zone; when it
happened), `data` (an object, its meaning is the kind's), and whatever else tells where it came from (`client`, ...).
What cannot be applied is kept in `rejected/` with its reason beside it and never holds up the others.

Appliers come from the services: `applier(con, event) -> result id or None`, called within the transaction. They raise
EventRefused for what cannot be applied (a stale version, a missing target); their caller learns the reason from the
receipt. An applier that is `Together` takes all events of its kind that come one after another at once.
"""

import contextlib
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain import applying, event_files, receipts
from brain.applying import Applier, transact
from brain.config import Home
from brain.errors import EventRefused, LakeBusy, LakeError
from brain.events import Event, check, parse
from brain.intervals import iso
from brain.leases import Leases
from brain.locks import lock
from brain.receipts import Bundle, Receipt, Waiting

if TYPE_CHECKING:
    import duckdb

_BUNDLE_EVENTS = 2_000
_BATCH_BYTES = 32_000_000
_TURN_S = 0.02  # how often one who waits sees whether it should drain
_BUSY_S, _LINGER_S = 0.5, 0.03
_LEASE_S = 0.2  # events are applied in leases of about this length
_TMP_AGE_S = 86_400.0  # a draft older than this belongs to a process that died


@dataclass(slots=True)
class DrainReport:
    """Counts of one drain. `drained` is False when another process was at it: it drains for all."""

    applied: int = 0
    duplicate: int = 0
    rejected: int = 0
    drained: bool = True


# Called within the lease after a commit, with the events applied and their results; what it returns is called when the
# lease has ended and before anyone is told, and what that says of an event goes along with its receipt as `note`.
Followup = Callable[
    ["duckdb.DuckDBPyConnection", Sequence[tuple[Event, str | None]]], Callable[[], Mapping[str, Any]]
]


class Inbox:
    """The inbox of one home. Safe for any number of processes and threads."""

    def __init__(
        self,
        home: Home,
        leases: Leases,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        followup: Followup | None = None,
    ) -> None:
        self._home = home
        self._leases = leases
        self._now = now
        self._followup = followup
        self._many = home.inbox / "many"  # touched whenever a drain answered several
        self._answers = receipts.Answers(home.inbox / "answers")
        self._tmp, self._new, self._rejected = (home.inbox / name for name in ("tmp", "new", "rejected"))

    def drop(self, event: Mapping[str, Any], awaited: bool = False) -> str:
        """Store the event durably and return its id. `id` and `at` (now) are given where missing.

        `awaited` asks whoever drains to leave an answer for `settle`. Raises EventRefused when it can never be applied
        as it is, and LakeError when it cannot be written; it is not stored then.
        """
        fields = {"id": uuid.uuid4().hex, "at": iso(self._now()), **event}
        try:
            content = json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise EventRefused(f"not storable as JSON: {error}") from error
        event_id = parse(content).id
        name = event_files.name(event_id, awaited)
        draft = self._tmp / name
        try:
            self._ensure()
            if awaited:
                self._answers.take(event_id)  # of an earlier event with this id
            event_files.write(draft, content)
            draft.rename(self._new / name)
            event_files.sync_folder(self._new)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise LakeError(f"the event cannot be stored: {error.strerror or error}") from error
        return event_id

    def drop_all(self, events: Sequence[Mapping[str, Any]]) -> list[str | EventRefused]:
        """Store many events durably in few writes; the id of each, or why it can never be applied.

        Raises LakeError when they cannot be written: of those that were, the receipts tell.
        """
        outcomes: list[str | EventRefused] = []
        parts: list[list[str]] = [[]]
        size = 0
        for event in events:
            fields = {"id": uuid.uuid4().hex, "at": iso(self._now()), **event}
            try:
                content = json.dumps(fields, ensure_ascii=False, allow_nan=False)
                outcomes.append(parse(content.encode()).id)
            except (TypeError, ValueError, RecursionError) as error:
                outcomes.append(EventRefused(f"not storable as JSON: {error}"))
                continue
            except EventRefused as error:
                outcomes.append(error)
                continue
            if len(parts[-1]) >= _BUNDLE_EVENTS or size + 4 * len(content) > event_files.MAX_BUNDLE_BYTES:
                parts.append([])
                size = 0
            parts[-1].append(content)
            size += 4 * len(content)  # bytes, at most
        try:
            self._ensure()
            for part in parts:
                if part:
                    name = event_files.bundle_name(len(part))
                    event_files.write(self._tmp / name, f"[{','.join(part)}]".encode())
                    (self._tmp / name).rename(self._new / name)
            event_files.sync_folder(self._new)
        except OSError as error:
            raise LakeError(f"the events cannot be stored: {error.strerror or error}") from error
        return outcomes

    def drain(
        self, appliers: Mapping[str, Applier], timeout: float = 10.0, until: str | None = None
    ) -> DrainReport:
        """Apply all waiting events in the order they were dropped. An event that was applied before is a duplicate.

        Ends early once the event `until` is settled: whoever drops the others sees to them. Does nothing while another
        process drains. Raises LakeBusy or LakeError when the lake cannot take them now; what was not committed waits
        for the next drain.
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
            self._answers.clean()
            if until and self._is_busy():
                time.sleep(_LINGER_S)  # those who were told a moment ago are about to drop their next
            seen: set[str] = set()
            while batch := self._read_batch(seen, appliers, report):
                while batch:
                    settled, batch = self._apply(batch, appliers, report, timeout)
                    if until and any(waiting.event.id == until for waiting in settled):
                        return report
        return report

    def submit(
        self, event: Mapping[str, Any], appliers: Mapping[str, Applier], timeout: float = 10.0
    ) -> Receipt | None:
        """Drop the event, see to it that someone drains, and return what became of it.

        None when that was not known in time: the event is safe and will be applied by a later drain.
        Raises EventRefused and LakeError as `drop` does.
        """
        return self.settle(self.drop(event, awaited=True), appliers, timeout)

    def settle(self, event_id: str, appliers: Mapping[str, Applier], timeout: float = 10.0) -> Receipt | None:
        """See to it that a dropped event is applied, by whoever drains, and return what became of it (`submit`)."""
        deadline = time.monotonic() + timeout
        while True:
            left = max(0.0, deadline - time.monotonic())
            try:
                drained = self.drain(appliers, timeout=left, until=event_id).drained
                if receipt := self.wait(event_id, timeout=left if drained else min(left, _TURN_S)):
                    return receipt
            except LakeBusy:  # others are ahead; the event is as safe as it was
                drained = False
            if drained or left <= 0:
                return None

    def wait(self, event_id: str, timeout: float = 10.0) -> Receipt | None:
        """What became of the event, waiting up to `timeout` seconds for the drain; None when it still waits.

        Also None for an id that was never dropped. Raises LakeBusy as a read lease does.
        """
        deadline, pause = time.monotonic() + timeout, 0.002
        while any(self._new.glob(f"*-{event_files.tag(event_id)}-*.json")):
            if time.monotonic() >= deadline:
                return None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.03)
        if answer := self._answers.take(event_id):
            return answer
        if self._home.lake.exists():
            with self._leases.read(what="receipt", timeout=max(1.0, deadline - time.monotonic())) as con:
                rows = receipts.find(con, [event_id]) if receipts.has_schema(con) else []
            if rows:
                return rows[0]
        for path in sorted(self._rejected.glob(f"*-{event_files.tag(event_id)}-*.reason"), reverse=True):
            return Receipt(event_id, "rejected", reason=path.read_text("utf-8"))
        return None

    def waiting(self) -> int:
        """How many events wait for a drain."""
        return sum(event_files.bundled(path) or 1 for path in self._new.glob("*.json"))

    def rejected(self) -> list[tuple[Path, str]]:
        """The rejected events' files, oldest first, each with its reason."""
        return [
            (
                path,
                reason.read_text("utf-8") if (reason := path.with_suffix(".reason")).exists() else "unknown",
            )
            for path in sorted(self._rejected.glob("*.json"))
        ]

    def _is_busy(self) -> bool:
        """Whether several wait for answers at once these days: then one drain for all is faster for each."""
        try:
            return time.time() - self._many.stat().st_mtime < _BUSY_S
        except OSError:
            return False

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
    ) -> "list[Waiting]":
        """The next waiting events that are well formed; the others go to `rejected/` here."""
        batch: list[Waiting] = []
        size = 0
        for path in sorted(self._new.glob("*.json")):
            if path.name in seen:  # could not be removed; not again in this drain
                continue
            if len(batch) >= applying.MOST or size >= _BATCH_BYTES:
                break
            seen.add(path.name)
            try:
                content = event_files.read(path)
                if event_files.bundled(path):
                    batch += self._unpack(path, content, appliers, report)
                else:
                    event = parse(content)
                    _check_kind(event, appliers)
                    batch.append(Waiting(path, event))
            except FileNotFoundError:
                continue
            except EventRefused as error:
                self._reject(path, str(error), report)
                continue
            size += len(content)
        return batch

    def _unpack(
        self, path: Path, content: bytes, appliers: Mapping[str, Applier], report: DrainReport
    ) -> list[Waiting]:
        """The events of a bundle; those that are none are put aside, each in a file of its own."""
        try:
            listed = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise EventRefused(f"not JSON: {error}") from error
        if not isinstance(listed, list):
            raise EventRefused("not a list of events")
        found: list[Waiting] = []
        bundle = Bundle(0)
        for number, fields in enumerate(listed):
            try:
                event = check(fields)
                _check_kind(event, appliers)
            except EventRefused as error:
                self._put_aside(path, number, fields, str(error), report)
                continue
            bundle.left += 1
            found.append(Waiting(path, event, bundle=bundle))
        if not found:
            path.unlink(missing_ok=True)
        return found

    def _apply(
        self, batch: "list[Waiting]", appliers: Mapping[str, Applier], report: DrainReport, timeout: float
    ) -> "tuple[list[Waiting], list[Waiting]]":
        """Apply what fits into one lease and settle the files; the settled events and the rest of the batch."""
        settled: list[Waiting] = []
        later: Callable[[], Mapping[str, Any]] = dict
        with self._leases.write(timeout=timeout, what="drain") as con:
            receipts.ensure_schema(con)
            until = time.monotonic() + _LEASE_S
            known = {receipt.event_id: receipt for receipt in receipts.find(con, [w.event.id for w in batch])}
            left: list[Waiting] = []
            ahead: set[str] = set()
            for waiting in batch:
                earlier = known.get(waiting.event.id)
                if earlier:
                    waiting.outcome, waiting.earlier = "duplicate", earlier
                elif waiting.event.id in ahead:
                    waiting.outcome = "duplicate"
                ahead.add(waiting.event.id)
                (settled if waiting.outcome else left).append(waiting)
            limit = len(left)
            while left and time.monotonic() < until:
                done, limit = transact(con, left[:limit], appliers, until, self._now)
                settled += done
                left = left[len(done) :]
            if self._followup:
                later = self._followup(
                    con, [(w.event, w.result_id) for w in settled if w.outcome == "applied"]
                )
        notes = later()
        if sum(event_files.is_awaited(waiting.path) for waiting in settled) > 1:
            with contextlib.suppress(OSError):
                self._many.touch(0o600)
        for waiting in settled:
            self._answer(waiting, notes.get(waiting.event.id))
            report.applied += waiting.outcome == "applied"
            report.duplicate += waiting.outcome == "duplicate"
            if waiting.bundle:
                waiting.bundle.left -= 1
                if waiting.outcome == "rejected":
                    tag = event_files.tag(waiting.event.id)
                    self._put_aside(waiting.path, tag, waiting.event.fields, waiting.reason or "", report)
                if not waiting.bundle.left:
                    waiting.path.unlink(missing_ok=True)
            elif waiting.outcome == "rejected":
                self._reject(waiting.path, waiting.reason or "", report)
            else:
                waiting.path.unlink(missing_ok=True)
        return settled, left

    def _answer(self, waiting: Waiting, note: Any) -> None:
        """Tell who waits, before the file goes. Of a repeat in the same batch the receipt tells."""
        if not event_files.is_awaited(waiting.path) or not waiting.outcome:
            return
        if waiting.outcome != "duplicate":
            self._answers.leave(
                Receipt(waiting.event.id, waiting.outcome, waiting.result_id, waiting.reason, note)
            )
        elif waiting.earlier:
            self._answers.leave(waiting.earlier)

    def _put_aside(
        self, bundle: Path, which: int | str, fields: object, reason: str, report: DrainReport
    ) -> None:
        """Keep one event of a bundle with its reason; a second time it is the same file."""
        target = self._rejected / f"{bundle.name.partition('-')[0]}-{which}-{bundle.name}"
        event_files.write(target.with_suffix(".reason"), reason.encode("utf-8", "replace"))
        event_files.write(target, json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"))
        report.rejected += 1

    def _reject(self, path: Path, reason: str, report: DrainReport) -> None:
        """Move the event aside, the reason first: killed in between, the next drain does it again."""
        target = self._rejected / path.name
        note = target.with_suffix(".reason")
        event_files.write(note, reason.encode("utf-8", "replace"))
        with contextlib.suppress(FileNotFoundError):
            path.rename(target)
        report.rejected += 1


def _check_kind(event: Event, appliers: Mapping[str, Applier]) -> None:
    if event.kind not in appliers:
        raise EventRefused(f"unknown kind {event.kind!r}; known: {', '.join(sorted(appliers))}")
