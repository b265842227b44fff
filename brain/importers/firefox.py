"""places.sqlite of desktop Firefox and its forks: LibreWolf, Waterfox, Floorp, Pale Moon ...

Recognised by tables and columns, since forks number their schemas differently. Times are microseconds since 1970.
The mobile browsers use tables of the same names with milliseconds and other rules; they are not taken here.

Of a redirect the *target* visit has type 5 or 6 and the page it came from is marked hidden, so the hop is the
hidden one and the target is a page a person saw. The visit types are nsINavHistoryService's TRANSITION_ constants.
The file does not say whether a visit was synced or imported: `origin` is NULL. (`moz_historyvisits.source` tells
organic, sponsored, bookmarked and searched visits apart, not devices.)
"""

from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from brain.errors import SourceError
from brain.importers import _sqlite
from brain.importers._keys import Int64s, Keys
from brain.importers._rows import dictionary, kept, known_or_null, null_where, reject_times, split_known
from brain.importers._sqlite import Column
from brain.models import NAVIGATIONS, Batch, Rejected, as_record_batch

NAME = "firefox"
VERSION = 1  # raised when the same bytes are read differently

_NAVIGATION = {
    1: "link",
    2: "typed",
    3: "bookmark",
    4: "subframe",
    5: "redirect",
    6: "redirect",
    7: "download",
    8: "subframe",
    9: "reload",
}
_SUBFRAMES = (4, 8)
_DOWNLOAD = 7
_RELOAD = 9

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
    """All places, also bookmarked ones never visited, then all visits in order of their ids.

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
        places = _Places(known)
        sources = Keys(np.unique(db.numbers("moz_historyvisits", ("from_visit",), "visit_type IN (5, 6)")[0]))
        viewed = _viewed(db)
        for rows in db.rows("moz_historyvisits", _VISITS):
            if isinstance(rows, Rejected):
                yield rows
            else:
                yield from _visits(rows, places, sources, viewed)


class _Places:
    """Which places are known, and which of them are hidden."""

    def __init__(self, batches: list[pa.RecordBatch]) -> None:
        refs = np.concatenate([np.empty(0, np.int64), *(batch.column(0).to_numpy() for batch in batches)])
        flags = np.concatenate([np.empty(0, np.bool_), *(_true(batch.column(1)) for batch in batches)])
        refs, first = np.unique(refs, return_index=True)
        self.keys = Keys(refs)
        self._flags = flags[first]

    def hidden(self, refs: Int64s) -> npt.NDArray[np.bool_]:
        found, flags = self.keys.pick(self._flags, refs)
        hidden: npt.NDArray[np.bool_] = found & flags
        return hidden


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
    rows: pa.RecordBatch, places: _Places, sources: Keys, viewed: tuple[Keys, Int64s]
) -> Iterator[Batch | Rejected]:
    rows, orphans = split_known(rows, "place_id", places.keys, "moz_historyvisits")
    yield from orphans
    rows, times, absurd = reject_times(rows, "visit_date", 0, "moz_historyvisits")
    yield from absurd
    if not rows.num_rows:
        return
    ids = rows.column("id").to_numpy()
    kind = rows.column("visit_type").fill_null(0).to_numpy()
    is_hidden = places.hidden(rows.column("place_id").to_numpy())
    is_subframe = np.isin(kind, _SUBFRAMES)
    is_source, _ = sources.find(ids)
    was_viewed, view_us = viewed[0].pick(viewed[1], ids)
    yield Batch(
        "visits",
        as_record_batch(
            "visits",
            {
                "native_id": rows.column("id"),
                "url_ref": rows.column("place_id"),
                "visited_us": times,
                "from_native_id": null_where(rows.column("from_visit"), 0),
                "transition": kept(kind & 0xFFFFFFFF, rows.column("visit_type").is_valid()),
                "navigation": dictionary(kind, _NAVIGATION, NAVIGATIONS, other="other"),
                "is_visible": ~is_hidden & ~is_subframe & (kind != _DOWNLOAD),
                "is_hop": is_hidden & is_source,
                "is_subframe": is_subframe,
                "is_reload": kind == _RELOAD,
                "is_back_forward": np.zeros(len(ids), np.bool_),
                "foreground_us": kept(view_us, was_viewed),
            },
        ),
    )


def _viewed(db: _sqlite.Reader) -> tuple[Keys, Int64s]:
    """Visits and how long each was viewed in microseconds.

    An interaction is one stay on a page: its place, when it began and how long the page was viewed, in
    milliseconds. It begins when the document is ready, so after its visit was recorded; coming back to a page
    through the history makes a new one without a visit. Either way the latest visit before it is the one meant.
    """
    places, began, viewed = db.numbers(
        "moz_places_metadata",
        ("place_id", "created_at", "total_view_time"),
        "total_view_time BETWEEN 1 AND 100000000000 AND created_at BETWEEN 1 AND 10000000000000",
    )
    if not len(places):
        return Keys(places), viewed
    of_place, dates, ids = db.numbers(
        "moz_historyvisits",
        ("place_id", "visit_date", "id"),
        "place_id IN (SELECT place_id FROM moz_places_metadata)",
    )
    count = len(ids)
    everything = np.concatenate([of_place, places])
    # The milliseconds were cut off: a visit within the same one came before.
    times = np.concatenate([dates, began * 1000 + 999])
    order = np.lexsort((np.arange(len(everything)), times, everything))
    at = np.arange(len(order))
    latest = np.maximum.accumulate(np.where(order < count, at, -1))
    stays = at[(order >= count) & (latest >= 0)]
    stays = stays[everything[order[stays]] == everything[order[latest[stays]]]]
    visits, which = np.unique(ids[order[latest[stays]]], return_inverse=True)
    total = np.zeros(len(visits), np.int64)
    np.add.at(total, which, viewed[order[stays] - count] * 1000)
    return Keys(visits), total


def _true(flags: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    values: npt.NDArray[np.bool_] = flags.fill_null(False).to_numpy(zero_copy_only=False)
    return values
