"""Applying events inside one transaction with their receipts, so that one that fails harms no other.

An applier says what a kind of event does to the lake: `applier(con, event) -> result id or None`. It raises
EventRefused for what cannot be applied (a stale version, a missing target). One that is `Together` takes all events of
its kind that come one after another at once.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from brain import receipts
from brain.errors import BrainError, EventRefused
from brain.events import Event
from brain.receipts import Waiting

if TYPE_CHECKING:
    import duckdb

MOST = 5_000  # events of one batch
_TOGETHER = 2_000

Outcome = str | None | EventRefused


@dataclass(frozen=True, slots=True)
class Together:
    """An applier of many events at once: the outcome of each, in order. It has written nothing of those it refuses."""

    apply: Callable[["duckdb.DuckDBPyConnection", Sequence[Event]], Sequence[Outcome]]


Applier = Callable[["duckdb.DuckDBPyConnection", Event], str | None] | Together


def transact(
    con: "duckdb.DuckDBPyConnection",
    group: "list[Waiting]",
    appliers: Mapping[str, Applier],
    until: float,
    now: Callable[[], datetime],
) -> "tuple[list[Waiting], int]":
    """One transaction over the first events of the group, as many as time allows.

    Returns those settled and how many to try next. DuckDB has no savepoints. So when an event fails, all is
    rolled back, the ones before it come next, and then it is the first: that one is settled as rejected. Of
    events that failed together half are tried, until it is one.
    """
    done: list[Waiting] = []
    run: list[Waiting] = []
    con.execute("BEGIN")
    try:
        for run in _runs(group, appliers):
            _apply_run(con, run, appliers[run[0].event.kind])
            done += run
            if time.monotonic() > until:
                break
        run = []
        receipts.write(con, done, now())
        con.execute("COMMIT")
    except Exception as error:
        if _is_of_the_lake(error):
            raise
        con.execute("ROLLBACK")
        for waiting in group:
            waiting.outcome = waiting.result_id = waiting.reason = None
        # When the commit itself fails, it is not known by whose fault: halve until it is.
        if before := (len(done) or len(run) // 2) if run else len(done) // 2:
            return [], before
        return [_refuse(con, group[0], error, now())], MOST
    return done, MOST


def _refuse(
    con: "duckdb.DuckDBPyConnection", failed: "Waiting", error: Exception, now: datetime
) -> "Waiting":
    failed.outcome, failed.result_id, failed.reason = "rejected", None, str(error)
    if isinstance(error, EventRefused):
        receipts.write(con, [failed], now)
    else:  # a fault of the program: without a receipt, so that the event can be dropped again once it is mended
        failed.reason = f"failed: {type(error).__name__}: {error}"
    return failed


def _runs(group: "list[Waiting]", appliers: Mapping[str, Applier]) -> Iterator[list[Waiting]]:
    """What is applied at once: events of one kind that follow one another, where its applier takes them together."""
    for kind, run in itertools.groupby(group, lambda waiting: waiting.event.kind):
        size = _TOGETHER if isinstance(appliers[kind], Together) else 1
        events = list(run)
        yield from (events[at : at + size] for at in range(0, len(events), size))


def _apply_run(con: "duckdb.DuckDBPyConnection", run: "list[Waiting]", applier: Applier) -> None:
    if isinstance(applier, Together):
        outcomes = applier.apply(con, [waiting.event for waiting in run])
    else:
        outcomes = [applier(con, run[0].event)]
    for waiting, outcome in zip(run, outcomes, strict=True):
        if isinstance(outcome, EventRefused):
            waiting.outcome, waiting.reason = "rejected", str(outcome)
        else:
            waiting.outcome, waiting.result_id = "applied", outcome


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
