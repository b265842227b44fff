"""places.sqlite of desktop Firefox and its forks: LibreWolf, Waterfox, Floorp, Pale Moon ...

Recognised by tables and columns, since forks number their schemas differently. Times are microseconds since 1970.
The mobile browsers use tables of the same names with milliseconds and other rules: see `firefox_mobile`.

Of a redirect the *target* visit has type 5 or 6 and the page it came from is marked hidden, so the hop is the
hidden one and the target is a page a person saw. The file does not say whether a visit was synced or imported:
`origin` is NULL. (`moz_historyvisits.source` tells organic, sponsored, bookmarked and searched visits apart, not
devices.)
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

NAME = "firefox"
SOURCE = "firefox"
BROWSER = "firefox"  # that of the path or the person comes first
VERSION = 2  # raised when the same bytes are read differently

_PLACES = (
    Column("url", "text", required=True),
    Column("title", "text"),
    Column("visit_count", "int"),
    Column("last_visit_date", "int"),
    Column("hidden", "int"),
)
_VISITS = (
    Column("place_id", "int", required=True),
    Column("visit_date", "int", required=True),
    Column("from_visit", "int"),
    Column("visit_type", "int"),
)


def detect(path: Path) -> bool:
    """Whether the file holds the tables of a desktop Firefox."""
    tables = _sqlite.peek(path)
    visits = tables.get("moz_historyvisits", frozenset())
    return (
        {"id", "url"} <= tables.get("moz_places", frozenset())
        and {"id", "place_id", "visit_date", "visit_type"} <= visits
        and "is_local" not in visits
        and "moz_bookmarks_synced" not in tables
    )


def read(path: Path) -> Generator[Batch | Rejected]:
    """All places, also bookmarked ones never visited, all visits in order of their ids, then bookmarks.

    `foreground_us` adds up the browser's view times (`moz_places_metadata`), each given to the last visit of its
    page before it began; NULL where none was kept. Raises SourceError when the file cannot be read as a whole.
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
        places = _places.Places(known)
        sources = Keys(np.unique(db.numbers("moz_historyvisits", ("from_visit",), "visit_type IN (5, 6)")[0]))
        viewed = _places.viewed(db, 1)
        for rows in db.rows("moz_historyvisits", _VISITS):
            if isinstance(rows, Rejected):
                yield rows
            else:
                yield from _visits(rows, places, sources, viewed)
        yield from _places_bookmarks.read(db, path.name, 1)


def _urls(rows: pa.RecordBatch) -> pa.RecordBatch:
    return as_record_batch(
        "urls",
        {
            "url_ref": rows.column("id"),
            "url": rows.column("url"),
            "title": null_where(rows.column("title"), ""),
            "visit_count": rows.column("visit_count"),
            "last_visit_us": known_or_null(rows.column("last_visit_date"), 0),
            "hidden": rows.column("hidden").cast(pa.bool_()),
        },
    )


def _visits(
    rows: pa.RecordBatch, places: _places.Places, sources: Keys, viewed: tuple[Keys, Int64s]
) -> Iterator[Batch | Rejected]:
    rows, orphans = split_known(rows, "place_id", places.keys, "moz_historyvisits")
    yield from orphans
    rows, times, absurd = reject_times(rows, "visit_date", 0, "moz_historyvisits")
    yield from absurd
    if not rows.num_rows:
        return
    ids, refs = rows.column("id").to_numpy(), rows.column("place_id")
    is_hidden = places.hidden(refs.to_numpy())
    leads_on, _ = sources.find(ids)
    was_viewed, view_us = viewed[0].pick(viewed[1], ids)
    yield _places.visits(
        rows,
        refs,
        times,
        hops=is_hidden & leads_on,
        aside=is_hidden,
        from_native_id=null_where(rows.column("from_visit"), 0),
        foreground_us=kept(view_us, was_viewed),
    )
