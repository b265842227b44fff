"""History files of Chromium and every browser built on it: Chrome, Brave, Edge, Vivaldi, Opera, Arc ...

All of them write the same tables, so which browser it was must come from the path or the user. Columns came and
went with the versions; whatever is missing is NULL. Times are microseconds since 1601-01-01 UTC.

A visit's `transition` is a core type in the low byte and qualifier bits above, as `PageTransition` in
ui/base/page_transition_types.h defines them; SQLite hands it out signed. A visit is visible by the rule of the
browser's own history page: it ends its redirect chain and is no subframe and no generated keyword.
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
from brain.models import NAVIGATIONS, ORIGINS, Batch, Rejected, as_record_batch

NAME = "chromium"
SOURCE = "chromium"
BROWSER = "chromium"  # that of the path or the person comes first
VERSION = 1  # raised when the same bytes are read differently

# 1601-01-01 (the epoch of Windows FILETIME) to 1970-01-01, in microseconds.
EPOCH_1601_US = 11_644_473_600_000_000

# Side tables: the table, its visit's id, the value.
_FOREGROUND = ("context_annotations", "visit_id", "total_foreground_duration")
_SOURCE = ("visit_source", "id", "source")

_CORE = 0xFF
_FORWARD_BACK = 0x01000000
_CHAIN_END = 0x20000000
_SUBFRAMES = (3, 4)
_RELOAD = 8
_KEYWORD_GENERATED = 10
_NAVIGATION = dict(
    enumerate(
        (
            "link",
            "typed",
            "bookmark",
            "subframe",
            "subframe",
            "generated",
            "start_page",
            "form",
            "reload",
            "keyword",
            "keyword",
        )
    )
)
# visit_source.source: how the row got here. A visit without a row there was browsed on this profile.
_SYNCED, _BROWSED = 0, 1
_ORIGIN = {_SYNCED: "synced", _BROWSED: "local", 2: "extension"} | dict.fromkeys(range(3, 8), "imported")

_URLS = (
    Column("url", "text", required=True),
    Column("title", "text"),
    Column("visit_count", "int"),
    Column("typed_count", "int"),
    Column("last_visit_time", "int"),
    Column("hidden", "int"),
)
_VISITS = (
    Column("url", "int", required=True),
    Column("visit_time", "int", required=True),
    Column("from_visit", "int"),
    Column("transition", "int"),
    Column("visit_duration", "int"),
    Column("opener_visit", "int"),
    Column("originator_cache_guid", "text"),
)


def detect(path: Path) -> bool:
    """Whether the file holds the tables of a Chromium history."""
    tables = _sqlite.peek(path)
    return {"id", "url", "last_visit_time"} <= tables.get("urls", frozenset()) and {
        "id",
        "url",
        "visit_time",
        "transition",
    } <= tables.get("visits", frozenset())


def read(path: Path) -> Generator[Batch | Rejected]:
    """All URLs, also those whose visits have expired, then all visits in order of their ids.

    `duration_us` is the browser's own time until the next navigation in that tab; `foreground_us` is its
    measured time in front, NULL where it was not measured (never taken from the duration: several visits of one
    document would count the same time). Raises SourceError when the file cannot be read as a whole.
    """
    with _sqlite.reading(path) as db:
        if not {"urls", "visits"} <= db.tables.keys():
            raise SourceError(f"{path.name} has no Chromium history: its tables urls and visits are missing")
        known: list[Int64s] = []
        for rows in db.rows("urls", _URLS):
            if isinstance(rows, Rejected):
                yield rows
                continue
            batch = _urls(rows)
            known.append(batch.column("url_ref").to_numpy())
            yield Batch("urls", batch)
        refs = Keys.of(known)
        for rows in db.rows("visits", _VISITS):
            if isinstance(rows, Rejected):
                yield rows
            else:
                yield from _visits(db, rows, refs)


def _urls(rows: pa.RecordBatch) -> pa.RecordBatch:
    last = rows.column("last_visit_time")
    return as_record_batch(
        "urls",
        {
            "url_ref": rows.column("id"),
            "url": rows.column("url"),
            "title": null_where(rows.column("title"), ""),
            "visit_count": rows.column("visit_count"),
            "typed_count": rows.column("typed_count"),
            "last_visit_us": known_or_null(last, EPOCH_1601_US),
            "hidden": rows.column("hidden").cast(pa.bool_()),
        },
    )


def _visits(db: _sqlite.Reader, rows: pa.RecordBatch, refs: Keys) -> Iterator[Batch | Rejected]:
    rows, orphans = split_known(rows, "url", refs, "visits")
    yield from orphans
    rows, times, absurd = reject_times(rows, "visit_time", EPOCH_1601_US, "visits")
    yield from absurd
    if not rows.num_rows:
        return
    ids = rows.column("id").to_numpy()
    transition = rows.column("transition").fill_null(_CHAIN_END).to_numpy() & 0xFFFFFFFF
    core = transition & _CORE
    is_subframe = np.isin(core, _SUBFRAMES)
    chain_end = (transition & _CHAIN_END) != 0
    guid = null_where(rows.column("originator_cache_guid"), "")
    yield Batch(
        "visits",
        as_record_batch(
            "visits",
            {
                "native_id": rows.column("id"),
                "url_ref": rows.column("url"),
                "visited_us": times,
                "from_native_id": null_where(rows.column("from_visit"), 0),
                "opener_native_id": null_where(rows.column("opener_visit"), 0),
                "transition": kept(transition, rows.column("transition").is_valid()),
                "navigation": dictionary(core, _NAVIGATION, NAVIGATIONS, other="other"),
                "is_visible": chain_end & ~is_subframe & (core != _KEYWORD_GENERATED),
                "is_hop": ~chain_end,
                "is_subframe": is_subframe,
                "is_reload": core == _RELOAD,
                "is_back_forward": (transition & _FORWARD_BACK) != 0,
                "duration_us": _positive(rows.column("visit_duration")),
                "foreground_us": _foreground(*db.side(*_FOREGROUND, ids)),
                "origin": _origin(*db.side(*_SOURCE, ids), guid.is_valid()),
                "origin_device": guid,
            },
        ),
    )


def _foreground(measured: npt.NDArray[np.bool_], us: Int64s) -> pa.Int64Array:
    """Microseconds in front; the browser writes a negative number where it did not measure."""
    return kept(us, measured & (us >= 0))


def _origin(stated: npt.NDArray[np.bool_], codes: Int64s, foreign: pa.BooleanArray) -> pa.DictionaryArray:
    """What visit_source says; a visit that names another device as its originator is synced in any case."""
    codes = np.where(stated, codes, _BROWSED)
    codes[foreign.to_numpy(zero_copy_only=False)] = _SYNCED
    return dictionary(codes, _ORIGIN, ORIGINS, other=None)


def _positive(durations: pa.Int64Array) -> pa.Int64Array:
    values = durations.fill_null(0).to_numpy()
    return kept(values, values > 0)
