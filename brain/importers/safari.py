"""History.db of Safari, on a Mac or a phone: `history_items` (URLs) and `history_visits`.

Times are seconds since 2001-01-01 UTC as floating-point numbers; the nearest microsecond is taken, so the same double
is always the same instant. Titles are kept per visit. A visit that names a `redirect_destination` is a hop on the way
to another, and one whose page did not load (`load_successful` 0) was not seen: neither is visible. One made by
anything but GET (`http_non_get` 1) is navigation by a form. `origin` 1 marks visits that came from another device
through iCloud.

Tables and columns came with the schema's versions (now 16): `origin` with 2, `history_tombstones` with 4, `attributes`
and `score` with 9. Whatever is missing is NULL.
"""

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from brain.errors import SourceError
from brain.importers import _sqlite
from brain.importers._keys import Int64s, Keys
from brain.importers._rows import dictionary, from_seconds, null_where, reject_seconds, split_known
from brain.importers._sqlite import Column
from brain.models import EARLIEST_US, LATEST_US, NAVIGATIONS, ORIGINS, Batch, Rejected, as_record_batch

NAME = "safari"
SOURCE = "safari"
BROWSER = "safari"
VERSION = 1  # raised when the same bytes are read differently

EPOCH_2001_US = 978_307_200_000_000  # 1970-01-01 to 2001-01-01 (Apple's reference date), in microseconds

_ITEMS = (Column("url", "text", required=True), Column("visit_count", "int"))
_VISITS = (
    Column("history_item", "int", required=True),
    Column("visit_time", "real", required=True),
    Column("title", "text"),
    Column("load_successful", "int"),
    Column("http_non_get", "int"),
    Column("redirect_source", "int"),
    Column("redirect_destination", "int"),
    Column("origin", "int"),
)


class Tombstone(NamedTuple):
    """A deletion: visits of `url` (all, where None) from `start_us` to `end_us` were deleted."""

    start_us: int
    end_us: int
    url: str | None


def detect(path: Path) -> bool:
    """Whether the file holds the tables of a Safari history."""
    tables = _sqlite.peek(path)
    return {"id", "url"} <= tables.get("history_items", frozenset()) and {
        "history_item",
        "visit_time",
    } <= tables.get("history_visits", frozenset())


def read(path: Path) -> Generator[Batch | Rejected]:
    """All URLs, then all visits in order of their ids. Raises SourceError when the file cannot be read as a whole."""
    with _sqlite.reading(path) as db:
        if not {"history_items", "history_visits"} <= db.tables.keys():
            raise SourceError(
                f"{path.name} has no Safari history: its tables of items and visits are missing"
            )
        known: list[Int64s] = []
        for rows in db.rows("history_items", _ITEMS):
            if isinstance(rows, Rejected):
                yield rows
                continue
            known.append(rows.column("id").to_numpy())
            columns = {name: rows.column(name) for name in ("url", "visit_count")}
            yield Batch("urls", as_record_batch("urls", {"url_ref": rows.column("id")} | columns))
        refs = Keys.of(known)
        for rows in db.rows("history_visits", _VISITS):
            if isinstance(rows, Rejected):
                yield rows
            else:
                yield from _visits(rows, refs)


def tombstones(path: Path) -> list[Tombstone]:
    """Deletions that the file tells of; none where its version has no such table or it cannot be read.

    Bounds outside the years of history are drawn in: Safari writes the year 1 for `since ever`. Since schema 8 the
    URL of a deleted page is encrypted; such a deletion tells of no page that could be named, and is left out.
    """
    found = []
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as con:
            con.text_factory = lambda raw: raw.decode("utf-8", "replace")
            # Row by row: what comes before any damage counts.
            for start, end, url in con.execute("SELECT start_time, end_time, url FROM history_tombstones"):
                first, last = _bound(start), _bound(end)
                if first is None or last is None or not (url is None or (isinstance(url, str) and url)):
                    continue
                found.append(Tombstone(first, last, url))
    except (sqlite3.Error, UnicodeDecodeError):
        pass
    return found


def _visits(rows: pa.RecordBatch, refs: Keys) -> Iterator[Batch | Rejected]:
    rows, orphans = split_known(rows, "history_item", refs, "history_visits")
    yield from orphans
    rows, times, absurd = reject_seconds(rows, "visit_time", -EPOCH_2001_US, "history_visits")
    yield from absurd
    if not rows.num_rows:
        return
    is_hop = rows.column("redirect_destination").is_valid().to_numpy(zero_copy_only=False)
    loaded = rows.column("load_successful").fill_null(1).to_numpy() != 0
    never = np.zeros(rows.num_rows, np.bool_)
    posted = rows.column("http_non_get").fill_null(0).to_numpy() != 0
    redirected = rows.column("redirect_source").is_valid().to_numpy(zero_copy_only=False)
    codes = np.where(posted, 1, np.where(redirected, 2, 0))
    origin = rows.column("origin").fill_null(255).to_numpy()
    yield Batch(
        "visits",
        as_record_batch(
            "visits",
            {
                "native_id": rows.column("id"),
                "url_ref": rows.column("history_item"),
                "visited_us": times,
                "from_native_id": rows.column("redirect_source"),
                "navigation": dictionary(codes, _NAVIGATION, NAVIGATIONS, other="other"),
                "is_visible": loaded & ~is_hop,
                "is_hop": is_hop,
                "is_subframe": never,
                "is_reload": never,
                "is_back_forward": never,
                "origin": dictionary(origin, {0: "local", 1: "synced"}, ORIGINS, other=None),
                "title": null_where(rows.column("title"), ""),
            },
        ),
    )


# The file does not say how a visit came about, but for forms and redirects.
_NAVIGATION = {0: "other", 1: "form", 2: "redirect"}


def _bound(seconds: object) -> int | None:
    """A bound of a deletion as microseconds since 1970, within the years of history; None for what is no instant."""
    if not isinstance(seconds, int | float) or seconds - seconds != 0:
        return None
    earliest, latest = ((us - EPOCH_2001_US) / 1e6 for us in (EARLIEST_US, LATEST_US))
    if not earliest <= seconds < latest:
        return EARLIEST_US if seconds < earliest else LATEST_US
    return int(from_seconds(pa.array([float(seconds)]), -EPOCH_2001_US)[0][0])
