"""places.db of the mobile Firefoxes (Fenix on Android, `places.sqlite` there; Firefox on iOS since 2022/23).

Mozilla's application-services create it (components/places/sql/create_shared_schema.sql). The tables bear the
desktop's names and differ in meaning: times are milliseconds, counts and last visits are kept apart for this device
and others (`_local`, `_remote`), `is_local` 0 marks a visit synced from another device, `from_visit` is never set.

Of a redirect the *source* visit is the marked one: by type 5 or 6, and by its place being hidden. A synced visit has
the type that the other device gave it, and desktops give 5 and 6 to the target, a page a person saw. Since no device
syncs hidden places, a synced visit is taken for a page.
"""

from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from brain.errors import SourceError
from brain.importers import _places, _places_bookmarks, _sqlite
from brain.importers._keys import Int64s, Keys
from brain.importers._rows import kept, known_or_null, null_where, reject_times, split_known
from brain.importers._sqlite import Column
from brain.models import Batch, Rejected, as_record_batch

NAME = "firefox_mobile"
SOURCE = "firefox"
BROWSER = "fenix"
VERSION = 2  # raised when the same bytes are read differently

_MS = 1_000
_PLACES = (
    Column("url", "text", required=True),
    Column("title", "text"),
    Column("visit_count_local", "int"),
    Column("visit_count_remote", "int"),
    Column("last_visit_date_local", "int"),
    Column("last_visit_date_remote", "int"),
    Column("hidden", "int"),
)
_VISITS = (
    Column("place_id", "int", required=True),
    Column("visit_date", "int", required=True),
    Column("from_visit", "int"),
    Column("visit_type", "int"),
    Column("is_local", "int"),
)


def detect(path: Path) -> bool:
    """Whether the file holds the tables of a mobile Firefox."""
    tables = _sqlite.peek(path)
    visits = tables.get("moz_historyvisits", frozenset())
    return {"id", "url"} <= tables.get("moz_places", frozenset()) and {
        "id",
        "place_id",
        "visit_date",
        "visit_type",
        "is_local",
    } <= visits


def read(path: Path) -> Generator[Batch | Rejected]:
    """All places, then all visits in order of their ids, then bookmarks. Raises SourceError for the file as a whole.

    `foreground_us` adds up the browser's view times as for the desktop; only this device's visits have any.
    """
    with _sqlite.reading(path) as db:
        if not {"moz_places", "moz_historyvisits"} <= db.tables.keys():
            raise SourceError(
                f"{path.name} has no Firefox history: its tables of places and visits are missing"
            )
        known: list[pa.RecordBatch] = []
        for rows in db.rows("moz_places", _PLACES):
            if isinstance(rows, Rejected):
                yield rows
                continue
            batch = _urls(rows)
            known.append(batch.select(["url_ref", "hidden"]))
            yield Batch("urls", batch)
        places, viewed = _places.Places(known), _places.viewed(db, _MS)
        for rows in db.rows("moz_historyvisits", _VISITS):
            if isinstance(rows, Rejected):
                yield rows
            else:
                yield from _visits(rows, places, viewed)
        yield from _places_bookmarks.read(db, path.name, _MS)


def _urls(rows: pa.RecordBatch) -> pa.RecordBatch:
    def larger(name: str) -> Int64s:
        local, remote = (rows.column(f"{name}_{of}").fill_null(0).to_numpy() for of in ("local", "remote"))
        numbers: Int64s = np.maximum(local, remote)
        return numbers

    counts = [rows.column(f"visit_count_{of}").fill_null(0).to_numpy() for of in ("local", "remote")]
    return as_record_batch(
        "urls",
        {
            "url_ref": rows.column("id"),
            "url": rows.column("url"),
            "title": null_where(rows.column("title"), ""),
            "visit_count": counts[0] + counts[1],
            "last_visit_us": known_or_null(pa.array(larger("last_visit_date")), 0, _MS),
            "hidden": rows.column("hidden").cast(pa.bool_()),
        },
    )


def _visits(
    rows: pa.RecordBatch, places: _places.Places, viewed: tuple[Keys, Int64s]
) -> Iterator[Batch | Rejected]:
    rows, orphans = split_known(rows, "place_id", places.keys, "moz_historyvisits")
    yield from orphans
    rows, times, absurd = reject_times(rows, "visit_date", 0, "moz_historyvisits", _MS)
    yield from absurd
    if not rows.num_rows:
        return
    refs, is_local = rows.column("place_id"), rows.column("is_local")
    made_here = is_local.fill_null(1).to_numpy() != 0
    is_hidden = places.hidden(refs.to_numpy()) & made_here
    was_viewed, view_us = viewed[0].pick(viewed[1], rows.column("id").to_numpy())
    yield _places.visits(
        rows,
        refs,
        times,
        hops=is_hidden | np.isin(_places.types(rows), _places.REDIRECTS) & made_here,
        aside=is_hidden,
        from_native_id=null_where(rows.column("from_visit"), 0),
        foreground_us=kept(view_us, was_viewed & made_here),
        origin=_places.origins(is_local),
    )
