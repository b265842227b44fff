"""browser.db of Firefox for iOS until it took over Mozilla's places database (2022/23): `history` and `visits`.

A visit's `date` is microseconds since 1970 as a floating-point number, `siteID` its URL. `is_local` 0 marks a visit
synced from another device. Types are the desktop's; redirects are not linked. URLs that were deleted stay as a mark
for other devices. The tables are those of the app's BrowserSchema. Its bookmarks lie in tables that came and went
with the versions, and are not read.
"""

from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from brain.errors import SourceError
from brain.importers import _places, _sqlite
from brain.importers._keys import Int64s, Keys
from brain.importers._rows import null_where, split_known
from brain.importers._sqlite import Column
from brain.models import EARLIEST_US, LATEST_US, Batch, Rejected, as_record_batch

NAME = "firefox_ios_legacy"
SOURCE = "firefox"
BROWSER = "firefox"
VERSION = 1  # raised when the same bytes are read differently

_HISTORY = (Column("url", "text"), Column("title", "text"), Column("is_deleted", "int"))
_VISITS = (
    Column("siteid", "int", required=True),
    Column("date", "real", required=True),
    Column("type", "int"),
    Column("is_local", "int"),
)


def detect(path: Path) -> bool:
    """Whether the file holds the tables of an early Firefox for iOS."""
    tables = _sqlite.peek(path)
    return {"id", "url", "guid"} <= tables.get("history", frozenset()) and {
        "id",
        "siteid",
        "date",
        "type",
        "is_local",
    } <= tables.get("visits", frozenset())


def read(path: Path) -> Generator[Batch | Rejected]:
    """All URLs, then all visits in order of their ids. Raises SourceError when the file cannot be read as a whole."""
    with _sqlite.reading(path) as db:
        if not {"history", "visits"} <= db.tables.keys():
            raise SourceError(
                f"{path.name} has no Firefox history: its tables history and visits are missing"
            )
        known, gone = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for rows in db.rows("history", _HISTORY):
            if isinstance(rows, Rejected):
                yield rows
                continue
            deleted = rows.column("is_deleted").fill_null(0).to_numpy() != 0
            gone.append(rows.column("id").to_numpy()[deleted])
            rows = rows.filter(pa.array(~deleted))
            for native in rows.filter(rows.column("url").is_null()).column("id").to_pylist():
                yield Rejected(f"history.id={native}", "url is missing")
            rows = rows.filter(rows.column("url").is_valid())
            known.append(rows.column("id").to_numpy())
            columns = {"url": rows.column("url"), "title": null_where(rows.column("title"), "")}
            yield Batch("urls", as_record_batch("urls", {"url_ref": rows.column("id")} | columns))
        refs, deleted_refs = (Keys(np.unique(np.concatenate(parts))) for parts in (known, gone))
        for rows in db.rows("visits", _VISITS):
            if isinstance(rows, Rejected):
                yield rows
            else:
                yield from _visits(rows, refs, deleted_refs)


def _visits(rows: pa.RecordBatch, refs: Keys, gone: Keys) -> Iterator[Batch | Rejected]:
    rows = rows.rename_columns([{"type": "visit_type"}.get(name, name) for name in rows.schema.names])
    rows = rows.filter(pa.array(~gone.find(rows.column("siteid").to_numpy())[0]))
    rows, orphans = split_known(rows, "siteid", refs, "visits")
    yield from orphans
    raw = rows.column("date").to_numpy()
    good = (raw >= EARLIEST_US) & (raw < LATEST_US)
    for native, value in zip(rows.column("id").to_numpy()[~good].tolist(), raw[~good].tolist(), strict=True):
        yield Rejected(f"visits.id={native}", f"date {value} is no plausible instant")
    rows = rows.filter(pa.array(good))
    if rows.num_rows:
        times: Int64s = np.floor(raw[good]).astype(np.int64)
        never = np.zeros(rows.num_rows, np.bool_)
        origin = _places.origins(rows.column("is_local"))
        yield _places.visits(rows, rows.column("siteid"), times, hops=never, aside=never, origin=origin)
